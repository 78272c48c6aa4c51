// The facts below the graph break where the window ends.
const facts = Array.from(svg.querySelectorAll(".fact"), (element) => ({
  element, key: element.previousElementSibling, words: Array.from(element.children, (line) => line.textContent).join(" ").split(" ")
}));
function breakFacts() {
  if (facts.length === 0) return;
  const x = Number(facts[0].element.getAttribute("x")), font = fontOf(facts[0].element);
  const room = svg.getBoundingClientRect().width - x - MARGIN;
  let y = Number(facts[0].key.getAttribute("y"));
  for (const fact of facts) {
    fact.key.setAttribute("y", y);
    fact.element.setAttribute("y", y);
    fact.element.textContent = "";
    const lines = [];
    for (const word of fact.words) {
      const longer = lines.length ? lines[lines.length - 1] + " " + word : word;
      if (lines.length && measure(longer, font) <= room) lines[lines.length - 1] = longer; else lines.push(word);
    }
    lines.forEach((line, at) => add(fact.element, SVG, "tspan", {x, dy: at ? 17 : 0}, line));
    y += 17 * lines.length;
  }
  svg.setAttribute("height", y + 4);
}
const heads = Array.from(svg.querySelectorAll(".title, .subtitle"), (element) => ({element, text: element.textContent}));
function fitHeads() {
  const left = Math.min(...Array.from(bar.children, (item) => item.getBoundingClientRect().left || Infinity));
  const room = left - svg.getBoundingClientRect().left - MARGIN - 14;
  for (const head of heads) head.element.textContent = fit(head.text, room, fontOf(head.element));
}
function layOut() {
  graphWidth = Math.max(svg.getBoundingClientRect().width - 2 * MARGIN, 1);
  for (const element of svg.querySelectorAll(".frames, .rule")) {
    element.setAttribute("x", MARGIN);
    element.setAttribute("width", graphWidth);
  }
  breakFacts();
  draw();
  fitHeads();
}

// A picture taller than its window opens at its roots, and its header stays in sight.
function followScrolling() {
  if (!alone) return;
  svg.appendChild(header);
  const follow = () => header.setAttribute("transform", `translate(0 ${scrollY})`);
  addEventListener("scroll", follow);
  const bottom = frames[0].y + graph.y.baseVal.value + rowHeight;
  // Chromium's --screenshot shows the top of a page, and what lies there is not painted once the page has scrolled.
  const screenshot = /HeadlessChrome/.test(navigator.userAgent) && !navigator.webdriver;
  if (bottom > innerHeight && frames.length > 1 && frames[1].y < frames[0].y && !screenshot) {
    addEventListener("load", () => setTimeout(() => { if (scrollY === 0) scrollTo(0, bottom - innerHeight + 24); }));
  }
  follow();
}

readFrames();
focused = frames[0];
focused.g.setAttribute("tabindex", "0");
svg.removeAttribute("viewBox");
svg.setAttribute("width", "100%");
loadState();
followScrolling();
const under = (event) => frameOf.get(event.target.closest?.(".frames > g"));
graph.addEventListener("click", (event) => {
  const frame = under(event);
  if (!frame) return;
  focusFrame(frame, false);
  zoom(frame);
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
