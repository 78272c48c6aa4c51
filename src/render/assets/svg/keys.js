// The search box and the keys.
const header = svg.querySelector(".head");
const holder = add(header, SVG, "foreignObject", {x: 0, y: 0, width: "100%", height: 60});
holder.style.pointerEvents = "none";
const bar = add(holder, HTML, "div", {class: "bar", role: "search"});
const result = add(bar, HTML, "output", {"aria-live": "polite"});
const found = add(bar, HTML, "output", {class: "found"});
const input = add(bar, HTML, "input", {type: "search", placeholder: "Search, regex  ( / )", "aria-label": "Search functions, regular expression", spellcheck: "false", autocomplete: "off"});
const exact = add(bar, HTML, "button", {type: "button", "aria-pressed": "false", title: "Match case", "aria-label": "Match case"}, "Aa");
const reset = add(bar, HTML, "button", {type: "button", title: "Show everything again (Escape)"}, "Reset zoom");
bar.insertBefore(reset, result);

const walked = {
  get rootBelow() { return frames.length > 1 && frames[1].y < frames[0].y; },
  get root() { return frames[0]; },
  neighbour(step) {
    const row = frames.filter((frame) => frame.shown && frame.row === focused.row);
    return row[row.indexOf(focused) + step];
  },
  child: () => frames.slice(focused.index + 1, focused.end).find((frame) => frame.shown),
  caller: () => below(focused)
};
const nextHit = (step) => nextMatch(search.hits.filter((frame) => frame.shown), focused, step);
function onGraphKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const opens = event.key === "Enter" || event.key === " ", step = {n: 1, N: -1}[event.key], to = step ? () => nextHit(step) : led(event.key, walked);
  if (!opens && !to) return;
  event.preventDefault();
  if (opens) open(focused, true); else focusFrame(to(), true);
}
const KEYS = "arrows, Home: walk · Enter, click: zoom · Escape: back · /: search · n, N: next and previous match · Ctrl-C: copy a stack";
function onKey(event) {
  const mine = alone || svg.contains(event.target);
  const typing = event.target === input;
  if (mine && event.key === "f" && (event.ctrlKey || event.metaKey) || mine && event.key === "/" && !typing) {
    event.preventDefault();
    input.focus({preventScroll: true});
    input.select();
  } else if (mine && event.key === "Escape") {
    if (search.term !== "") {
      input.value = "";
      changeSearch();
    } else if (zoomed !== 0) {
      zoom(frames[0]);
    }
    if (typing) focusFrame(focused, false);
  } else if (typing && event.key === "Enter") {
    focusFrame(nextHit(event.shiftKey ? -1 : 1) || focused, true);
  } else if (mine && event.key === "?" && !typing && details) {
    details.textContent = fit(penIn(fontOf(details)), KEYS, svg.getBoundingClientRect().width - 2 * MARGIN);
    if (legend) legend.style.display = "none";
  } else if (alone && !typing && event.target === svg) {
    onGraphKey(event);
  }
}

// Ctrl-C on a frame copies its stack, root first.
function onCopy(event) {
  if (document.activeElement !== focused.g || String(getSelection()) !== "") return;
  const names = pathTo(focused).slice(1).map(({ownName}) => ownName);
  event.clipboardData.setData("text/plain", names.join("\n"));
  event.preventDefault();
}
