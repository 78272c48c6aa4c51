// How much of what the program allocated was alive, over time: an area above the graph of a heap.
import {ticks} from "d3-array";
import {duration, element, find} from "./tools.js";

const HIGH = 52, AXIS = 18, TICK_ROOM = 110;

// The step in which most was alive, as the flame graph of the peak shows it.
const peakOf = (weights) => weights.reduce((most, weight, step) => weight > weights[most] ? step : most, 0);

export class Alive {
  // tell(text, event): the amount near the pointer.
  constructor(tell) {
    Object.assign(this, {profile: null, tell});
    this.holder = find("alive");
    this.holder.style.paddingRight = find("times").style.paddingRight;
    this.canvas = element(this.holder, "canvas", {role: "img"});
    this.canvas.addEventListener("pointermove", (event) => this.tell(this.describe(event), event));
    this.canvas.addEventListener("pointerleave", () => this.tell(""));
    new ResizeObserver(() => this.paint(this.theme)).observe(this.holder);
  }
  use(profile) {
    this.profile = profile;
    this.holder.hidden = !profile.alive;
    if (!profile.alive) return;
    const {weights} = profile.alive, most = peakOf(weights);
    this.canvas.setAttribute("aria-label", `Alive over time: at most ${this.at(most)}, at the end ${profile.amount(weights[weights.length - 1])}`);
  }
  at(step) {
    const {alive: {bin, weights}} = this.profile;
    return `${this.profile.amount(weights[step])} after ${duration(step * bin)}`;
  }
  describe(event) {
    const {left, width} = this.canvas.getBoundingClientRect(), {bin, weights} = this.profile.alive;
    const step = Math.max(0, Math.min(Math.floor((event.clientX - left) / width * weights.length), weights.length - 1));
    return `alive: ${this.at(step)}; flameprobe-render --event heap-end --to ${(step + 1) * bin / 1e9}s shows by whom`;
  }
  paint(theme) {
    this.theme = theme;
    if (this.holder.hidden || !theme) return;
    const {canvas, profile: {alive: {bin, weights}}} = this, ratio = devicePixelRatio || 1;
    const width = this.holder.clientWidth - (parseFloat(this.holder.style.paddingRight) || 0);
    if (width <= 0) return;
    canvas.style.width = width + "px";
    canvas.style.height = HIGH + AXIS + "px";
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round((HIGH + AXIS) * ratio);
    const pen = canvas.getContext("2d"), most = peakOf(weights), wide = width / weights.length;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.font = "11px " + getComputedStyle(document.body).fontFamily;
    pen.fillStyle = theme.colors.u0;
    weights.forEach((weight, step) => {
      const up = weight / Math.max(1, weights[most]) * (HIGH - 14), left = Math.floor(step * wide);
      pen.fillRect(left, HIGH - up, Math.max(Math.ceil((step + 1) * wide) - left, 1), up);
    });
    pen.fillStyle = theme.plain;
    pen.fillRect(0, HIGH, width, 0.7);
    const unit = weights.length * bin < 120e9 ? 1e9 : 60e9;
    pen.fillStyle = theme.soft;
    for (const tick of ticks(0, weights.length * bin / unit, Math.max(2, Math.floor(width / TICK_ROOM)))) {
      const x = tick * unit / bin * wide, text = duration(tick * unit), half = pen.measureText(text).width / 2;
      pen.fillRect(Math.min(x, width - 1), HIGH, 1, 4);
      pen.fillText(text, Math.max(0, Math.min(x - half, width - 2 * half)), HIGH + AXIS - 3);
    }
    pen.fillStyle = theme.ink;
    const text = `alive: at most ${this.at(most)}`, room = pen.measureText(text).width;
    pen.fillText(text, Math.max(0, Math.min(most * wide - room / 2, width - room)), 10);
  }
}
