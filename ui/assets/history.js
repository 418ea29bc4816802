// The history: one row a turn; a click looks back at the prompt that was sent then.
const rows = element.querySelector("tbody");
const empty = element.querySelector(".pp-empty");
const scroller = element.querySelector(".pp-scroll");

function row(turn) {
  const line = document.createElement("tr");
  line.dataset.turn = turn.turn;
  line.dataset.valid = turn.valid ? "yes" : "no";
  line.dataset.fatal = turn.fatal ? "yes" : "no";
  const cells = [turn.turn, turn.action, turn.reward, turn.total, turn.left, turn.pushes, turn.verdict, turn.by];
  for (const [index, text] of cells.entries()) {
    const cell = document.createElement(index ? "td" : "th");
    if (index === 0) {
      cell.scope = "row";
      const button = document.createElement("button");
      button.textContent = text;
      button.setAttribute("aria-label", `Look back at turn ${text}`);
      cell.append(button);
    } else {
      cell.textContent = text;
    }
    line.append(cell);
  }
  return line;
}

let drawn = [];
function draw() {
  let same = 0;
  const keys = view.turns.map((turn) => JSON.stringify(turn));
  while (same < drawn.length && drawn[same] === keys[same]) same++;
  while (rows.children.length > same) rows.lastChild.remove();
  for (const turn of view.turns.slice(same)) rows.append(row(turn));
  drawn = keys;
  for (const line of rows.children) {
    line.setAttribute("aria-current", Number(line.dataset.turn) === view.look ? "true" : "false");
  }
  empty.hidden = view.turns.length > 0;
  if (!view.look) scroller.scrollTop = scroller.scrollHeight;
}

element.addEventListener("click", (event) => {
  const line = event.target.closest("tr[data-turn]");
  if (line) trigger("look", { turn: Number(line.dataset.turn) });
});

onValue(draw);
draw();
