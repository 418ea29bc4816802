// The levels to choose from, each with its picture, title and length.
const shelf = element.querySelector(".pp-shelf");

function card(level) {
  const button = document.createElement("button");
  button.type = "button";
  button.dataset.index = level.index;
  button.setAttribute("role", "option");
  button.append(tiled(level.tiles), create("b", say(level.title)), create("span", say(level.note)));
  return button;
}

function draw() {
  const { levels, chosen } = view;
  shelf.replaceChildren(...levels.map(card));
  for (const button of shelf.children) {
    button.setAttribute("aria-selected", Number(button.dataset.index) === chosen);
  }
}

element.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-index]");
  if (button) trigger("pick", { index: Number(button.dataset.index) });
});

onValue(draw);
onLanguage(draw);
