// Before each component's own script. A value is JSON in one string: Gradio would copy and watch a
// deep value property by property, at each event, and that takes longer than to draw it.
let view = JSON.parse(props.value);

// What the page says, in the language that Gradio has chosen: its i18n tables are keyed by the
// English text, where {} stands for a number or a name. What a table lacks is said in English.
window.ppSay ??= (() => {
  const tables = window.gradio_config?.i18n_translations ?? {};
  const memory = new Map();
  const patterns = {};
  function fitting(table, text) {
    patterns[table] ??= Object.entries(tables[table]).filter(([key]) => key.includes("{}")).map(([key, value]) => [
      new RegExp(`^${key.replace(/[.*+?^$()|[\]\\]/g, "\\$&").replaceAll("{}", "([^]*?)")}$`), value,
    ]);
    for (const [pattern, value] of patterns[table]) {
      const found = pattern.exec(text);
      if (!found) continue;
      let next = 1;
      return value.replace(/\{(\d*)\}/g, (_, at) => say(found[at ? Number(at) + 1 : next++]));
    }
    return text;
  }
  function say(text) {
    const table = document.documentElement.lang;
    if (!text || table === "en" || !tables[table]) return text;
    const key = `${table} ${text}`;
    if (memory.size > 5000) memory.clear();
    if (!memory.has(key)) memory.set(key, tables[table][text] ?? fitting(table, text));
    return memory.get(key);
  }
  return say;
})();
const say = window.ppSay;

// The words of the skeleton, as they were written.
const fixed = [];
{
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.data.trim()) fixed.push([node, "data", node.data]);
  }
  for (const name of ["title", "aria-label", "placeholder"]) {
    for (const node of element.querySelectorAll(`[${name}]`)) fixed.push([node, name, node.getAttribute(name)]);
  }
}

function translate() {
  for (const [node, name, text] of fixed) {
    if (name === "data") node.data = say(text);
    else node.setAttribute(name, say(text));
  }
}

function onValue(draw) {
  watch("value", () => {
    const next = JSON.parse(props.value);
    if (next.serial < view.serial) return; // the solver's word on a move that another one followed
    view = next;
    draw();
  });
}

function onLanguage(draw) {
  const change = () => { translate(); draw(); };
  new MutationObserver(change).observe(document.documentElement, { attributes: true, attributeFilter: ["lang"] });
  change();
}

// To read or set a scroll position lays the page out at once; in the next frame it is done once for
// all components together.
function inFrame(scroll) {
  requestAnimationFrame(scroll);
}

function create(tag, text = "", properties = {}) {
  return Object.assign(document.createElement(tag), text === "" ? {} : { textContent: text }, properties);
}

// Hands a text or bytes to the browser as a file.
function download(content, name, type = "text/plain;charset=utf-8") {
  const link = create("a", "", { download: name });
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.click();
  URL.revokeObjectURL(link.href);
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

