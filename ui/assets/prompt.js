// The prompt, exactly: every character goes through `textContent`, never through HTML or a template.
//
// A view is a list of blocks, each JSON of its own; a block is a list of parts [text, origin, turn,
// mark], in the tokens' view followed by the tokens' ids. What the copy and download buttons give is
// the very string that the parts join to, or `view.text` where the view shows something else too.
const body = element.querySelector(".pp-body");
const stats = element.querySelector(".pp-stats");
const notes = element.querySelector(".pp-notes");
const badges = element.querySelector(".pp-badges");
const images = element.querySelector(".pp-images");
const legend = element.querySelector(".pp-legend");
const said = element.querySelector(".pp-said");
const inspector = element.querySelector(".pp-inspector");
const field = element.querySelector(".pp-find input");
const count = element.querySelector(".pp-find span");
const ORIGINS = [...legend.children].map((key) => key.dataset.origin);
const LABELS = [...legend.children].map((key) => key.textContent);
const SIGN = { " ": "pp-sp", "\t": "pp-tab", "\n": "pp-nl" };
const FAMILY = { template: "", forced_start: "" }; // belongs to no message
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

function drawBlock(key, at, tokens) {
  const { heading, parts } = JSON.parse(key);
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

function download(content, name) {
  const link = create("a", "", { download: name });
  link.href = URL.createObjectURL(new Blob([content], { type: "text/plain;charset=utf-8" }));
  link.click();
  URL.revokeObjectURL(link.href);
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

// -- places: ranges over the text nodes, lit by the browser without touching the text

const canLight = "highlights" in CSS;
const whole = element.closest("#pp-prompt") !== null; // the page's own prompt, not one beside it

function light(name, ranges) {
  if (!canLight) return;
  if (ranges.length) CSS.highlights.set(name, new Highlight(...ranges));
  else CSS.highlights.delete(name);
}

// `count` characters from `from` on, within the nodes one after another.
function range(nodes, from, length = 1) {
  const found = new Range();
  let left = from;
  let open = false;
  for (const node of nodes) {
    const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
    for (let piece = walker.nextNode(); piece; piece = walker.nextNode()) {
      if (!open && left < piece.length) {
        found.setStart(piece, left);
        open = true;
        left += length;
      }
      if (open && left <= piece.length) {
        found.setEnd(piece, left);
        return found;
      }
      left -= piece.length;
    }
  }
  return null;
}

const parts = () => [...body.querySelectorAll("span[data-origin]")];
const kept = () => parts().filter((node) => node.dataset.mark !== "gone");
const group = (node) => `${node.dataset.origin} ${node.dataset.turn ?? ""}`;

// The character under the pointer: {node, at (in the node)}.
function under(event) {
  const node = event.target.closest?.("span[data-origin]");
  if (!node || !body.contains(node)) return null;
  const caret = document.caretPositionFromPoint?.(event.clientX, event.clientY) ??
    (([r]) => r && { offsetNode: r.startContainer, offset: r.startOffset })([document.caretRangeFromPoint?.(event.clientX, event.clientY)]);
  if (!caret || !node.contains(caret.offsetNode) || caret.offsetNode.nodeType !== Node.TEXT_NODE) return { node, at: 0 };
  const before = new Range();
  before.setStart(node, 0);
  before.setEnd(caret.offsetNode, caret.offset);
  let at = String(before).length;
  // The caret stands between two characters; the pointer is over the one whose box holds it.
  const box = at > 0 && range([node], at - 1)?.getBoundingClientRect();
  if (box && event.clientX < box.right && event.clientY < box.bottom && event.clientY >= box.top) at -= 1;
  return { node, at: Math.min(at, Math.max(0, node.textContent.length - 1)) };
}

// All parts of the message that a part stands in: a template writes something between any two.
function message(node) {
  if (node.dataset.origin in FAMILY) return [node];
  const section = node.closest("section");
  if (section) return [...section.querySelectorAll("span[data-origin]")];
  const all = kept();
  let first = all.indexOf(node);
  let end = first;
  while (first > 0 && !(all[first - 1].dataset.origin in FAMILY)) first--;
  while (end < all.length && !(all[end].dataset.origin in FAMILY)) end++;
  return all.slice(first, end);
}

// The tokens of the prompt that is shown, asked for at the first look: {serial, ids, ends}.
let tokens = null;
let wanted = -1;
document.addEventListener("pp-tokens", ({ detail }) => { if (whole) tokens = detail; });

function tokensAt(at) {
  if (tokens?.serial !== view.serial) {
    if (whole && wanted !== view.serial) trigger("inspect", {});
    wanted = view.serial;
    return null;
  }
  let low = 0;
  let high = tokens.ends.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (tokens.ends[middle] <= at) low = middle + 1;
    else high = middle;
  }
  let first = low;
  while (low < tokens.ends.length && tokens.starts[low] <= at) low++;
  return low > first ? { first, ids: tokens.ids.slice(first, low), start: tokens.starts[first], end: tokens.ends[low - 1] } : null;
}

function inspect(event) {
  const found = under(event);
  if (!found) return;
  const { node, at } = found;
  const { start, first, part } = details.get(node);
  const words = [say(LABELS[part[1]])];
  if (part[2]) words.push(say(`turn ${part[2]}`));
  let token = null;
  if (start !== null && view.kind !== "messages") {
    words.push(say(`character ${(start + at + 1).toLocaleString("en")}`));
    token = part.length > 4
      ? { first, ids: part.slice(4), start, end: start + part[0].length }
      : view.kind === "training" || view.kind === "diff" ? null : tokensAt(start + at);
  }
  const mates = message(node);
  if (mates.length && !(node.dataset.origin in FAMILY)) light("pp-message", mates.map((mate) => {
    const whole = new Range();
    whole.selectNodeContents(mate);
    return whole;
  }));
  else light("pp-message", []);
  if (token) {
    const many = token.ids.length > 1;
    words.push(say(many ? `tokens ${token.first} to ${token.first + token.ids.length - 1}` : `token ${token.first}`), `id ${token.ids.join(", ")}`);
    const lit = range(kept(), token.start, token.end - token.start);
    light("pp-token", lit ? [lit] : []);
  } else {
    const lit = range([node], at);
    light("pp-token", lit ? [lit] : []);
  }
  words.push(JSON.stringify(node.textContent.length > 40 ? [...node.textContent.slice(at)][0] ?? "" : node.textContent));
  inspector.textContent = words.join(" · ");
  if (whole) document.dispatchEvent(new CustomEvent("pp-char", { detail: cellOf(node, at) }));
}

let moved = null;
body.addEventListener("pointermove", (event) => {
  // One look a frame, at the newest place.
  if (!moved) requestAnimationFrame(() => { inspect(moved); moved = null; });
  moved = event;
});
body.addEventListener("pointerleave", () => {
  light("pp-message", []);
  light("pp-token", []);
  document.dispatchEvent(new CustomEvent("pp-char", { detail: null }));
});

// -- the place that a click keeps, in every view: the nth character of its origin and turn

let picked = null;

body.addEventListener("click", (event) => {
  const found = under(event);
  if (!found || String(getSelection())) return;
  const before = kept().filter((node) => group(node) === group(found.node));
  let nth = found.at;
  for (const node of before) {
    if (node === found.node) break;
    nth += node.textContent.length;
  }
  picked = { group: group(found.node), nth };
  showPicked(false);
});

function showPicked(scroll = true) {
  if (!picked || !whole) return false;
  const place = range(kept().filter((node) => group(node) === picked.group), picked.nth);
  light("pp-picked", place ? [place] : []);
  if (!place) return false;
  if (scroll) {
    const box = place.getBoundingClientRect();
    const frame = body.getBoundingClientRect();
    if (box.top < frame.top || box.bottom > frame.bottom) body.scrollTop += box.top - frame.top - frame.height / 2;
  }
  return true;
}

// -- the two of a comparison scroll together

const pair = { "pp-ours": "pp-compared", "pp-compared": "pp-ours" }[element.closest("[id^=pp-]")?.id];
if (pair) body.addEventListener("scroll", () => {
  const other = document.querySelector(`#${pair} .pp-body`);
  if (!other || !body.matches(":hover, :focus")) return; // the one that is led does not lead
  other.scrollTop = (body.scrollTop / (body.scrollHeight - body.clientHeight || 1)) * (other.scrollHeight - other.clientHeight);
});

// -- find

let matches = [];
let current = -1;

function find(jump) {
  const query = field.value.toLowerCase();
  matches = [];
  if (query) {
    const nodes = parts();
    const exact = nodes.map((node) => node.textContent).join("");
    const lower = exact.toLowerCase();
    const all = lower.length === exact.length ? lower : exact; // some letters grow in lower case
    for (let at = all.indexOf(query); at >= 0 && matches.length < 999; at = all.indexOf(query, at + query.length)) {
      const found = range(nodes, at, query.length);
      if (found) matches.push(found);
    }
  }
  if (jump) current = matches.length ? 0 : -1;
  light("pp-found", matches);
  showMatch(jump);
}

function showMatch(jump) {
  if (current >= matches.length) current = matches.length - 1;
  count.textContent = field.value ? `${current + 1}/${matches.length}` : "";
  light("pp-found-now", current >= 0 ? [matches[current]] : []);
  if (!jump || current < 0) return;
  const box = matches[current].getBoundingClientRect();
  const frame = body.getBoundingClientRect();
  body.scrollTop += box.top - frame.top - frame.height / 3;
}

field.addEventListener("input", () => find(true));
field.addEventListener("keydown", (event) => {
  if (event.key === "Escape") { field.value = ""; find(true); }
  if (event.key !== "Enter" || !matches.length) return;
  event.preventDefault();
  current = (current + (event.shiftKey ? matches.length - 1 : 1)) % matches.length;
  showMatch(true);
});

// -- the board's cells and the last state's characters, each lighting the other

function lastState() {
  const states = kept().filter((node) => node.dataset.origin === "state");
  const newest = states.at(-1)?.dataset.turn;
  return newest === undefined ? [] : states.filter((node) => node.dataset.turn === newest);
}

function cellOf(node, at) {
  const nodes = lastState();
  if (!nodes.includes(node)) return null;
  const before = nodes.slice(0, nodes.indexOf(node)).map((each) => each.textContent).join("") + node.textContent.slice(0, at);
  return [before.split("\n").length - 1, before.length - before.lastIndexOf("\n") - 1];
}

document.addEventListener("pp-cell", ({ detail }) => {
  if (!whole) return;
  light("pp-cell", []);
  for (const node of body.querySelectorAll(".pp-lit")) node.classList.remove("pp-lit");
  const nodes = detail ? lastState() : [];
  const width = nodes.map((node) => node.textContent).join("").indexOf("\n") + 1;
  const place = nodes.length ? range(nodes, detail[0] * width + detail[1]) : null;
  if (!place) return;
  light("pp-cell", [place]);
  if (view.kind === "tokens") place.startContainer.parentElement.closest("[data-origin]")?.classList.add("pp-lit");
});

onValue(draw);
onLanguage(draw);
