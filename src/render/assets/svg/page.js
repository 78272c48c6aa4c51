// As many lines as there is room for words.
function writeLines(element, words, room, x, high) {
  const pen = penIn(fontOf(element)), lines = [];
  for (const word of words) {
    const longer = lines.length ? lines[lines.length - 1] + " " + word : word;
    if (lines.length && textWidth(pen, longer) <= room) lines[lines.length - 1] = longer; else lines.push(word);
  }
  element.textContent = "";
  lines.forEach((line, at) => add(element, SVG, "tspan", {x, dy: at ? high : 0}, line));
  return lines.length;
}
// In a narrow window title and legend break, and the search box stands below the title. Everything below goes down by `lower`.
const NARROW = 640, LEGEND_LOWER = 38, LEGEND_LINE = 18, LEGEND_GAP = 16, graphTop = graph.y.baseVal.value, legendTop = Number(legend?.getAttribute("y") ?? 0);
const heads = Array.from(svg.querySelectorAll(".title, .answer, .subtitle"), (element) => ({element, text: element.textContent, top: Number(element.getAttribute("y"))}));
const HEAD_LINES = [24, 18, 18], BAR_LOWER = heads[heads.length - 1].top - 3;
let lower = 0;
const isNarrow = () => svg.getBoundingClientRect().width < NARROW;
function placeHead() {
  const right = svg.getBoundingClientRect().width - MARGIN;
  let down = 0;
  heads.forEach(({element, text, top}, at) => {
    element.setAttribute("y", top + down);
    if (!isNarrow()) return;
    const room = right - MARGIN, words = text.split(" ").map((word) => fit(penIn(fontOf(element)), word, room));
    down += (writeLines(element, words, room, MARGIN, HEAD_LINES[at]) - 1) * HEAD_LINES[at];
  });
  const at = isNarrow() ? LEGEND_LOWER + down : 0;
  holder.setAttribute("y", isNarrow() ? BAR_LOWER + down : 0);
  for (const line of [legend, details]) line?.setAttribute("y", legendTop + at);
  let x = MARGIN, line = 0;
  for (const part of legend?.children ?? []) {
    if (part.textContent !== "■" && part.className.baseVal !== "above") continue;  // the text of the mark before
    const wide = textWidth(penIn(fontOf(legend)), part.textContent + (part.className.baseVal === "above" ? "" : " " + part.nextElementSibling.textContent)) + 2;
    const first = x === MARGIN, breaks = !first && x + LEGEND_GAP + wide > right && isNarrow();
    if (breaks) { x = MARGIN; line += LEGEND_LINE; } else if (!first) x += LEGEND_GAP;
    for (const [name, value] of [["x", MARGIN], ["y", legendTop + at + line]]) if (breaks) part.setAttribute(name, value); else part.removeAttribute(name);
    if (breaks || first) part.removeAttribute("dx"); else part.setAttribute("dx", LEGEND_GAP);
    x += wide;
  }
  lower = at + line;
  graph.setAttribute("y", graphTop + lower);
  header.querySelector(".page").setAttribute("height", graphTop - 4 + lower);
}
// The facts below the graph break where the window ends.
const facts = Array.from(svg.querySelectorAll(".fact"), (element) => ({
  element, key: element.previousElementSibling, words: Array.from(element.children, (line) => line.textContent).join(" ").split(" ")
}));
let graphHeight = graph.height.baseVal.value;
const FACT_LINE = 17, restHeight = Number(svg.getAttribute("height")) - graphHeight, firstFact = Number(facts[0]?.key.getAttribute("y")) - graphHeight, rule = svg.querySelector(".rule"), ruleTop = rule?.y.baseVal.value - graphHeight;
function breakFacts() {
  const below = graphHeight - cut + lower;
  svg.setAttribute("height", restHeight + below);
  if (facts.length === 0) return;
  rule.setAttribute("y", ruleTop + below);
  const x = Number(facts[0].element.getAttribute("x"));
  const room = svg.getBoundingClientRect().width - x - MARGIN;
  let y = firstFact + below;
  for (const fact of facts) {
    fact.key.setAttribute("y", y);
    fact.element.setAttribute("y", y);
    y += FACT_LINE * writeLines(fact.element, fact.words, room, x, FACT_LINE);
  }
  svg.setAttribute("height", y + 4);
}
function fitHeads() {
  if (isNarrow()) return;
  const left = Math.min(...Array.from(bar.children, (item) => item.getBoundingClientRect().left || Infinity));
  const room = left - svg.getBoundingClientRect().left - MARGIN - 14;
  // What stands below the search box has the whole width.
  for (const head of heads) if (head.top < 45) head.element.textContent = fit(penIn(fontOf(head.element)), head.text, room);
}
function layOut() {
  placeHead();
  graphWidth = Math.max(svg.getBoundingClientRect().width - 2 * MARGIN, 1);
  for (const element of svg.querySelectorAll(".frames, .rule")) {
    element.setAttribute("x", MARGIN);
    element.setAttribute("width", graphWidth);
  }
  graph.setAttribute("height", graphHeight - cut);
  graph.setAttribute("viewBox", `0 ${cut} ${graphWidth} ${graphHeight - cut}`);
  breakFacts();
  draw();
  fitHeads();
}

// A picture taller than its window opens at its roots under its header. The rows above are cut off until the reader moves;
// the document is not scrolled, so that what is photographed or printed from its top is whole. Then the header follows.
let cut = 0;
function openAtRoots() {
  if (!alone) return;
  svg.appendChild(header);
  addEventListener("scroll", followScroll);
  if (!walked.rootBelow) return;
  const more = legend && add(legend, SVG, "tspan", {class: "above", dx: 16});
  const measureCut = () => {
    placeHead();
    cut = Math.max(0, Math.min(Math.ceil(graph.y.baseVal.value + graphHeight + 4 - innerHeight), graphHeight - rowHeight));
    if (more) more.textContent = cut > 0 ? `▲ ${Math.ceil(cut / rowHeight)} more rows` : "";
  };
  const showAll = (event) => {
    if (cut === 0 || event.deltaY > 0) return;
    const far = cut;
    cut = 0;
    more?.remove();
    layOut();
    scrollOn(far);
  };
  measureCut();
  addEventListener("resize", () => { if (cut > 0) { measureCut(); layOut(); } });
  for (const type of ["wheel", "keydown", "pointerdown", "beforeprint"]) addEventListener(type, showAll, {capture: true, passive: true});
}

// Without it a phone shows the picture as wide as a desk's screen, and its letters as small.
if (alone) add(svg, HTML, "meta", {name: "viewport", content: "width=device-width, initial-scale=1"});
readFrames();
placeRows();
focused = frames[0];
focused.g.setAttribute("tabindex", "0");
svg.removeAttribute("viewBox");
svg.setAttribute("width", "100%");
openAtRoots();
loadState();
const under = (event) => frameOf.get(event.target.closest?.(".frames > g"));
graph.addEventListener("click", (event) => {
  const frame = under(event);
  if (!frame) return;
  open(frame, false);
});
graph.addEventListener("mouseover", (event) => describe(under(event)));
graph.addEventListener("mouseleave", () => describe(null));
graph.addEventListener("focusin", (event) => describe(under(event)));
graph.addEventListener("focusout", () => describe(null));
graph.addEventListener("keydown", onGraphKey);
document.addEventListener("keydown", onKey);
document.addEventListener("copy", onCopy);
input.addEventListener("input", changeSearch);
exact.addEventListener("click", () => {
  search.exact = !search.exact;
  exact.setAttribute("aria-pressed", search.exact);
  changeSearch();
});
reset.addEventListener("click", () => zoom(frames[0]));
addEventListener("hashchange", loadState);
let wide = 0;
new ResizeObserver(() => {
  const now = svg.getBoundingClientRect().width;
  if (now === wide) return;
  wide = now;
  layOut();
}).observe(svg);
