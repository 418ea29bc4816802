// Places in the prompt that `prompt.js` draws: what is pointed at, kept, found, or scrolled beside.
//
// A place is a range over text nodes, lit by the browser's highlights without touching the text.
const inspector = element.querySelector(".pp-inspector");
const count = element.querySelector(".pp-find span");
const OUTSIDE = new Set(["template", "forced_start"]); // origins that belong to no message
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
  if (OUTSIDE.has(node.dataset.origin)) return [node];
  const section = node.closest("section");
  if (section) return [...section.querySelectorAll("span[data-origin]")];
  const all = kept();
  let first = all.indexOf(node);
  let end = first;
  while (first > 0 && !OUTSIDE.has(all[first - 1].dataset.origin)) first--;
  while (end < all.length && !OUTSIDE.has(all[end].dataset.origin)) end++;
  return all.slice(first, end);
}

// The tokens of the prompt that is shown, asked for at the first look: {serial, ids, ends}.
let tokens = null;
let wanted = -1;
let pointed = null; // the last event of the pointer, while it is over the text
document.addEventListener("pp-tokens", ({ detail }) => {
  if (!whole) return;
  tokens = detail;
  if (pointed) inspect(pointed);
});

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
  if (mates.length && !OUTSIDE.has(node.dataset.origin)) light("pp-message", mates.map((mate) => {
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

let looking = false;
body.addEventListener("pointermove", (event) => {
  pointed = event;
  if (looking) return; // one look a frame, at the newest place
  looking = true;
  requestAnimationFrame(() => {
    looking = false;
    if (pointed) inspect(pointed);
  });
});
body.addEventListener("pointerleave", () => {
  pointed = null;
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
