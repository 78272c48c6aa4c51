// The flame graph's own script. The picture is complete without it: this adds zoom, search and keys. It finds its
// picture by where it stands, so that several can share a page, and needs no ids, no network and no eval. The files of
// this folder stand in one function of their own, in the order of meson.build.
"use strict";
const svg = document.currentScript.parentNode;
const graph = svg.querySelector(".frames");
const SVG = "http://www.w3.org/2000/svg", HTML = "http://www.w3.org/1999/xhtml";
const alone = document.documentElement === svg;
const HEAD = 100, MARGIN = 12, PAD = 3, SHARE_GAP = 7;

function add(parent, namespace, name, attributes, text) {
  const element = document.createElementNS(namespace, name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (text) element.textContent = text;
  parent.appendChild(element);
  return element;
}

// Frames stand in depth-first order; `end` is the index behind the last one above or below a frame. `folded` is what a box
// for several frames is when it has been opened, and `hidden` are those that are folded into the one below them.
const frames = [], frameOf = new WeakMap(), rowHeight = Number(graph.dataset.row);
function readFrames() {
  const open = [], root = Number(graph.querySelector("rect").getAttribute("y"));
  for (const g of graph.children) {
    const rect = g.querySelector("rect"), lines = g.querySelector("title").textContent.split("\n"), y = Number(rect.getAttribute("y")), {n, f, l} = g.dataset;
    const frame = {
      g, rect, text: g.querySelector("text"), lines, name: lines[0], label: n ?? lines[0], more: "more" in g.dataset, y, index: frames.length, folded: f?.split("\n"),
      x: parseFloat(rect.getAttribute("x")), w: parseFloat(rect.getAttribute("width")), hidden: g.classList.contains("in"), shown: true
    };
    [frame.ownLabel, frame.ownName] = frame.folded?.slice(1) ?? [frame.label, frame.name];
    frame.level = Number(l ?? Math.round(Math.abs(y - root) / rowHeight));
    while (open.length > frame.level) open.pop().end = frames.length;
    frame.parent = open[open.length - 1];
    open.push(frame);
    frames.push(frame);
    frameOf.set(g, frame);
    g.setAttribute("role", "treeitem");
    g.setAttribute("aria-level", frame.level + 1);
    g.setAttribute("tabindex", "-1");
  }
  while (open.length) open.pop().end = frames.length;
  graph.setAttribute("role", "tree");
  graph.setAttribute("aria-label", "Flame graph");
}
// What a frame stands on, or is folded into.
const below = ({parent}) => parent?.hidden ? below(parent) : parent;
const shownFor = (frame) => frame.hidden ? below(frame) : frame;

// Opens a folded box: what was folded into it has rows of its own, and what stands on it moves up.
function unfold(frame) {
  const {g, index, end, folded: [kind, label, ...lines]} = frame, inside = new Set([frame]);
  for (const one of frames.slice(index + 1, end)) {
    if (!one.hidden || !inside.has(one.parent)) continue;
    one.hidden = false;
    one.g.classList.remove("in");
    inside.add(one);
  }
  g.setAttribute("class", kind);
  Object.assign(frame, {folded: undefined, lines, name: lines[0], label});
  g.querySelector("title").textContent = lines.join("\n");
  placeRows();
}
function placeRows() {
  const {rootBelow} = walked;
  for (const frame of frames) frame.row = frame.parent ? frame.parent.row + (frame.hidden ? 0 : 1) : 0;
  const last = frames.reduce((most, {row}) => Math.max(most, row), 0);
  graphHeight = (last + 1) * rowHeight;
  for (const frame of frames) {
    const by = (rootBelow ? last - frame.row : frame.row) * rowHeight - frame.y;
    frame.y += by;
    for (const part of [frame.rect, frame.text]) part?.setAttribute("y", Number(part.getAttribute("y")) + by);
  }
}

// Text is measured, since the reader's fonts may differ from those that the picture was made for.
const pen = document.createElementNS(HTML, "canvas").getContext?.("2d") ?? {measureText: (text) => ({width: Array.from(text).length * 7.3})};
function penIn(font) {
  pen.font = font;
  return pen;
}
function fontOf(element) {
  const style = getComputedStyle(element);
  return `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
}

// Where two profiles are compared the tooltip has the change first.
const shareText = ({lines, w}) => /^(?:self )?([+−][^:]*):/.exec(lines[1] ?? "")?.[1] ?? roundShare(w, 100);
let zoomed = 0, graphWidth = 1176;
function labelFrame(frame, x, width, font) {
  const [label, share] = labelOf(penIn(font), frame.label, width - 2 * PAD, shareText(frame), frame.parent && shareText(below(frame)), SHARE_GAP);
  if (!label) {
    if (frame.text) frame.text.textContent = "";
    return;
  }
  if (!frame.text) frame.text = add(frame.g, SVG, "text", {y: frame.y + rowHeight - 5});
  frame.text.setAttribute("x", x + PAD);
  frame.text.textContent = label;
  if (share) add(frame.text, SVG, "tspan", {class: "pc", dx: SHARE_GAP}, share);
}
function draw() {
  const view = frames[zoomed];
  const font = fontOf(graph), width = graphWidth;
  for (const frame of frames) {
    const above = frame.index < zoomed && frame.end > zoomed;
    const inside = frame.index >= zoomed && frame.index < view.end;
    const [x, w] = above ? [0, 1] : placed(frame.x, frame.w, view.x, view.w);
    frame.shown = (above || inside) && !frame.hidden && w * width > 0.3 && frame.y >= cut;  // a row in two has half a name
    frame.g.style.display = frame.shown ? "" : "none";
    if (!frame.shown) continue;
    frame.rect.setAttribute("x", (x * 100).toFixed(4) + "%");
    frame.rect.setAttribute("width", (w * 100).toFixed(4) + "%");
    frame.g.classList.toggle("up", above);
    labelFrame(frame, x * width, w * width, font);
  }
  reset.hidden = zoomed === 0;
}
