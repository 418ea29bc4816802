// The board: draws the SVG that Python made, and turns keys and buttons into one ordered queue.
//
// Keys wait here while a move is on its way, and go to the server together when it has answered, so
// that fast typing loses nothing and no move is ever judged against a board that is not shown.
const picture = element.querySelector(".pp-picture");
const board = element.querySelector(".pp-board");
const status = element.querySelector(".pp-status");
const title = element.querySelector(".pp-level-title");
const odds = element.querySelector(".pp-odds");
const banner = element.querySelector(".pp-banner");
const KEYS = {
  ArrowUp: "1", ArrowDown: "2", ArrowLeft: "3", ArrowRight: "4",
  w: "1", s: "2", a: "3", d: "4", u: "undo", z: "undo", Z: "redo", U: "redo", r: "reset",
};
const PATIENCE = 8000; // ms after which an unanswered move no longer blocks the next

let waiting = [];
let sent = 0; // when the move on its way was sent; 0: none

function send() {
  if (!waiting.length || (sent && Date.now() - sent < PATIENCE) || view.locked) return;
  sent = Date.now();
  trigger("act", { step: view.step, acts: waiting.splice(0) });
}

function ask(act) {
  if (film !== null) draw();
  if (view.locked) return;
  waiting.push(act);
  send();
}

// Plays pictures once, without touching the episode, then shows the board again.
let film = null;
function play(frames) {
  clearInterval(film);
  film = null;
  if (!frames.length) return;
  let next = 0;
  film = setInterval(() => {
    if (next === frames.length + 4) return draw(); // the last picture stays for a moment
    const rows = frames[Math.min(next++, frames.length - 1)];
    lay(rows);
    banner.textContent = say(`A shortest solution: move ${Math.max(0, Math.min(next, frames.length) - 1)} of ${frames.length - 1}. Any key stops it.`);
    banner.dataset.kind = "busy";
  }, 260);
}

// The model's moves: one, or one after another while `auto` lasts.
let auto = 0;
let asked = -1; // the turn that the model was last asked to decide

function model() {
  if (view.locked || view.over) { auto = 0; return; }
  asked = view.step;
  trigger("model", {});
}

function toggleAuto() {
  if (auto) auto = 0;
  else {
    auto = Math.max(1, Math.floor(Number(element.querySelector(".pp-turns input").value)) || 1);
    if (!view.locked) { auto -= 1; model(); }
  }
  showAuto();
}

function showAuto() {
  const button = element.querySelector("button[data-do=auto]");
  button.textContent = say(auto ? `Pause (${auto})` : "Auto");
}

function goOn() {
  if (view.locked || !auto) return showAuto();
  // A stopped, failed or refused answer leaves the turn undecided: do not ask again for ever.
  if (view.over || view.step !== asked + 1) auto = 0;
  else { auto -= 1; model(); }
  showAuto();
}

function blind(button) {
  const on = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", on);
  showBlind(button);
  element.closest(".pp-stage").classList.toggle("pp-blind", on);
}

function showBlind(button = element.querySelector("button[data-do=blind]")) {
  button.textContent = say(button.getAttribute("aria-pressed") === "true" ? "Show the board" : "Hide the board");
}

function does(what, button) {
  if (what === "model") model();
  if (what === "auto") toggleAuto();
  if (what === "blind") blind(button);
  if (what === "stop") { auto = 0; showAuto(); trigger("stop", {}); }
}

function lay(rows) {
  for (const cell of picture.querySelectorAll("use[data-r]")) {
    const tile = `#sok-${rows[cell.dataset.r][cell.dataset.c]}`;
    if (cell.getAttribute("href") !== tile) cell.setAttribute("href", tile);
  }
}

// The picture is made anew for another level only: every small board of the page uses its tiles.
let level = "";
function show() {
  const here = `${view.title} ${view.tiles.length} ${view.tiles[0]?.length} ${view.tiles.join("").replace(/[^o]/g, "-")}`;
  if (here === level) return lay(view.tiles);
  level = here;
  picture.innerHTML = view.svg; // made in Python from numbers; its one text, the title, is escaped
}

function draw() {
  clearInterval(film);
  film = null;
  show();
  board.setAttribute("aria-label", say(view.label));
  title.textContent = say(view.title);
  status.replaceChildren(
    ...view.facts.map(([name, value]) => {
      const fact = document.createElement("div");
      fact.append(create("b", value), " " + say(name));
      return fact;
    }),
  );
  odds.replaceChildren(
    ...view.odds.map(([name, probability, chosen]) => {
      const row = document.createElement("div");
      const bar = document.createElement("i");
      bar.style.setProperty("--p", probability);
      row.dataset.chosen = chosen ? "yes" : "no";
      row.append(create("span", name), bar, create("b", `${(100 * probability).toFixed(1)} %`));
      return row;
    }),
  );
  banner.textContent = say(view.banner);
  banner.dataset.kind = view.kind;
  element.dataset.locked = view.locked ? "yes" : "no";
  element.querySelector("button[data-do=stop]").hidden = !view.locked;
  element.querySelector("button[data-do=model]").setAttribute("aria-disabled", view.locked || view.over);
  for (const button of element.querySelectorAll("button[data-act]")) {
    const act = button.dataset.act;
    const off = view.locked || (/\d/.test(act) ? view.over : !view.can.includes(act));
    // Not `disabled`: that would throw the focus away in the middle of playing by keyboard.
    button.setAttribute("aria-disabled", off ? "true" : "false");
  }
}

element.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button?.dataset.do) {
    if (button.getAttribute("aria-disabled") !== "true") does(button.dataset.do, button);
  } else if (button) {
    if (button.getAttribute("aria-disabled") !== "true") ask(button.dataset.act);
  } else if (event.target.closest(".pp-picture")) {
    board.focus({ preventScroll: true });
  }
});

// Anything with keys of its own keeps them.
const BUSY =
  "input:not([type=radio]), textarea, select, [contenteditable]:not([contenteditable='false']), " +
  "[role=listbox], [role=option], [role=slider], [role=radio], [data-own-keys]";

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
  if (!element.isConnected || event.defaultPrevented) return;
  if (event.target instanceof Element && event.target.closest(BUSY)) return;
  const plain = !event.shiftKey && event.key.toLowerCase();
  const onButton = event.target instanceof Element && event.target.closest("button, a, summary");
  if (plain === "l" || plain === "n" || (plain === " " && !onButton)) {
    event.preventDefault();
    if (plain === "l") model();
    if (plain === "n" && !view.locked) trigger("next", {});
    if (plain === " ") toggleAuto();
    return;
  }
  const act = KEYS[event.key] ?? (event.shiftKey ? undefined : KEYS[event.key.toLowerCase()]);
  if (act === undefined) return;
  event.preventDefault();
  ask(act);
});

// The cell under the pointer is told to whoever shows its character.
picture.addEventListener("pointerover", (event) => {
  const cell = event.target.closest?.("[data-r]");
  if (cell) document.dispatchEvent(new CustomEvent("pp-cell", { detail: [Number(cell.dataset.r), Number(cell.dataset.c)] }));
});
picture.addEventListener("pointerleave", () => document.dispatchEvent(new CustomEvent("pp-cell", { detail: null })));

// A swipe on the board is a move.
let touch = null;
picture.addEventListener("touchstart", (event) => { touch = event.changedTouches[0]; }, { passive: true });
picture.addEventListener("touchend", (event) => {
  if (!touch) return;
  const across = event.changedTouches[0].clientX - touch.clientX;
  const down = event.changedTouches[0].clientY - touch.clientY;
  touch = null;
  if (Math.max(Math.abs(across), Math.abs(down)) < 24) return;
  if (Math.abs(across) > Math.abs(down)) ask(across > 0 ? "4" : "3");
  else ask(down > 0 ? "2" : "1");
}, { passive: true });

onValue(() => {
  sent = 0;
  if (view.locked || view.over) waiting = waiting.filter((act) => !/\d/.test(act));
  draw();
  play(view.replay);
  send();
  goOn();
});
onLanguage(() => { draw(); showAuto(); showBlind(); });

// A character of the last state that is pointed at lights its cell.
document.addEventListener("pp-char", ({ detail }) => {
  for (const cell of picture.querySelectorAll(".pp-lit")) cell.classList.remove("pp-lit");
  if (detail) picture.querySelector(`[data-r="${detail[0]}"][data-c="${detail[1]}"]`)?.classList.add("pp-lit");
});
