// The prompt, exactly: every character goes through `textContent`, never through HTML or a template.
//
// A view is a list of blocks, each JSON of its own; a block is a list of parts [text, origin, turn,
// mark]. In the tokens' view it is a list of runs of tokens, see `inPieces`. What the copy and download
// buttons give is the very string that the parts join to, or `view.text` where the view shows
// something else too.
const body = element.querySelector(".pp-body");
const stats = element.querySelector(".pp-stats");
const notes = element.querySelector(".pp-notes");
const badges = element.querySelector(".pp-badges");
const images = element.querySelector(".pp-images");
const legend = element.querySelector(".pp-legend");
const said = element.querySelector(".pp-said");
const field = element.querySelector(".pp-find input");
const ORIGINS = [...legend.children].map((key) => key.dataset.origin);
const LABELS = [...legend.children].map((key) => key.textContent);
const SIGN = { " ": "pp-sp", "\t": "pp-tab", "\n": "pp-nl" };
const END = 4; // blocks at the end that are always laid out: most turns are read there
let shown = []; // the blocks in the DOM, each {key, parts, node, end, tokens}
let last = ""; // the kind of view that was drawn last
let drawn = ""; // the same, with whether spaces are marked
const details = new WeakMap(); // of each part's node: {start, first (token), part}

const text = () => view.text ?? shown.map(({ parts }) => parts.map((part) => part[0]).join("")).join("");

function drawPart(part, start, first) {
  const [content, origin, turn, mark] = part;
  const node = document.createElement("span");
  if (body.dataset.space === "yes") {
    // Each white space in an element of its own, so that a style can put a sign over it; the
    // characters themselves stay what they are.
    for (const piece of content.split(/([ \t\n])/)) {
      node.append(/^[ \t\n]$/.test(piece) ? create("i", piece, { className: SIGN[piece] }) : piece);
    }
  } else {
    node.textContent = content;
  }
  node.dataset.origin = ORIGINS[origin];
  if (turn) node.dataset.turn = turn;
  if (mark) node.dataset.mark = mark;
  if (part.length > 4) node.dataset.token = first;
  details.set(node, { start, first, part });
  return node;
}

// A run [text, origin, turn, mark, ids, lengths] as parts of a token each, or of the few that share a
// character, followed by their ids. Lengths count code points.
function inPieces(run) {
  const [content, origin, turn, mark, ids, lengths] = run;
  if (!ids) return [run];
  const characters = [...content];
  let end = 0;
  return lengths.map((length, index) => {
    const piece = characters.slice(end, end += length).join("");
    return [piece, origin, turn, mark || (piece.includes("\n") ? "newline" : ""), ids[index]].flat();
  });
}

function drawBlock(key, at, tokens) {
  const block = JSON.parse(key);
  const { heading } = block;
  const parts = block.parts.flatMap(inPieces);
  const nodes = parts.map((part) => {
    const node = drawPart(part, part[3] === "gone" ? null : at, tokens);
    if (part[3] !== "gone") at += part[0].length;
    tokens += part.length - 4;
    return node;
  });
  const node = document.createElement(heading ? "section" : "div");
  if (!heading) node.append(...nodes);
  else {
    const content = create("div", "", { className: "pp-text" });
    content.append(...nodes);
    node.append(create("h4", heading), content);
  }
  return { key, parts, node, end: at, tokens };
}

function draw() {
  // The address reopens what is shown; only the page's own prompt has one.
  if (view.address !== undefined) history.replaceState(history.state, "", view.address || location.pathname);
  element.dataset.kind = view.kind;
  // A prompt mostly extends the last one: keep what is the same and build only the rest.
  let same = 0;
  const way = view.kind + body.dataset.space;
  if (way !== drawn) shown.splice(0).forEach(({ node }) => node.remove());
  drawn = way;
  while (same < shown.length && same < view.blocks.length && shown[same].key === view.blocks[same]) same++;
  for (const { node } of shown.splice(same)) node.remove();
  for (const key of view.blocks.slice(same)) {
    const before = shown.at(-1);
    shown.push(drawBlock(key, before?.end ?? 0, before?.tokens ?? 0));
  }
  body.append(...shown.slice(same).map(({ node }) => node));
  for (const { node } of shown.slice(Math.max(0, same - END), -END)) delete node.dataset.end;
  for (const { node } of shown.slice(-END)) node.dataset.end = "";
  stats.replaceChildren(...view.stats.map((each) => create("span", say(each))));
  notes.replaceChildren(...view.notes.map(([kind, note]) => {
    const line = create("li", say(note));
    line.dataset.kind = kind;
    return line;
  }));
  drawBadges();
  images.replaceChildren(...view.images.map((source, index) => {
    const name = say(`Picture ${index + 1}`);
    return create("img", "", { src: source, alt: name, title: name });
  }));
  const origins = new Set();
  for (const { parts } of shown) for (const part of parts) origins.add(part[1]);
  for (const [index, key] of [...legend.children].entries()) key.hidden = !origins.has(index);
  const turned = last !== view.kind;
  last = view.kind;
  const stays = turned && showPicked();
  const { end } = view;
  if (!stays) inFrame(() => { body.scrollTop = end ? body.scrollHeight : 0; });
  if (field.value) find(false);
}

function drawBadges() {
  const open = new Set([...badges.querySelectorAll("details[open]")].map((each) => each.dataset.badge));
  badges.replaceChildren(...view.badges.map(([kind, name, why]) => {
    const badge = document.createElement("details");
    badge.dataset.kind = kind;
    badge.dataset.badge = name;
    badge.open = open.has(name);
    badge.append(create("summary", say(name), { title: say(why) }), create("p", say(why)));
    return badge;
  }));
}

// A selection copies as the characters that it covers; browsers would add line breaks of their own.
body.addEventListener("copy", (event) => {
  const selection = getSelection();
  if (!selection.rangeCount || selection.isCollapsed) return;
  event.clipboardData.setData("text/plain", String(selection.getRangeAt(0)));
  event.preventDefault();
});

function tell(words) {
  said.textContent = say(words);
  setTimeout(() => { said.textContent = ""; }, 2000);
}

async function copy(content) {
  try {
    await navigator.clipboard.writeText(content);
  } catch {
    // Without a secure context there is no clipboard; a textarea keeps every character too.
    const area = create("textarea", "", { value: content });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  tell("Copied");
}

element.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-do]");
  if (!button) return;
  if (button.dataset.do === "copy") copy(text());
  if (button.dataset.do === "download") download(text(), view.file);
  if (button.dataset.do === "wrap" || button.dataset.do === "space") {
    const on = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", on);
    body.dataset[button.dataset.do] = on ? "yes" : "no";
    const { scrollTop } = body;
    draw();
    inFrame(() => { body.scrollTop = scrollTop; });
  }
});
