// The tour: one card beside each part of the page in turn; and a hint for the first visit.
const STEPS = [
  ["#pp-board", "The board", "A live Sokoban level. Push every box onto a target with the arrow keys or WASD. Each move is one turn, and it counts as the response that names that action."],
  ["#pp-prompt", "What the model reads", "This is the exact prompt of the turn that is to be decided, every character of it. The colours say where each stretch came from; grey is what the chat template added. The last words, underlined, are the forced start of the answer."],
  [".pp-heading", "Five views of one prompt", "Messages shows what the chat template received, Tokens the token ids, Diff what changed since the turn before, Training what a trainer reads of it."],
  ["#pp-answer", "The answer", "The raw response of the last turn, and what the parser made of it. A response that breaks the format becomes INVALID, and the rule that it broke is named."],
  ["#pp-typed", "Answer as the model", "Type a response as if you were the model: it goes through the same parser. Try one without its closing tag."],
  [".pp-model-row", "Let a model answer", "One move, or several in a row. Legal answer lets it choose among the legal actions only, Scored choice compares their probabilities, Free lets it write what it likes."],
  ["#pp-referee", "The referee", "A solver follows every turn: how many pushes are left, a hint, and a warning at the move that loses the level."],
  [".pp-tabs", "Everything else", "The history, where any turn can be looked at or changed; ready demos; the prompt config as YAML; levels; chat templates; two prompts compared; saving and sharing."],
];
const card = element.querySelector(".pp-step");
const hint = element.querySelector(".pp-hint");
let at = -1;

function remembered() {
  try { return localStorage.getItem("pp-seen"); } catch { return "yes"; }
}
function remember() {
  hint.hidden = true;
  try { localStorage.setItem("pp-seen", "yes"); } catch { /* a private window forgets */ }
}

function show(step) {
  document.querySelector(".pp-toured")?.classList.remove("pp-toured");
  at = step;
  card.hidden = at < 0 || at >= STEPS.length;
  if (card.hidden) { at = -1; element.querySelector("[data-tour=start]").focus(); return; }
  const [selector, title, text] = STEPS[at];
  const place = document.querySelector(selector);
  card.querySelector("h3").textContent = say(`${say(title)} (${at + 1} of ${STEPS.length})`);
  card.querySelector("p").textContent = say(text);
  card.querySelector("[data-tour=back]").hidden = at === 0;
  card.querySelector("[data-tour=next]").textContent = say(at === STEPS.length - 1 ? "Done" : "Next");
  place?.classList.add("pp-toured");
  place?.scrollIntoView({ block: "center" });
  card.focus({ preventScroll: true });
}

element.addEventListener("click", (event) => {
  const what = event.target.closest("button[data-tour]")?.dataset.tour;
  if (what === "start") { remember(); show(0); }
  if (what === "next") show(at + 1);
  if (what === "back") show(at - 1);
  if (what === "end") show(-1);
  if (what === "dismiss") remember();
});
card.addEventListener("keydown", (event) => {
  if (event.key === "Escape") show(-1);
  if (event.key === "ArrowRight") show(at + 1);
  if (event.key === "ArrowLeft" && at > 0) show(at - 1);
  event.stopPropagation();
});
hint.hidden = remembered() !== null;

// The language is Gradio's: its own module is asked to change it, and all of the page follows.
const LANGUAGES = [...element.querySelectorAll("[data-language]")];
const core = performance.getEntriesByType("resource").map(({ name }) => name).find((name) => /\/core-[\w-]+\.js$/.test(name));

async function speak(language) {
  try { localStorage.setItem("pp-language", language); } catch { /* a private window forgets */ }
  if (core && language !== document.documentElement.lang) (await import(core)).changeLocale(language);
}

function preferred() {
  try {
    const chosen = localStorage.getItem("pp-language");
    if (chosen) return chosen;
  } catch { /* as if none had been chosen */ }
  return navigator.language.startsWith("zh") ? "zh-CN" : null; // of all Chinese, we have this one
}

element.addEventListener("click", (event) => {
  const { language, theme } = event.target.closest("button")?.dataset ?? {};
  if (language) speak(language);
  if (theme !== undefined) document.body.classList.toggle("dark");
});

onLanguage(() => {
  for (const button of LANGUAGES) {
    button.setAttribute("aria-pressed", document.documentElement.lang.slice(0, 2) === button.dataset.language.slice(0, 2));
  }
  if (at >= 0) show(at);
});
if (preferred()) speak(preferred());
