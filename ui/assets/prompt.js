// The prompt, exactly: every character goes through `textContent`, never through HTML or a template.
//
// A view is a list of blocks; a block is a list of parts [text, origin, turn, mark, ids]. What the
// copy and download buttons give is the very string that the parts join to, or `view.text` in the
// views that show something else beside it.
const body = element.querySelector(".pp-body");
const stats = element.querySelector(".pp-stats");
const notes = element.querySelector(".pp-notes");
const images = element.querySelector(".pp-images");
const legend = element.querySelector(".pp-legend");
const said = element.querySelector(".pp-said");
const SIGN = { " ": "pp-sp", "\t": "pp-tab", "\n": "pp-nl" };
let shown = []; // the blocks in the DOM, each {key, node}

function part([text, origin, turn, mark, title]) {
  const node = document.createElement("span");
  if (body.dataset.space === "yes") {
    // Each white space in an element of its own, so that a style can put a sign over it; the
    // characters themselves stay what they are.
    for (const piece of text.split(/([ \t\n])/)) {
      if (!/^[ \t\n]$/.test(piece)) { node.append(piece); continue; }
      node.append(Object.assign(document.createElement("i"), { className: SIGN[piece], textContent: piece }));
    }
  } else {
    node.textContent = text;
  }
  node.dataset.origin = origin;
  if (turn) node.dataset.turn = turn;
  if (mark) node.dataset.mark = mark;
  if (title) node.title = title;
  return node;
}

function block({ heading, parts }) {
  if (!heading) {
    // Inline, since the text may go on in the same line from one block to the next.
    const run = document.createElement("span");
    run.append(...parts.map(part));
    return run;
  }
  const message = document.createElement("section");
  const head = document.createElement("h4");
  head.textContent = heading;
  const text = document.createElement("div");
  text.className = "pp-text";
  text.append(...parts.map(part));
  message.append(head, text);
  return message;
}

function draw() {
  // The address reopens what is shown; only the page's own prompt has one.
  if (view.address !== undefined) history.replaceState(history.state, "", view.address || location.pathname);
  element.dataset.kind = view.kind;
  // A prompt mostly extends the last one: keep what is the same and build only the rest.
  let same = 0;
  const way = view.kind + body.dataset.space;
  const keys = view.blocks.map((each) => way + JSON.stringify(each));
  while (same < shown.length && same < keys.length && shown[same].key === keys[same]) same++;
  for (const { node } of shown.splice(same)) node.remove();
  for (let index = same; index < keys.length; index++) {
    const node = block(view.blocks[index]);
    body.append(node);
    shown.push({ key: keys[index], node });
  }
  stats.replaceChildren(...view.stats.map((text) => Object.assign(document.createElement("span"), { textContent: text })));
  notes.replaceChildren(...view.notes.map(([kind, text]) => {
    const note = document.createElement("li");
    note.dataset.kind = kind;
    note.textContent = text;
    return note;
  }));
  images.replaceChildren(...view.images.map((source, index) =>
    Object.assign(document.createElement("img"), { src: source, alt: `Picture ${index + 1}`, title: `Picture ${index + 1}` })));
  const origins = new Set(view.blocks.flatMap((each) => each.parts.map((p) => p[1])));
  for (const key of legend.children) key.hidden = !origins.has(key.dataset.origin);
  body.scrollTop = view.end ? body.scrollHeight : 0;
}

function tell(text) {
  said.textContent = text;
  setTimeout(() => { said.textContent = ""; }, 2000);
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without a secure context there is no clipboard; a textarea keeps every character too.
    const area = Object.assign(document.createElement("textarea"), { value: text });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  tell("Copied");
}

function download(text, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

element.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-do]");
  if (!button) return;
  if (button.dataset.do === "copy") copy(view.text);
  if (button.dataset.do === "download") download(view.text, view.file);
  if (button.dataset.do === "wrap" || button.dataset.do === "space") {
    const on = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", on);
    body.dataset[button.dataset.do] = on ? "yes" : "no";
    const { scrollTop } = body;
    draw();
    body.scrollTop = scrollTop;
  }
});

// Lights the character that a cell of the board is in the last state, without touching the text.
document.addEventListener("pp-cell", ({ detail }) => {
  if (!("highlights" in CSS)) return;
  CSS.highlights.delete("pp-cell");
  for (const node of body.querySelectorAll(".pp-lit")) node.classList.remove("pp-lit");
  const states = [...body.querySelectorAll("[data-origin=state]:not([data-mark=gone])")];
  const last = states.at(-1)?.dataset.turn;
  if (!detail || last === undefined) return;
  const nodes = states.filter((node) => node.dataset.turn === last);
  const width = nodes.map((node) => node.textContent).join("").indexOf("\n") + 1;
  let left = detail[0] * width + detail[1];
  for (const node of nodes) {
    const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
    for (let text = walker.nextNode(); text; text = walker.nextNode()) {
      if (left < text.length) {
        const range = new Range();
        range.setStart(text, left);
        range.setEnd(text, left + 1);
        CSS.highlights.set("pp-cell", new Highlight(range));
        if (view.kind === "tokens") node.classList.add("pp-lit");
        return;
      }
      left -= text.length;
    }
  }
});

onValue(draw);
draw();
