// Facts about two prompts, side by side.
const note = element.querySelector(".pp-table-note");
const rows = element.querySelector("tbody");

function draw() {
  element.hidden = view.rows.length === 0;
  note.textContent = say(view.note);
  rows.replaceChildren(...view.rows.map((cells) => {
    const line = document.createElement("tr");
    for (const [index, text] of cells.entries()) {
      const cell = document.createElement(index ? "td" : "th");
      if (!index) cell.scope = "row";
      cell.textContent = say(text);
      line.append(cell);
    }
    return line;
  }));
}

onValue(draw);
onLanguage(draw);
