// Finds the visible boxes of a graph, and paints them.
import {bisector} from "d3-array";
import {axisOf} from "./axis.js";
import {fitName, textWidth} from "../shared/labels.js";
import {labelOf, pathTo, placed} from "../shared/zoom.js";
import {count} from "./tools.js";

export const ROW = 19;
const NARROW = 1, LETTERS = 24, BASELINE = 13.5, PAD = 4, SHARE_GAP = 7, TICK_ROOM = 110;
const endOf = bisector((node) => node.x + node.total);

// Calls box(node, left, width, top) and run(caller, first kid, behind the last, left, width, top) for all visible ones;
// a run is several kids that are too narrow to be painted one by one. all: in rows that are scrolled out of sight, too.
export function visit(graph, width, height, box, run, all = false) {
  const {tree, from, to, rootBelow} = graph, span = Math.max(to - from, 1e-9), scale = width / span, todo = [tree.root];
  // A row that the far end of the graph would cut has half a name.
  const inSight = (top) => rootBelow ? top >= 0 && top < height : top > -ROW && top + ROW - 1 <= height;
  while (todo.length) {
    const node = todo.pop(), [left, wide] = placed(node.x, node.total, from, span), top = graph.top(node.depth);
    if (all || inSight(top)) box(node, left * width, wide * width, top);
    const above = graph.top(node.depth + 1);
    if (!all && (rootBelow ? above < 0 : above + ROW - 1 > height)) continue;
    const kids = tree.kids(node);
    for (let at = endOf.right(kids, from); at < kids.length && kids[at].x < to; at++) {
      if (kids[at].total * scale >= NARROW) {
        todo.push(kids[at]);
        continue;
      }
      const first = at, x = kids[at].x;
      while (at + 1 < kids.length && kids[at + 1].x < to && kids[at + 1].total * scale < NARROW && (kids[at + 1].x - kids[at].x - kids[at].total) * scale < NARROW) at++;
      if (inSight(above)) run(node, first, at + 1, (x - from) * scale, (kids[at].x + kids[at].total - x) * scale, above);
    }
  }
}

class Painter {
  constructor(graph, width, height) {
    const {pen, context, tree, zoomed} = graph;
    Object.assign(this, {graph, pen, context, tree, width, height, ink: context.ink(), outlines: [], ancestors: new Set(pathTo(zoomed))});
  }
  paint() {
    const {graph, pen, width, height} = this, kept = [];
    pen.clearRect(0, 0, width, height);
    pen.font = this.context.font;
    pen.textBaseline = "alphabetic";
    const paint = (depth, part) => { if (depth < graph.kept) kept.push(part); else part(); };
    visit(graph, width, height, (node, ...where) => paint(node.depth, () => this.box(node, ...where)), (node, ...run) => paint(node.depth + 1, () => this.run(node, ...run)));
    // Painted last, over the rows that are scrolled below them.
    const edge = graph.top(graph.rootBelow ? graph.kept - 1 : 0);
    pen.clearRect(0, edge - 1, width, graph.kept * ROW + 1);
    for (const part of kept) part();
    pen.globalAlpha = 1;
    for (const outline of this.outlines) this.outline(...outline);
    const {band} = graph.drag;
    if (!band) return;
    pen.fillStyle = this.context.focus();
    pen.globalAlpha = 0.25;
    pen.fillRect(band[0] * width, 0, (band[1] - band[0]) * width, height);
    pen.globalAlpha = 1;
  }
  box(node, left, wide, top) {
    const {pen, context, graph, ink} = this, start = Math.max(left, 0), room = Math.min(left + wide, this.width) - start;
    const above = node.depth < graph.zoomed.depth && this.ancestors.has(node);
    // Only the box is paler: its text stays as legible as others.
    pen.globalAlpha = above ? 0.55 : context.faded(node) ? 0.3 : 1;
    pen.fillStyle = context.color(node, this.tree);
    pen.fillRect(start, top, Math.max(room - (wide > 3 ? 1 : 0), 0.5), ROW - 1);
    pen.globalAlpha = 1;
    // A tower that goes on above the rows that there are.
    if (top < 1 && room > 2 && graph.rootBelow && graph.holder.scrollTop < 1 && this.tree.kids(node).length) {
      pen.fillStyle = ink;
      pen.fillRect(start, top, room, 2);
    }
    if (node === this.tree.root && this.tree.timed) this.axis(top);
    else if (room > LETTERS) this.label(node, start, room, top);
    if (!above && context.hit(node) && wide > 2) this.outline(start, top, room, context.mark(), 1.5);
    if (node === graph.hovered) this.outlines.push([start, top, room, ink, 1]);
    if (node === graph.focused && document.activeElement === graph.canvas) this.outlines.push([start, top, room, context.focus(), 2]);
  }
  run(node, first, end, left, wide, top) {
    const {pen, context} = this, kids = this.tree.kids(node), start = Math.max(left, 0), room = Math.min(left + wide, this.width) - start;
    let hit = false;
    for (let at = first; at < end && !hit; at++) hit = context.hit(kids[at]);
    pen.globalAlpha = context.searching() && !hit ? 0.3 : 1;
    pen.fillStyle = hit ? context.mark() : context.plain();
    pen.fillRect(start, top, Math.max(room, 0.5), ROW - 1);
    if (room > 90 && end - first > 1 && !hit) this.faint(fitName(pen, `${count(end - first)} narrow frames`, room - 2 * PAD), start + PAD, top);
  }
  // The row of all is the axis of a flame chart.
  axis(top) {
    const {pen, graph: {from, to}, tree: {range: [begin]}, width} = this;
    pen.fillStyle = this.ink;
    for (const [time, text] of axisOf(begin + from, begin + to, Math.max(2, Math.floor(width / TICK_ROOM)))) {
      const x = (time - begin - from) / (to - from) * width;
      pen.fillRect(Math.min(x, width - 1), top, 1, 5);
      if (x + textWidth(pen, text) + PAD < width) pen.fillText(text, x + PAD, top + BASELINE);
    }
  }
  // At the box's beginning, or at the edge of the view.
  label(node, start, wide, top) {
    const {pen, context, tree} = this, callers = node.parent && context.share(node.parent, tree);
    const [text, share] = labelOf(pen, context.name(node), wide - 2 * PAD, context.share(node, tree), callers, SHARE_GAP);
    if (!text) return;
    pen.fillStyle = this.ink;
    pen.fillText(text, start + PAD, top + BASELINE);
    if (share) this.faint(share, start + PAD + textWidth(pen, text) + SHARE_GAP, top);
  }
  faint(text, x, top) {
    const {pen} = this;
    pen.fillStyle = this.ink;
    pen.globalAlpha = this.context.shareAlpha();
    pen.fillText(text, x, top + BASELINE);
  }
  outline(left, top, wide, color, line) {
    const {pen} = this;
    pen.strokeStyle = color;
    pen.lineWidth = line;
    pen.strokeRect(left + line / 2, top + line / 2, Math.max(wide - 1 - line, 0.5), ROW - 1 - line);
  }
}
export function paintGraph(graph, width, height) { new Painter(graph, width, height).paint(); }
