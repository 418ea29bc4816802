// The turns as a table: one row a turn, told by the timeline; a click looks back, as on a chip.
const rows = element.querySelector("tbody");
const empty = element.querySelector(".pp-empty");
const scroller = element.querySelector(".pp-scroll");
let turns = { turns: [], look: 0 };
let drawn = [];

function row(turn) {
  const line = document.createElement("tr");
  line.dataset.turn = turn.turn;
  line.dataset.valid = turn.valid ? "yes" : "no";
  line.dataset.fatal = turn.fatal ? "yes" : "no";
  const head = create("th", "", { scope: "row" });
  const button = create("button", turn.turn, { type: "button" });
  button.setAttribute("aria-label", say(`Look back at turn ${turn.turn}`));
  head.append(button);
  const cells = [turn.action, turn.reward, turn.total, turn.left, say(turn.pushes), say(turn.verdict), say(turn.by)];
  line.append(head, ...cells.map((text) => create("td", text)));
  return line;
}

function draw() {
  const language = document.documentElement.lang;
  const keys = turns.turns.map((turn) => language + JSON.stringify(turn));
  let same = 0;
  while (same < drawn.length && drawn[same] === keys[same]) same++;
  while (rows.children.length > same) rows.lastChild.remove();
  rows.append(...turns.turns.slice(same).map(row));
  drawn = keys;
  for (const line of rows.children) {
    line.setAttribute("aria-current", Number(line.dataset.turn) === turns.look ? "true" : "false");
  }
  empty.hidden = turns.turns.length > 0;
  if (!turns.look) inFrame(() => { scroller.scrollTop = scroller.scrollHeight; });
}

element.addEventListener("click", (event) => {
  const line = event.target.closest("tr[data-turn]");
  if (line) document.dispatchEvent(new CustomEvent("pp-look", { detail: Number(line.dataset.turn) }));
});
document.addEventListener("pp-turns", ({ detail }) => {
  turns = detail;
  draw();
});

// A tab that was never opened keeps the label that it began with, so it is told the new one here.
function labelTabs() {
  const chinese = Object.entries(window.gradio_config?.i18n_translations?.["zh-CN"] ?? {});
  for (const tab of document.querySelectorAll(".pp-tabs [role=tab]")) {
    const label = [...tab.childNodes].find((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    if (label) label.data = say(chinese.find(([, value]) => value === label.data)?.[0] ?? label.data);
  }
}

onLanguage(() => {
  draw();
  requestAnimationFrame(labelTabs);
});
document.dispatchEvent(new CustomEvent("pp-turns-please"));
