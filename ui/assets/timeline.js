// The timeline: one chip a turn, and one for now. A click looks back at the prompt that was sent then.
//
// The table of the History tab shows the same turns; it is told of them here.
const chips = element.querySelector(".pp-chips");
let drawn = [];

function fill(button, turn) {
  const marks = [turn.valid ? "" : "✗", turn.fatal ? "☠" : ""].join("");
  button.dataset.turn = turn.turn;
  button.dataset.valid = turn.valid ? "yes" : "no";
  button.dataset.fatal = turn.fatal ? "yes" : "no";
  const what = create("span", turn.action === "—" ? "INVALID" : turn.action, { className: "pp-chip-action" });
  button.replaceChildren(tiled(turn.board), create("b", turn.turn), what, create("span", turn.reward, { className: "pp-chip-reward" }));
  if (marks) button.append(create("i", marks));
  button.setAttribute("aria-label", say(`Turn ${turn.turn}: ${turn.action}, reward ${turn.reward}, ${turn.verdict}`));
  button.title = [`${turn.turn}. ${turn.action}  ${turn.reward}`, say(turn.verdict), turn.fatal ? say("after this the level is lost") : "", say(turn.by)].filter(Boolean).join("\n");
}

function chip() {
  const item = document.createElement("li");
  item.append(create("button", "", { type: "button" }));
  return item;
}

function draw() {
  const language = document.documentElement.lang;
  const keys = view.turns.map((turn) => language + JSON.stringify(turn));
  while (chips.children.length > keys.length + 1) chips.lastChild.remove();
  while (chips.children.length < keys.length + 1) chips.append(chip());
  for (const [index, key] of keys.entries()) {
    if (drawn[index] !== key) fill(chips.children[index].firstChild, view.turns[index]);
  }
  drawn = keys;
  const now = chips.lastChild.firstChild;
  delete now.dataset.valid;
  delete now.dataset.fatal;
  now.removeAttribute("title");
  now.dataset.turn = 0;
  now.replaceChildren(tiled(view.now), create("b", view.over ? "✓" : String(keys.length + 1)), create("span", say(view.over ? "the end" : "now"), { className: "pp-chip-action" }));
  now.setAttribute("aria-label", say(view.over ? "The end of the episode" : "Now: the turn to be decided"));
  for (const { firstChild: button } of chips.children) {
    button.setAttribute("aria-current", Number(button.dataset.turn) === view.look ? "true" : "false");
  }
  if (view.look) chips.children[view.look - 1].scrollIntoView({ block: "nearest", inline: "nearest" });
  else chips.scrollLeft = chips.scrollWidth;
  tell();
}

const look = (turn) => trigger("look", { turn });
const tell = () => document.dispatchEvent(new CustomEvent("pp-turns", { detail: view }));

element.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-turn]");
  if (button) look(Number(button.dataset.turn));
});
// Left and right walk along the chips; to look is Enter's, as with any button.
chips.addEventListener("keydown", (event) => {
  const step = { ArrowLeft: "previousElementSibling", ArrowRight: "nextElementSibling" }[event.key];
  const next = step && event.target.closest("li")?.[step];
  if (!next) return;
  next.firstChild.focus();
  event.preventDefault();
});
document.addEventListener("pp-look", ({ detail }) => look(detail));
document.addEventListener("pp-turns-please", tell);

onValue(draw);
onLanguage(draw);
