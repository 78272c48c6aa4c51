// Hover, search, and the state in the address.
const legend = svg.querySelector(".legend"), details = svg.querySelector(".details");
function describe(frame) {
  if (!details) return;
  const room = svg.getBoundingClientRect().width - 2 * MARGIN;
  details.textContent = frame ? fit(penIn(fontOf(details)), frame.lines[1] + (frame.lines[2] ? ", " + frame.lines[2] : "") + " – " + frame.name, room) : "";
  if (legend) legend.style.display = frame ? "none" : "";
}

const search = {term: "", exact: false, hits: []};
function find() {
  const {test, note} = matcher(search.term, search.exact);
  const hits = new Set();
  let share = 0, covered = 0, hidden = false;
  for (const frame of frames) {
    // Frames that are not drawn are in a gathered box; in one that is not below a match there may be more matches.
    hidden = hidden || frame.more && frame.index >= covered;
    if (test === null || frame.more || !test(frame.ownLabel)) continue;
    hits.add(shownFor(frame));
    // A sample counts once, however often the name is in its stack.
    if (frame.index >= covered) {
      share += frame.w;
      covered = frame.end;
    }
  }
  for (const frame of frames) frame.g.classList.toggle("hit", hits.has(frame));
  search.hits = frames.filter((frame) => hits.has(frame));
  svg.classList.toggle("searching", test !== null);
  found.textContent = boxesText(search.hits.length);
  result.textContent = test ? matchText(share, 100, note, hidden, hidden ? "no match in the frames drawn" : "no match") : "";
}

// The state is in the address after "#", so that a link or a reload shows the same view. In a page with other things
// in it the keys carry the picture's id, and an address that is not ours is left alone.
const prefix = alone ? "" : svg.id + ".";
function saveState() {
  const hash = location.hash.slice(1);
  if (!alone && hash !== "" && !hash.includes("=")) return;
  const state = new URLSearchParams(hash);
  const put = (key, value) => value ? state.set(prefix + key, value) : state.delete(prefix + key);
  put("z", zoomed || "");
  put("s", search.term);
  put("c", search.exact ? "1" : "");
  try {
    history.replaceState(history.state, "", "#" + state);
  } catch { /* a sandboxed frame has no address of its own */ }
}
function loadState() {
  const state = new URLSearchParams(location.hash.slice(1));
  const wanted = Number(state.get(prefix + "z"));
  zoomed = wanted in frames ? wanted : 0;
  for (const frame of pathTo(frames[zoomed])) if (frames[zoomed].hidden && frame.folded) unfold(frame);
  search.term = state.get(prefix + "s") || "";
  search.exact = state.get(prefix + "c") === "1";
  input.value = search.term;
  exact.setAttribute("aria-pressed", search.exact);
  find();
  layOut();
}

let focused = frames[0];
function focusFrame(frame, scroll) {
  if (!frame || !frame.shown) return;
  focused.g.setAttribute("tabindex", "-1");
  focused = frame;
  frame.g.setAttribute("tabindex", "0");
  frame.g.focus({preventScroll: true});
  if (scroll) bringIntoSight(frame);
}
// The header follows scrolling. At once, too: a browser shows the box that a letter is typed into, and the header's next
// event may come after that letter.
const followScroll = () => header.setAttribute("transform", `translate(0 ${scrollY})`);
function scrollOn(far) {
  scrollBy(0, far);
  followScroll();
}
// Out from under the header. Not by scroll-padding: that would move the page at each letter
// typed into the header.
function bringIntoSight(frame) {
  if (!alone) return frame.rect.scrollIntoView({block: "nearest"});
  const {top, bottom} = frame.rect.getBoundingClientRect(), low = bottom + PAD - innerHeight;
  if (top < HEAD + lower) scrollOn(top - HEAD - lower); else if (low > 0) scrollOn(low);
}
// Zooms; of frames that only lead on, shows each.
function open(frame, scroll) {
  if (!frame.folded) {
    focusFrame(frame, false);
    return zoom(frame);
  }
  const grown = graphHeight;
  unfold(frame);
  find();
  layOut();
  if (alone && walked.rootBelow) scrollOn(graphHeight - grown);
  focusFrame(frame, scroll);
}
function zoom(frame) {
  zoomed = frame.index;
  draw();
  fitHeads();
  saveState();
}
function changeSearch() {
  search.term = input.value;
  find();
  fitHeads();
  saveState();
}
