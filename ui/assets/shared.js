// Before each component's own script. A value is JSON in one string: Gradio would copy and watch a
// deep value property by property, at each event, and that takes longer than to draw it.
let view = JSON.parse(props.value);

function onValue(draw) {
  watch("value", () => {
    view = JSON.parse(props.value);
    draw();
  });
}

// A small board from rows of tile letters; its drawings are the big board's own.
function tiled(rows) {
  const SVG = "http://www.w3.org/2000/svg";
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
