// The timeline: one chip a turn, and one for now. A click looks back at the prompt that was sent then.
//
// The table of the History tab shows the same turns; it is told of them here.
const chips = element.querySelector(".pp-chips");
let drawn = [];

// A board in five flat shapes: a hundred pictures with all their tiles would slow every turn down.
const LAYERS = [
  ["w", "wall", "h1v1h-1z", 0, 0], ["ftbdpq", "floor", "h1v1h-1z", 0, 0], ["tq", "target", "h.4v.4h-.4z", 0.3, 0.3],
  ["b", "box", "h.76v.76h-.76z", 0.12, 0.12], ["d", "done", "h.76v.76h-.76z", 0.12, 0.12],
  ["pq", "player", "a.32.32 0 1 0 .64 0a.32.32 0 1 0-.64 0z", 0.18, 0.5],
];

function thumbnail(rows) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${rows[0].length} ${rows.length}`);
  svg.setAttribute("aria-hidden", "true");
  for (const [letters, colour, shape, x, y] of LAYERS) {
    const cells = rows.flatMap((row, r) => [...row].map((tile, c) => (letters.includes(tile) ? `M${c + x} ${r + y}${shape}` : "")));
    if (!cells.some(Boolean)) continue;
    const path = document.createElementNS(svg.namespaceURI, "path");
    path.setAttribute("d", cells.join(""));
    path.style.fill = `var(--sok-${colour})`;
    svg.append(path);
  }
  return svg;
}

function fill(button, turn) {
  const marks = [turn.valid ? "" : "✗", turn.fatal ? "☠" : ""].join("");
  button.dataset.turn = turn.turn;
  button.dataset.valid = turn.valid ? "yes" : "no";
  button.dataset.fatal = turn.fatal ? "yes" : "no";
  const what = create("span", turn.action === "—" ? "INVALID" : turn.action, { className: "pp-chip-action" });
  button.replaceChildren(thumbnail(turn.board), create("b", turn.turn), what, create("span", turn.reward, { className: "pp-chip-reward" }));
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
  now.replaceChildren(thumbnail(view.now), create("b", view.over ? "✓" : String(keys.length + 1)), create("span", say(view.over ? "the end" : "now"), { className: "pp-chip-action" }));
  now.setAttribute("aria-label", say(view.over ? "The end of the episode" : "Now: the turn to be decided"));
  for (const { firstChild: button } of chips.children) {
    button.setAttribute("aria-current", Number(button.dataset.turn) === view.look ? "true" : "false");
  }
  const seen = view.look && chips.children[view.look - 1];
  inFrame(() => {
    if (seen) seen.scrollIntoView({ block: "nearest", inline: "nearest" });
    else chips.scrollLeft = chips.scrollWidth;
  });
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
