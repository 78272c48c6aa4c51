// A tree on a canvas. Only the rows in sight are painted, so neither depth nor number of frames has a limit of its own.
const ROW = 19;

class Graph {
  // rootBelow: flames; else icicles. settle: flames that leave room stand at the bottom of it. `on` is told of
  // hover(node, event), focus(node) and select(node).
  constructor(holder, label, context, on, settle = false) {
    Object.assign(this, {holder, context, on, settle, tree: new Tree(), zoomed: 0, focused: 0, hovered: -1, rootBelow: false});
    this.spacer = element(holder, "div", {class: "spacer"});
    this.canvas = element(this.spacer, "canvas", {tabindex: "0", role: "application", "aria-roledescription": "flame graph",
      "aria-label": label + ". Arrow keys walk from frame to frame, Enter zooms, Escape shows everything."});
    this.pen = this.canvas.getContext("2d");
    this.frames = 0;
    holder.addEventListener("scroll", () => this.paintSoon());
    new ResizeObserver(() => this.paintSoon()).observe(holder);
    this.canvas.addEventListener("mousemove", (event) => this.hover(event));
    this.canvas.addEventListener("mouseleave", () => { this.hovered = -1; on.hover(-1); this.paintSoon(); });
    this.canvas.addEventListener("click", (event) => this.click(event));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("focus", () => this.paintSoon());
    this.canvas.addEventListener("blur", () => this.paintSoon());
  }
  show(tree, rootBelow, zoomed = 0) {
    Object.assign(this, {tree, rootBelow, zoomed: zoomed < tree.size ? zoomed : 0, focused: 0, hovered: -1});
    this.focused = this.zoomed;
    this.spacer.style.height = tree.rows * ROW + "px";
    this.holder.scrollTop = rootBelow ? tree.rows * ROW : 0;
    this.paintSoon();
  }
  zoom(node) {
    this.zoomed = this.focused = node;
    this.paintSoon();
    this.on.select(node);
  }
  paintSoon() {
    if (this.frames) return;
    this.frames = requestAnimationFrame(() => { this.frames = 0; this.paint(); });
  }
  top(node) {
    const depth = this.tree.depth[node];
    const lift = this.settle ? Math.max(this.holder.clientHeight - this.tree.rows * ROW, 0) : 0;
    return (this.rootBelow ? this.tree.rows - 1 - depth : depth) * ROW + lift - this.holder.scrollTop;
  }
  // Calls back with every node in sight: (node, left, width, above the zoomed one).
  visit(width, visitor) {
    const {tree, zoomed} = this;
    if (tree.size === 0) return;
    const from = tree.x[zoomed], scale = width / (tree.total[zoomed] || 1), to = from + tree.total[zoomed];
    for (let node = 0; node < tree.size;) {
      const above = node < zoomed && tree.end[node] > zoomed;
      if (above) {
        visitor(node, 0, width, true);
        node++;
        continue;
      }
      const outside = node < zoomed || node >= tree.end[zoomed] || tree.x[node] >= to;
      const wide = tree.total[node] * scale;
      if (!outside) visitor(node, (tree.x[node] - from) * scale, wide, false);
      node = outside || wide < 0.4 ? tree.end[node] : node + 1;
    }
  }
  paint() {
    const {canvas, pen, holder, tree, context} = this;
    const width = holder.clientWidth, height = holder.clientHeight, ratio = devicePixelRatio || 1;
    if (width === 0 || height === 0) return;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = width + "px";
      canvas.style.height = height + "px";
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = context.font;
    pen.textBaseline = "alphabetic";
    const ink = context.ink();
    this.visit(width, (node, left, wide, above) => {
      const top = this.top(node);
      if (top < -ROW || top > height) return;
      const fn = tree.fn[node], gap = wide > 3 ? 1 : 0;
      pen.globalAlpha = above ? 0.55 : context.faded(fn) ? 0.3 : 1;
      pen.fillStyle = context.color(fn);
      pen.fillRect(left, top, Math.max(wide - gap, 0.4), ROW - 1);
      if (wide > 24) this.label(node, left, wide, top, ink);
      if (!above && context.hit(fn) && wide > 2) this.outline(left, top, wide, context.mark(), 1.5);
    });
    pen.globalAlpha = 1;
    for (const [node, color, line] of [[this.hovered, ink, 1], [document.activeElement === canvas ? this.focused : -1, context.focus(), 2]]) {
      const box = node >= 0 && this.box(node);
      if (box) this.outline(box.left, box.top, box.width, color, line);
    }
  }
  outline(left, top, wide, color, line) {
    const {pen} = this;
    pen.strokeStyle = color;
    pen.lineWidth = line;
    pen.strokeRect(left + line / 2, top + line / 2, Math.max(wide - 1 - line, 0.5), ROW - 1 - line);
  }
  label(node, left, wide, top, ink) {
    const {pen, tree, context} = this;
    const start = Math.max(left, 0), room = Math.min(left + wide, this.holder.clientWidth) - start - 8;
    const name = context.name(tree.fn[node]), text = fitText(pen, name, room);
    if (!text) return;
    pen.fillStyle = ink;
    pen.fillText(text, start + 4, top + 13.5);
    const share = " " + percent(tree.total[node], context.all());
    const used = textWidth(pen, text);
    if (text === name && used + textWidth(pen, share) < room) {
      pen.globalAlpha *= 0.65;
      pen.fillText(share, start + 4 + used, top + 13.5);
    }
  }
  box(node) {
    let found = null;
    this.visit(this.holder.clientWidth, (seen, left, width) => { if (seen === node) found = {left, width, top: this.top(node)}; });
    return found;
  }
  at(event) {
    const area = this.canvas.getBoundingClientRect();
    const x = event.clientX - area.left, y = event.clientY - area.top;
    let found = -1;
    this.visit(area.width, (node, left, wide) => {
      const top = this.top(node);
      if (x >= left && x < left + wide && y >= top && y < top + ROW) found = node;
    });
    return found;
  }
  hover(event) {
    const node = this.at(event);
    this.canvas.style.cursor = node < 0 ? "" : "pointer";
    if (node !== this.hovered) this.paintSoon();
    this.hovered = node;
    this.on.hover(node, event);
  }
  click(event) {
    const node = this.at(event);
    if (node >= 0) this.zoom(node);
  }
  neighbour(step) {
    const row = [], {tree, focused} = this;
    this.visit(this.holder.clientWidth, (node, _, wide) => { if (tree.depth[node] === tree.depth[focused] && wide >= 1) row.push(node); });
    return row[row.indexOf(focused) + step];
  }
  child() {
    const {tree, focused} = this;
    return focused + 1 < tree.end[focused] ? focused + 1 : undefined;
  }
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const parent = () => this.tree.parent[this.focused];
    const keys = {
      ArrowLeft: () => this.neighbour(-1), ArrowRight: () => this.neighbour(1),
      ArrowUp: () => this.rootBelow ? this.child() : parent(), ArrowDown: () => this.rootBelow ? parent() : this.child(),
      Home: () => 0
    };
    if (event.key === "Enter" || event.key === " ") this.zoom(this.focused);
    else if (event.key === "Escape" && this.zoomed !== 0) this.zoom(0);
    else if (keys[event.key]) this.focus(keys[event.key]());
    else return;
    event.preventDefault();
  }
  focus(node) {
    if (node === undefined || node < 0) return;
    this.focused = node;
    const top = this.top(node);
    if (top < 0) this.holder.scrollTop += top;
    if (top + ROW > this.holder.clientHeight) this.holder.scrollTop += top + ROW - this.holder.clientHeight;
    this.paintSoon();
    this.on.focus(node);
  }
}
