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

// Frames stand in depth-first order; `end` is the index behind the last one above or below a frame.
const frames = [], frameOf = new WeakMap();
const rowHeight = Number(graph.dataset.row);
[...graph.children].forEach((g, at) => { g.id_ = at; });
function readFrames() {
  const open = [];
  frames.length = 0;
  for (const g of graph.children) {
    const rect = g.querySelector("rect");
    const lines = g.querySelector("title").textContent.split("\n");
    const y = Number(rect.getAttribute("y"));
    const frame = {
      g, rect, text: g.querySelector("text"), lines, name: lines[0], label: g.dataset.n ?? lines[0], more: "more" in g.dataset, id: g.id_, y, index: frames.length, folded: g.dataset.f?.split("\n").map((line) => { const [kind, label, name] = line.split("\t"); return [kind, label, name ?? label]; }),
      x: parseFloat(rect.getAttribute("x")), w: parseFloat(rect.getAttribute("width")), hit: false, shown: true
    };
    frame.level = frames.length ? Math.round(Math.abs(y - frames[0].y) / rowHeight) : 0;
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

// Opens a folded box: a box for each of its frames, and what stands on it moves up. Returns the first.
function unfold(frame) {
  const {g, folded, lines, index, end} = frame, down = frames.length > 1 && frames[1].y > frames[0].y ? 1 : -1, far = (folded.length - 1) * rowHeight;
  const move = (one, by) => { for (const part of [one.rect, one.text]) part?.setAttribute("y", Number(part.getAttribute("y")) + by); };
  for (let at = index + 1; at < end; at++) move(frames[at], down * far);
  folded.forEach(([kind, label, name], at) => {
    const made = g.cloneNode(true);
    made.setAttribute("class", kind);
    for (const key of ["data-f", "data-n"]) made.removeAttribute(key);
    if (name !== label) made.setAttribute("data-n", label);
    made.querySelector("title").textContent = name + "\n" + lines[1];
    made.querySelector("rect").setAttribute("y", frame.y + down * at * rowHeight);
    made.querySelector("text")?.remove();
    made.id_ = g.id_;
    graph.insertBefore(made, g);
  });
  g.remove();
  readFrames();
  const over = down < 0 ? Math.max(0, -Math.min(...frames.map(({y}) => y))) : Math.max(0, Math.max(...frames.map(({y}) => y)) + rowHeight - graphHeight);
  if (over > 0) {
    graphHeight += over;
    if (down < 0) for (const one of frames) move(one, over);
    readFrames();
  }
  return frames[index];
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
  const [label, share] = labelOf(penIn(font), frame.label, width - 2 * PAD, shareText(frame), frame.parent && shareText(frame.parent), SHARE_GAP);
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
    frame.shown = (above || inside) && w * width > 0.3 && frame.y >= cut;  // a row in two has half a name
    frame.g.style.display = frame.shown ? "" : "none";
    if (!frame.shown) continue;
    frame.rect.setAttribute("x", (x * 100).toFixed(4) + "%");
    frame.rect.setAttribute("width", (w * 100).toFixed(4) + "%");
    frame.g.classList.toggle("up", above);
    labelFrame(frame, x * width, w * width, font);
  }
  reset.hidden = zoomed === 0;
}
