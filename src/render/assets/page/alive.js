// How much of what the program allocated was alive, over time: an area above the graph of a heap.
import {ticks} from "d3-array";
import {duration, element, find} from "./tools.js";

const HIGH = 52, AXIS = 18, TICK_ROOM = 110;

// The step in which most was alive, as the flame graph of the peak shows it.
const peakOf = (weights) => weights.reduce((most, weight, step) => weight > weights[most] ? step : most, 0);

export class Alive {
  // choose("0-step"): shows what was alive at the end of that step, or with "" what the page is of. tell(text, event): the
  // amount near the pointer.
  constructor(choose, tell) {
    Object.assign(this, {profile: null, range: null, choose, tell});
    this.holder = find("alive");
    this.holder.style.paddingRight = find("times").style.paddingRight;
    this.canvas = element(this.holder, "canvas", {role: "img"});
    this.canvas.addEventListener("pointerdown", (event) => this.pick(this.moment(event)));
    this.canvas.addEventListener("pointermove", (event) => event.buttons ? this.pick(this.moment(event)) : this.tell(this.describe(event), event));
    this.canvas.addEventListener("keydown", (event) => this.press(event));
    this.canvas.addEventListener("pointerleave", () => this.tell(""));
    new ResizeObserver(() => this.paint(this.theme)).observe(this.holder);
  }
  use(profile) {
    this.profile = profile;
    this.holder.hidden = !profile.alive;
    if (!profile.alive) return;
    const {weights} = profile.alive, most = peakOf(weights);
    if (profile.steps) this.canvas.tabIndex = 0;
    this.canvas.setAttribute("aria-label", `Alive over time: at most ${this.at(most)}, at the end ${profile.amount(weights[weights.length - 1])}`);
  }
  at(step) {
    const {alive: {bin, weights}} = this.profile;
    return `${this.profile.amount(weights[step])} after ${duration(step * bin)}`;
  }
  get end() { return this.profile.alive.weights.length * this.profile.alive.bin; }
  // Nanoseconds from the begin, at the pointer.
  moment(event) {
    const {left, width} = this.canvas.getBoundingClientRect();
    return Math.max(0, Math.min((event.clientX - left) / width, 1)) * this.end;
  }
  describe(event) {
    const {alive: {bin, weights}, steps} = this.profile, step = Math.min(Math.floor(this.moment(event) / bin), weights.length - 1);
    return `alive: ${this.at(step)}; ` + (steps ? "click: by whom" : `flameprobe-render --event heap-end --to ${(step + 1) * bin / 1e9}s shows by whom`);
  }
  pick(moment) {
    const {steps, bin} = this.profile;
    if (steps) this.choose(`0-${Math.floor(Math.min(moment, this.end - 1) / bin) + 1}`);
  }
  press(event) {
    const {steps, bin} = this.profile, by = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!steps || event.key !== "Escape" && !by) return;
    event.preventDefault();
    if (!by) return this.choose("");
    this.pick(Math.max(0, (this.range ? (this.range[1] - 0.5) * bin : this.end) + by * Math.max(bin, this.end / 100)));
  }
  show(range, theme) {
    this.range = range;
    this.paint(theme);
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
    if (this.range && this.profile.steps) {
      const x = Math.min(this.range[1] * this.profile.bin / this.end, 1) * width;
      pen.globalAlpha = 0.65;
      pen.fillStyle = theme.page;
      pen.fillRect(x, 0, width - x, HIGH);
      pen.globalAlpha = 1;
      pen.fillStyle = theme.focus;
      pen.fillRect(Math.max(0, x - 1), 0, 1.5, HIGH);
    }
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
