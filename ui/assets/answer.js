// The answer: the raw response character by character, and what the parser made of it.
const who = element.querySelector(".pp-who");
const raw = element.querySelector(".pp-raw");
const verdict = element.querySelector(".pp-verdict");
const alternatives = element.querySelector(".pp-alternatives");
const details = element.querySelector(".pp-details");

function draw() {
  element.dataset.state = view.state;
  who.textContent = view.who;
  raw.replaceChildren(
    Object.assign(document.createElement("span"), { className: "pp-forced", textContent: view.forced }),
    view.text,
  );
  verdict.textContent = view.verdict;
  drawAlternatives();
  details.replaceChildren(...view.details.map(([name, text]) => {
    const row = document.createElement("div");
    const key = document.createElement("span");
    key.textContent = name;
    const value = document.createElement(name === "Why" ? "span" : "code");
    value.textContent = text;
    row.append(key, value);
    return row;
  }));
}

function drawAlternatives() {
  const list = view.alternatives;
  alternatives.hidden = list.length === 0;
  alternatives.querySelector("ul").replaceChildren(...list.map(([text, id, probability]) => {
    const item = document.createElement("li");
    const token = document.createElement("code");
    token.textContent = text;
    item.append(token, ` id ${id}, ${probability}`);
    return item;
  }));
}

onValue(draw);
draw();
