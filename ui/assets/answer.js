// The answer: the raw response character by character, and what the parser made of it.
const who = element.querySelector(".pp-who");
const raw = element.querySelector(".pp-raw");
const verdict = element.querySelector(".pp-verdict");
const alternatives = element.querySelector(".pp-alternatives");
const details = element.querySelector(".pp-details");

function draw() {
  element.dataset.state = view.state;
  who.textContent = say(view.who);
  raw.replaceChildren(
    Object.assign(document.createElement("span"), { className: "pp-forced", textContent: view.forced }),
    view.text,
  );
  verdict.textContent = say(view.verdict);
  drawAlternatives();
  details.replaceChildren(...view.details.map(([name, text]) => {
    const row = document.createElement("div");
    // What goes into the history is data; the rest are words of ours.
    const data = name === "Goes into the history" || name === "Reward";
    row.append(create("span", say(name)), data ? create("code", text) : create("span", say(text)));
    return row;
  }));
}

function drawAlternatives() {
  const list = view.alternatives;
  alternatives.hidden = list.length === 0;
  alternatives.querySelector("ul").replaceChildren(...list.map(([text, id, probability]) => {
    const item = document.createElement("li");
    item.append(create("code", text), ` id ${id}, ${probability}`);
    return item;
  }));
}

onValue(draw);
onLanguage(draw);
