// The strips above the graph: each thread's use of the CPU over time. A stretch of time can be selected, by pointer or
// keys.
import {axisOf} from "./axis.js";
import {fit, fitNumbered} from "../shared/labels.js";
import {fullRow, stripsOf} from "./strips.js";
import {duration, element, find, mixed, percent} from "./tools.js";

const STRIP = 22, AXIS = 18, TICK_ROOM = 110, LEAST_STRIPS = 2, APART = 560;

export class Timeline {
  // Calls choose("from-to") with the selected bins, or "" for all of the time, and tell(text) with a description of the
  // place under the pointer, or "", and open(thread) where a strip's name is clicked.
  constructor(choose, tell, open) {
    Object.assign(this, {profile: null, waits: null, choose, tell, open, range: null, drag: null, view: null, key: null, strips: [], labels: [], at: -1});
    this.holder = find("times");
    const bar = element(document.body, "div", {class: "scroll"});
    this.holder.style.paddingRight = bar.offsetWidth - bar.clientWidth + "px";  // the graph's scroll bar
    bar.remove();
    this.head = element(this.holder, "p", {class: "soft"});
    this.canvas = element(this.holder, "canvas", {tabindex: "0", role: "application", "aria-roledescription": "timeline",
      "aria-label": "Use of time by threads. Arrow keys left and right move the chosen stretch of time, with Shift they widen it, Escape chooses all. Up and down choose a thread, Enter shows it in time order."});
    const {canvas} = this;
    canvas.addEventListener("pointerdown", (event) => this.begin(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.finish(event));
    canvas.addEventListener("pointercancel", () => this.cancel());
    canvas.addEventListener("pointerleave", () => this.tell(""));
    canvas.addEventListener("keydown", (event) => this.press(event));
    canvas.addEventListener("dblclick", (event) => { const strip = this.strips[this.row(event)]; if (strip) this.open(strip.busiest); });
    new ResizeObserver(() => this.paint(this.theme)).observe(this.holder);
    addEventListener("resize", () => { if (this.theme) this.show(this.merge, this.range, this.theme); });
  }
  use(profile) {
    Object.assign(this, {profile, waits: null, key: null, strips: []});
    this.holder.hidden = profile.bins < 2;
    this.title();
  }
  title() {
    const {profile: {isTime, event}, waits} = this, what = !isTime ? `Where in the run ${event} were sampled` : event === "offcpu" ? "Waiting of each thread" : `CPU time ${waits || event === "wall" ? "and waiting " : ""}of each thread`;
    this.head.textContent = what + ", over time";
    if (isTime) element(this.head, "span", {}, "; a full row is what stands at its right");
  }
  addWaits(waits) {
    Object.assign(this, {waits, key: null});
    this.title();
    this.show(this.merge, this.range, this.theme);
  }
  show(merge, range, theme) {
    Object.assign(this, {merge, range});
    if (this.holder.hidden) return;
    const key = merge + " " + this.most;
    if (this.key !== key) this.strips = stripsOf(this.profile, merge, this.waits, this.most);
    this.key = key;
    this.paint(theme);
  }
  // So many that they take a sixth of the window, with their axis; other threads share one.
  get most() { return Math.max(LEAST_STRIPS, Math.floor((innerHeight / 6 - AXIS) / STRIP)) - 1; }
  // Names stand left of the strips, what a full row is right of them: the axis is no graph's. Where there is little room they
  // stand on the strips.
  get inset() {
    const wide = this.canvas.clientWidth, apart = wide >= APART;
    return {left: apart ? Math.min(220, wide / 5) : 0, right: apart ? 76 : 0, apart};
  }
  get room() { const {left, right} = this.inset; return Math.max(this.canvas.clientWidth - left - right, 1); }
  x(bin) { return this.inset.left + bin / this.profile.bins * this.room; }
  bin(event) {
    const part = (event.clientX - this.canvas.getBoundingClientRect().left - this.inset.left) / this.room;
    return Math.max(0, Math.min(part, 1)) * this.profile.bins;
  }
  paint(theme) {
    this.theme = theme;
    if (this.holder.hidden || !theme) return;
    const {canvas, profile} = this, ratio = devicePixelRatio || 1, style = getComputedStyle(this.holder);
    const width = this.holder.clientWidth - parseFloat(style.paddingRight), height = this.strips.length * STRIP + AXIS;
    if (width <= 0) return;
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.dataset.axis = [this.x(0), this.room];  // where it begins, and how wide it is
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.font = "11px " + getComputedStyle(document.body).fontFamily;
    this.strips.forEach((strip, row) => this.paintStrip(pen, strip, row, width));
    this.paintAxis(pen, width, height);
    // What a flame chart shows of it.
    if (this.view) {
      pen.fillStyle = theme.focus;
      pen.fillRect(this.x(this.view[0]), height - AXIS, Math.max(this.x(this.view[1]) - this.x(this.view[0]), 2), 2);
    }
    const range = this.drag || this.range, [left, right] = [this.x(0), this.x(profile.bins)];
    if (!range) return;
    pen.globalAlpha = 0.65;
    pen.fillStyle = theme.page;
    pen.fillRect(left, 0, this.x(range[0]) - left, height - AXIS);
    pen.fillRect(this.x(range[1]), 0, right - this.x(range[1]), height - AXIS);
    pen.globalAlpha = 1;
    pen.strokeStyle = theme.focus;
    pen.strokeRect(this.x(range[0]) + 0.5, 0.5, Math.max(this.x(range[1]) - this.x(range[0]) - 1, 1), height - AXIS - 1);
  }
  paintAxis(pen, width, height) {
    const {profile, theme} = this;
    pen.fillStyle = theme.soft;
    for (const [time, text] of axisOf(0, profile.bins * profile.bin, Math.max(2, Math.floor(this.room / TICK_ROOM)))) {
      const x = this.x(time / profile.bin), half = pen.measureText(text).width / 2;
      pen.fillRect(Math.min(x, width - 1), height - AXIS, 1, 4);
      pen.fillText(text, Math.max(0, Math.min(x - half, width - 2 * half)), height - 3);
    }
    if (this.inset.apart) pen.fillText("since the start", 2, height - 3);
  }
  // The part of the time, [from, to] in bins, that a flame chart shows; null: there is none.
  showView(view) {
    this.view = view;
    this.paint(this.theme);
  }
  // The least number of steps in a column: fewer than ten samples would show noise.
  get steps() {
    const {bins, bin, isTime, sampling} = this.profile, ten = isTime ? 10 * sampling / bin : 1;
    return Math.max(bins / this.room, Math.min(ten, bins / 20), 1);
  }
  // Sums of a strip's columns, as wide as a pixel or as ten samples.
  columns(strip) {
    const {bins} = this.profile, many = Math.max(1, Math.floor(bins / this.steps)), columns = [];
    for (let column = 0; column < many; column++) {
      const from = Math.floor(column * bins / many), to = Math.max(from + 1, Math.floor((column + 1) * bins / many)), one = {from, to, all: 0, unknown: 0, late: 0, waiting: 0, scope: 0};
      for (let bin = from; bin < to; bin++) { one.all += strip.all[bin]; one.unknown += strip.unknown[bin]; one.late += strip.late[bin]; one.waiting += strip.waiting[bin]; one.scope |= strip.scope[bin]; }
      columns.push(one);
    }
    return columns;
  }
  // A full row is one CPU; in a strip of several threads, the most that they used together.
  paintStrip(pen, strip, row, width) {
    const {profile, theme} = this, columns = this.columns(strip), top = row * STRIP, high = STRIP - 5, whole = profile.isTime ? profile.bin : 0;
    // Columns may share a pixel, so nothing is laid over anything.
    const paler = mixed(theme.colors.w0, theme.page, profile.waiting ? 0.6 : 0.85);  // beside CPU time it is the ground
    const most = fullRow(strip, columns, whole, profile.waiting);
    for (const {from, to, all, unknown, waiting, scope} of columns) {
      const left = Math.round(this.x(from)), wide = Math.max(Math.round(this.x(to)) - left, 1), scale = high / most / (to - from);
      const fill = (color, below, amount, least = 0) => {
        const bottom = Math.min(below * scale, high - least), up = Math.min((below + amount) * scale, high);
        pen.fillStyle = color;
        pen.fillRect(left, top + high - Math.max(up, bottom + least), wide, Math.max(up - bottom, least));
      };
      fill(theme.colors.u0, 0, all - unknown, all > unknown ? 1 : 0);  // little, but not nothing
      // Lost or truncated time is a gap under a line: CPU time that no whole stack stands for.
      if (unknown > 0) fill(theme.colors.n0, all, 0, 1);
      if (waiting > 0) fill(paler, all, waiting, 1);
      pen.fillStyle = theme.colors.s0;
      if (scope) pen.fillRect(left, top + high + 1, wide, 2);
    }
    pen.fillStyle = theme.plain;
    pen.fillRect(this.x(0), top + high, this.room, 0.7);
    const {left, apart} = this.inset, names = apart ? left - 12 : width / 3, label = fitNumbered(pen, strip.label, names);
    const text = label === strip.label && strip.doing ? fit(pen, label + ": " + strip.doing, names) : label;
    this.paintText(pen, text, 2, apart ? top + 2 : top);
    this.labels[row] = pen.measureText(text).width + 6;
    if (row === this.at) {
      pen.strokeStyle = theme.focus;
      pen.strokeRect(0.5, top + 0.5, this.labels[row], 15);
    }
    // What a full row is.
    if (whole === 0) return;
    const unit = profile.waiting ? "thread" : "CPU", full = most / whole, fullText = `${full.toFixed(full < 1.05 || full > 9.95 ? 0 : 1)} ${unit}${full < 1.05 ? "" : "s"}`;
    this.paintText(pen, fullText, apart ? width - this.inset.right + 6 : width - pen.measureText(fullText).width - 2, apart ? top + 2 : top);
  }
  paintText(pen, text, x, top) {
    const {theme} = this;
    pen.globalAlpha = 0.8;
    pen.fillStyle = theme.page;
    pen.fillRect(x - 2, top, pen.measureText(text).width + 4, 14);
    pen.globalAlpha = 1;
    pen.fillStyle = theme.ink;
    pen.fillText(text, x, top + 11);
  }
  row(event) { return Math.floor((event.clientY - this.canvas.getBoundingClientRect().top) / STRIP); }
  // The strip whose name the pointer is over.
  named(event) { return event.clientX - this.canvas.getBoundingClientRect().left < (this.labels[this.row(event)] ?? 0) ? this.strips[this.row(event)] : undefined; }
  // Thread, time and use near the pointer.
  describe(event) {
    const {profile} = this, strip = this.strips[this.row(event)], named = this.named(event);
    this.canvas.style.cursor = named ? "pointer" : "";
    if (named) return `${strip.label}${strip.threads > 1 ? ", the busiest of these" : ""}: click to see its stacks in time order`;
    if (!strip || !profile.isTime) return "";
    const steps = Math.ceil(this.steps);
    const from = Math.max(0, Math.min(Math.floor(this.bin(event)) - (steps >> 1), profile.bins - steps)), to = Math.min(from + steps, profile.bins);
    const whole = (to - from) * profile.bin;
    const use = (column, text) => {
      const weight = column.subarray(from, to).reduce((sum, one) => sum + one, 0);
      return weight > 0 ? `${text} ${percent(weight, whole)}` : "";
    };
    return `${strip.label}, ${duration(from * profile.bin)} to ${duration(to * profile.bin)}: ` +
      [use(strip.all, "CPU") || (profile.event === "offcpu" ? "" : "no CPU time"), use(strip.waiting, "waiting"), use(strip.unknown, "not known"),
        strip.scope.subarray(from, to).includes(1) ? "in scopes" : ""].filter(Boolean).join(", ");
  }
  begin(event) {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.anchor = this.bin(event);
  }
  stretch(event) {
    const at = this.bin(event), from = Math.floor(Math.min(at, this.anchor)), to = Math.ceil(Math.max(at, this.anchor));
    return [Math.min(from, this.profile.bins - 1), Math.max(to, from + 1)];
  }
  move(event) {
    if (this.anchor === undefined) return this.tell(this.describe(event), event);
    this.drag = this.stretch(event);
    this.paint(this.theme);
  }
  finish(event) {
    if (this.anchor === undefined) return;
    const [from, to] = this.stretch(event), still = Math.abs(this.x(this.bin(event)) - this.x(this.anchor)) < 3, named = still && this.named(event);
    this.cancel();
    if (named) return this.open(named.busiest);
    this.choose(still ? "" : `${from}-${to}`);
  }
  // Also where a finger scrolls the page instead.
  cancel() {
    this.drag = null;
    this.anchor = undefined;
    this.paint(this.theme);
  }
  press(event) {
    const step = Math.max(1, Math.round(this.profile.bins / 50)) * ({ArrowLeft: -1, ArrowRight: 1}[event.key] || 0), up = {ArrowUp: -1, ArrowDown: 1}[event.key];
    if (event.key === "Escape") this.choose("");
    else if (event.key === "Enter" && this.at >= 0) this.open(this.strips[this.at].busiest);
    else if (up) {
      this.at = Math.max(0, Math.min(this.at + up, this.strips.length - 1));
      this.paint(this.theme);
      this.tell(this.strips[this.at].label + ": Enter shows its stacks in time order");
    }
    else if (step === 0) return;
    else {
      const [from, to] = this.range || [0, Math.ceil(this.profile.bins / 10)], span = to - from;
      const end = Math.max(1, Math.min(to + step, this.profile.bins));
      const start = event.shiftKey ? Math.min(from, end - 1) : Math.max(0, Math.min(from + step, this.profile.bins - span));
      this.choose(`${start}-${event.shiftKey ? end : start + span}`);
    }
    event.preventDefault();
  }
}
