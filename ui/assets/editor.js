// Paint a level: what is painted goes to the server as letters, and comes back with a verdict.
//
// Letters are the ids of the board's tiles: w wall, f floor, t target, d box on target, b box,
// p player, q player on target.
const canvas = element.querySelector(".pp-canvas");
const palette = element.querySelector(".pp-palette");
const word = element.querySelector(".pp-editor-word");
const BRUSHES = [["w", "Wall"], ["f", "Floor"], ["t", "Target"], ["b", "Box"], ["p", "Player"]];
const LARGEST = 64;

let rows = view.tiles.map((row) => [...row]);
let brush = "w";
let painting = false;
let cursor = [1, 1];
let pending = null;
let sent = "";

// Boxes and players stand on floor or on a target: painting one keeps what is under it.
function painted(old, paint) {
  const target = "tdq".includes(old);
  if (paint === "b") return old === "b" || old === "d" ? (target ? "t" : "f") : target ? "d" : "b";
  if (paint === "p") return target ? "q" : "p";
  if (paint === "t") {
    if (old === "b") return "d";
    if (old === "d") return "b";
    if (old === "p") return "q";
    if (old === "q") return "p";
  }
  return paint;
}

function paint(r, c, first) {
  if (r < 0 || c < 0 || r >= rows.length || c >= rows[0].length) return;
  const next = painted(rows[r][c], brush);
  if (!first && "tb".includes(brush)) return; // these two would flicker under a dragged pointer
  if (next === rows[r][c]) return;
  if (brush === "p") {
    rows = rows.map((row) => row.map((tile) => (tile === "p" ? "f" : tile === "q" ? "t" : tile)));
  }
  rows[r][c] = brush === "p" ? painted(rows[r][c], "p") : next;
  draw();
  tell();
}

function tell() {
  clearTimeout(pending);
  pending = setTimeout(() => {
    sent = rows.map((row) => row.join("")).join("\n");
    trigger("paint", { rows: sent.split("\n") });
  }, 150);
}

function draw() {
  const svg = tiled(rows.map((row) => row.map((tile) => (tile === "o" ? "w" : tile))));
  svg.style.maxWidth = `${44 * rows[0].length}px`;
  const frame = (r, c, name) => {
    const mark = document.createElementNS(svg.namespaceURI, "rect");
    for (const [key, value] of Object.entries({ x: 24 * c + 1, y: 24 * r + 1, width: 22, height: 22, rx: 3, class: name })) {
      mark.setAttribute(key, value);
    }
    svg.append(mark);
  };
  const { at } = view;
  if (at && at[0] < rows.length && at[1] < rows[0].length) frame(at[0], at[1], "pp-wrong");
  if (document.activeElement === canvas) frame(cursor[0], cursor[1], "pp-cursor");
  canvas.replaceChildren(svg);
  for (const button of palette.children) {
    button.setAttribute("aria-checked", button.dataset.brush === brush);
  }
  word.textContent = say(view.word);
  word.dataset.kind = view.kind;
}

function cell(event) {
  const box = canvas.firstChild.getBoundingClientRect();
  return [
    Math.floor(((event.clientY - box.top) / box.height) * rows.length),
    Math.floor(((event.clientX - box.left) / box.width) * rows[0].length),
  ];
}

canvas.addEventListener("pointerdown", (event) => {
  event.preventDefault();
  canvas.focus({ preventScroll: true });
  painting = true;
  cursor = cell(event);
  paint(...cursor, true);
});
canvas.addEventListener("pointermove", (event) => {
  if (painting) paint(...cell(event), false);
});
window.addEventListener("pointerup", () => { painting = false; });
canvas.addEventListener("focus", draw);
canvas.addEventListener("blur", draw);
canvas.addEventListener("keydown", (event) => {
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  if (step) {
    cursor = [
      Math.min(rows.length - 1, Math.max(0, cursor[0] + step[0])),
      Math.min(rows[0].length - 1, Math.max(0, cursor[1] + step[1])),
    ];
    draw();
  } else if (event.key === " " || event.key === "Enter") {
    paint(...cursor, true);
  } else if (/^[1-5]$/.test(event.key)) {
    brush = BRUSHES[Number(event.key) - 1][0];
    draw();
  } else {
    return;
  }
  event.preventDefault();
});

element.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.brush) { brush = button.dataset.brush; draw(); }
  const painted = { rows: rows.map((row) => row.join("")) };
  if (button.dataset.editor === "current") trigger("current", painted);
  if (button.dataset.editor === "play") trigger("play", painted);
  const size = button.dataset.size;
  if (!size) return;
  const wide = rows[0].length;
  if (size === "+rows" && rows.length < LARGEST) rows.push(Array(wide).fill("w"));
  if (size === "-rows" && rows.length > 3) rows.pop();
  if (size === "+columns" && wide < LARGEST) rows.forEach((row) => row.push("w"));
  if (size === "-columns" && wide > 3) rows.forEach((row) => row.pop());
  cursor = [Math.min(cursor[0], rows.length - 1), Math.min(cursor[1], rows[0].length - 1)];
  draw();
  tell();
});

for (const [index, [letter, name]] of BRUSHES.entries()) {
  const button = document.createElement("button");
  button.type = "button";
  button.dataset.brush = letter;
  button.setAttribute("role", "radio");
  button.title = `${say(name)} (${index + 1})`;
  const label = create("span", name);
  fixed.push([label.firstChild, "data", name]);
  button.append(tiled([letter]), label);
  palette.append(button);
}

onValue(() => {
  // What came back of an older painting must not undo what was painted since.
  const back = view.tiles.join("\n");
  if (view.taken || back === sent || sent === "") rows = view.tiles.map((row) => [...row]);
  draw();
});
onLanguage(draw);
