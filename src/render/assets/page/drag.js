// A stretch of a flame chart, chosen by drawing over it.
const STILL = 4;  // pixels: a click

export class Drag {
  constructor(graph) {
    Object.assign(this, {graph, begin: null, now: 0, done: false});
    const {canvas} = graph, on = (event, act) => canvas.addEventListener(event, act);
    on("pointerdown", (event) => {
      this.done = false;
      if (!graph.tree?.timed || event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      this.begin = this.now = this.part(event);
    });
    on("pointermove", (event) => {
      if (this.begin === null) return;
      this.now = this.part(event);
      graph.paintSoon();
    });
    on("pointerup", () => this.finish());
    on("pointercancel", () => { this.begin = null; graph.paintSoon(); });
  }
  part(event) {
    const {left, width} = this.graph.canvas.getBoundingClientRect();
    return Math.max(0, Math.min((event.clientX - left) / width, 1));
  }
  // [from, to] as parts of the view, or null.
  get band() {
    const {begin, now, graph} = this;
    return begin === null || Math.abs(now - begin) * graph.canvas.clientWidth < STILL ? null : [Math.min(begin, now), Math.max(begin, now)];
  }
  finish() {
    const {band, graph} = this;
    this.begin = null;
    if (!band) return;
    const {from, to} = graph, at = (part) => from + (to - from) * part;
    this.done = true;
    graph.zoomRange(at(band[0]), at(band[1]));
  }
  // Whether the click that follows was the end of it.
  taken() { return this.done; }
}
