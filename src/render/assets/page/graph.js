// A tree on a canvas. Only visible boxes are made and painted, so neither depth nor number of frames has a limit.
import {THREAD} from "./data.js";
import {Drag} from "./drag.js";
import {ROW, paintGraph, visit} from "./paint.js";
import {led} from "../shared/zoom.js";
import {element} from "./tools.js";

const MOST_PRINTED = 4000, MOST_KEPT = 3;

export class Graph {
  // `on` has the callbacks hover(spot, event or none), focus(node), zoom(), rows(), key(event, node) and menu(node, event). A spot is a node,
  // or several too narrow to paint: {node: their caller, kids, x, total}. Roots stand at the holder's bottom, or at its top.
  constructor(holder, label, context, on) {
    Object.assign(this, {holder, context, on, rows: 1, tree: null, zoomed: null, focused: null, hovered: null, rootBelow: false, from: 0, to: 1});
    this.spacer = element(holder, "div", {class: "spacer"});
    this.canvas = element(this.spacer, "canvas", {tabindex: "0", role: "application", "aria-roledescription": "flame graph",
      "aria-label": label + ". Arrow keys walk from frame to frame, Enter zooms, Escape shows everything, the menu key has more."});
    this.pen = this.canvas.getContext("2d");
    this.drag = new Drag(this);
    this.frame = this.moving = 0;
    // A holder that becomes lower keeps the rows nearest the root.
    this.far = this.height = 0;
    holder.addEventListener("scroll", () => { if (holder.clientHeight === this.height) this.far = this.scrolled; this.paintSoon(); });
    new ResizeObserver(() => {
      if (holder.clientHeight !== this.height) this.scrolled = this.far;
      this.height = holder.clientHeight;
      this.paintSoon();
    }).observe(holder);
    const {canvas} = this;
    canvas.addEventListener("mousemove", (event) => this.hover(event));
    canvas.addEventListener("mouseleave", () => { this.hovered = null; on.hover(null); this.paintSoon(); });
    canvas.addEventListener("click", (event) => this.click(event));
    canvas.addEventListener("contextmenu", (event) => this.menu(event));
    canvas.addEventListener("wheel", (event) => this.wheel(event), {passive: false});
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("focus", () => this.paintSoon());
    canvas.addEventListener("blur", () => this.paintSoon());
  }
  show(tree, rootBelow, address = "") {
    const zoomed = tree.at(address);
    Object.assign(this, {tree, rootBelow, zoomed, focused: zoomed, hovered: null, from: zoomed.x, to: zoomed.x + zoomed.total});
    this.goal = [this.from, this.to];
    this.kept = this.rowsToKeep();
    this.canvas.style.touchAction = tree.timed ? "pan-y" : "";
    cancelAnimationFrame(this.moving);
    this.measure();
    // The heaviest path is in sight up to its end, but not without what the answer names; the rows to keep always are.
    const [first, last] = tree.opening?.(zoomed, this.context.named()) ?? [null, 0], high = last + 2 - Math.floor(this.holder.clientHeight / ROW);
    const far = Math.max(0, Math.min(high, first === null ? high : first - this.kept)) * ROW;
    this.scrolled = this.far = far;
    this.paintSoon();
  }
  // The same boxes in another detail: what is in sight stays.
  exchange(tree) {
    const same = ({x, total, depth}) => tree.nearest(x + total / 2, depth), {zoomed, focused} = this;
    Object.assign(this, {tree, zoomed: same(zoomed), focused: same(focused), hovered: null});
    this.measure();
    this.paintSoon();
  }
  // As high as what is in sight, or will be after the movement.
  measure() {
    const {scrolled} = this;
    this.rows = this.tree.rowsIn(...this.goal);
    this.spacer.style.height = this.rows * ROW + "px";
    this.scrolled = scrolled;
    if (this.whole) this.on.rows?.();
  }
  get high() { return this.rows * ROW; }
  // The root's row and those of processes and threads stay in sight while the others scroll.
  rowsToKeep() {
    const {tree} = this, {kind} = tree.profile.functions, heaviest = (kids) => kids.reduce((a, b) => b.total > a.total ? b : a);
    let rows = 1;
    for (let kids = tree.kids(tree.root); rows < MOST_KEPT && kids.length && !tree.up; rows++) {
      const kid = heaviest(kids);
      if (kind[kid.fn] !== THREAD) break;
      kids = tree.kids(kid);
    }
    return rows;
  }
  // Opens a folded box.
  unfold(box) {
    const first = this.tree.unfold(box);
    if (this.zoomed === box) this.zoomed = first;
    this.measure();
    this.focus(first);
  }
  // Pixels scrolled from the root's end; set by whole rows, since the root's row would cut a part of one.
  get scrolled() { return this.rootBelow ? this.holder.scrollHeight - this.holder.scrollTop - this.holder.clientHeight : this.holder.scrollTop; }
  set scrolled(far) {
    const all = this.holder.scrollHeight - this.holder.clientHeight, most = all - all % ROW;
    this.holder.scrollTop = this.rootBelow ? all - Math.min(far, most) : Math.min(far, most);
  }
  get whole() { return this.goal[0] <= 0 && this.goal[1] >= this.tree.root.total; }
  zoom(node) {
    this.zoomed = this.focused = node;
    this.moveTo(node.x, node.x + node.total);
  }
  zoomRange(from, to, at = this.tree.root) {
    this.zoomed = at;
    this.moveTo(from, to);
  }
  moveTo(from, to) {
    const start = performance.now(), old = [this.from, this.to];
    this.goal = [from, to];
    this.measure();
    cancelAnimationFrame(this.moving);
    const step = (now) => {
      const part = Math.min((now - start) / 160, 1), ease = 1 - (1 - part) ** 3;
      this.from = part < 1 ? old[0] + (from - old[0]) * ease : from;
      this.to = part < 1 ? old[1] + (to - old[1]) * ease : to;
      this.paint();
      if (part < 1) this.moving = requestAnimationFrame(step);
    };
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      Object.assign(this, {from, to});
      this.paintSoon();
    } else {
      this.moving = requestAnimationFrame(step);
    }
    this.on.zoom(this);
  }
  // For paper all rows, up to a limit; afterwards again the visible ones.
  print(on) {
    if (!this.tree || this.holder.clientWidth === 0) return;
    this.holder.style.height = on ? Math.min(this.rows * ROW, MOST_PRINTED) + "px" : "";
    if (on && this.rootBelow) this.holder.scrollTop = this.rows * ROW;
    this.paint();
  }
  paintSoon() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => { this.frame = 0; this.paint(); });
  }
  top(depth) {
    const lift = this.rootBelow ? Math.max(this.holder.clientHeight - this.rows * ROW, 0) : 0;
    const top = (this.rootBelow ? this.rows - 1 - depth : depth) * ROW + lift - this.holder.scrollTop;
    if (depth >= this.kept) return top;
    return this.rootBelow ? Math.min(top, this.holder.clientHeight - ROW * (depth + 1)) : Math.max(top, ROW * depth);
  }
  paint() {
    const {holder, canvas, pen} = this, width = holder.clientWidth, height = holder.clientHeight, ratio = devicePixelRatio || 1;
    if (width === 0 || height === 0 || !this.tree) return;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = width + "px";
      canvas.style.height = height + "px";
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    paintGraph(this, width, height);
  }
  spot(event) {
    const area = this.canvas.getBoundingClientRect(), x = event.clientX - area.left, y = event.clientY - area.top;
    const over = (left, wide, top) => x >= left && x < left + wide && y >= top && y < top + ROW;
    let found = null;
    // What is kept in sight lies over what is scrolled below it.
    visit(this, area.width, area.height, (node, left, wide, top) => { if (over(left, wide, top) && !(found && node.depth >= this.kept)) found = {node}; },
      (node, first, end, left, wide, top) => { if (over(left, wide, top) && !(found && node.depth + 1 >= this.kept)) found = {node, kids: this.tree.kids(node).slice(first, end)}; });
    return found;
  }
  hover(event) {
    const spot = this.spot(event), node = spot && !spot.kids ? spot.node : null;
    this.canvas.style.cursor = spot ? "pointer" : "";
    if (node !== this.hovered) this.paintSoon();
    this.hovered = node;
    this.on.hover(spot, event);
  }
  click(event) {
    const spot = this.spot(event);
    if (!spot || this.drag.taken()) return;
    this.on.hover(spot);  // what moves away now needs no word beside the pointer
    if (!spot.kids) {
      if (spot.node.closed) return this.unfold(spot.node);
      this.on.focus(spot.node);
      return this.zoom(spot.node);
    }
    // Zooms to all of the narrow frames, or, of many, to those near the pointer.
    const first = spot.kids[0].x, last = spot.kids[spot.kids.length - 1], end = last.x + last.total, span = (this.to - this.from) / 16;
    if (end - first < span * 2) return this.zoomRange(first, end, spot.node);
    const area = this.canvas.getBoundingClientRect(), at = this.from + (event.clientX - area.left) / area.width * (this.to - this.from);
    const from = Math.max(first, Math.min(at - span / 2, end - span));
    this.zoomRange(from, from + span, spot.node);
  }
  menu(event) {
    const keyed = event.button < 0 || event.clientX === 0 && event.clientY === 0, spot = keyed ? {node: this.focused} : this.spot(event);
    if (!spot || spot.kids) return;
    event.preventDefault();
    this.focused = spot.node;
    this.on.focus(spot.node);
    this.paintSoon();
    this.on.menu(spot.node, event);
  }
  // With Ctrl the wheel zooms where the pointer is, with Shift it moves sideways.
  wheel(event) {
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (!this.tree || !event.ctrlKey && !(sideways && !this.whole)) return;
    event.preventDefault();
    const area = this.canvas.getBoundingClientRect(), part = (event.clientX - area.left) / area.width, all = this.tree.root.total;
    const span = this.to - this.from, wanted = event.ctrlKey ? Math.min(span * 1.002 ** event.deltaY, all) : span;
    const shift = event.ctrlKey ? 0 : (event.deltaX || event.deltaY) / area.width * span;
    const from = Math.max(0, Math.min(this.from + (span - wanted) * part + shift, all - wanted));
    cancelAnimationFrame(this.moving);
    Object.assign(this, {from, to: from + wanted, zoomed: this.tree.root, goal: [from, from + wanted]});
    this.measure();
    this.paintSoon();
    this.on.zoom(this);
  }
  neighbour(step) {
    const row = [], {focused} = this;
    visit(this, this.holder.clientWidth, Infinity, (node) => { if (node.depth === focused.depth) row.push(node); }, () => {});
    row.sort((a, b) => a.x - b.x);
    return row[row.indexOf(focused) + step];
  }
  // The boxes that a search found and that are wide enough to be seen, in any row, from the left.
  matching() {
    const found = [];
    if (this.tree) visit(this, this.holder.clientWidth, Infinity, (node) => { if (this.context.hit(node)) found.push(node); }, () => {}, true);
    return found.sort((a, b) => a.x - b.x || a.depth - b.depth);
  }
  get root() { return this.tree.root; }
  caller() { return this.focused.parent; }
  child() {
    const kids = this.tree.kids(this.focused);
    return kids.find((kid) => kid.x + kid.total > this.from && kid.x < this.to);
  }
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const to = led(event.key, this);
    if (event.key === "Enter" || event.key === " ") if (this.focused.closed) this.unfold(this.focused); else this.zoom(this.focused);
    else if (event.key === "Escape" && !this.whole) this.zoom(this.tree.root);
    else if (to) this.focus(to());
    else return this.on.key(event, this.focused);
    event.preventDefault();
  }
  // A key that was pressed elsewhere.
  take(event) {
    this.key(event);
    if (event.defaultPrevented) this.canvas.focus({preventScroll: true});
  }
  focus(node) {
    if (!node) return;
    this.focused = node;
    const top = this.top(node.depth), over = node.depth < this.kept ? 0 : this.kept * ROW, [high, low] = this.rootBelow ? [0, over] : [over, 0];
    if (top < high) this.holder.scrollTop += top - high;
    if (top + ROW + low > this.holder.clientHeight) this.holder.scrollTop += top + ROW + low - this.holder.clientHeight;
    this.paintSoon();
    this.on.focus(node);
  }
}
