// The levels to choose from, each with its picture, title and length.
const shelf = element.querySelector(".pp-shelf");
const SVG = "http://www.w3.org/2000/svg";

function picture(rows) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${24 * rows[0].length} ${24 * rows.length}`);
  svg.setAttribute("aria-hidden", "true");
  rows.forEach((row, r) => [...row].forEach((tile, c) => {
    if (tile === "o") return;
    const cell = document.createElementNS(SVG, "use");
    cell.setAttribute("href", `#sok-${tile}`);
    cell.setAttribute("x", 24 * c);
    cell.setAttribute("y", 24 * r);
    svg.append(cell);
  }));
  return svg;
}

function card(level) {
  const button = document.createElement("button");
  button.type = "button";
  button.dataset.index = level.index;
  button.setAttribute("role", "option");
  const title = document.createElement("b");
  title.textContent = level.title;
  const note = document.createElement("span");
  note.textContent = level.note;
  button.append(picture(level.tiles), title, note);
  return button;
}

function draw() {
  const { levels, chosen } = props.value;
  shelf.replaceChildren(...levels.map(card));
  for (const button of shelf.children) {
    button.setAttribute("aria-selected", Number(button.dataset.index) === chosen);
  }
}

element.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-index]");
  if (button) trigger("pick", { index: Number(button.dataset.index) });
});

watch("value", draw);
draw();
