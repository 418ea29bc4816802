// What the solver says of the position: how far it is, what the last move did, and what helps.
const number = element.querySelector(".pp-left-number");
const word = element.querySelector(".pp-word");

function draw() {
  element.dataset.verdict = view.kind;
  number.textContent = say(view.left);
  word.textContent = say(view.word);
  for (const button of element.querySelectorAll("button[data-ask]")) {
    button.hidden = !view.can.includes(button.dataset.ask);
  }
}

element.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-ask]");
  if (button) trigger("ask", { what: button.dataset.ask });
});

onValue(draw);
onLanguage(draw);
