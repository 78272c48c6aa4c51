// When: a strip for each thread, its use of the CPU over time; a stretch of it can be chosen, by pointer or keys.
const STRIP = 22, AXIS = 16, NAME = 150, MOST_STRIPS = 12;

class Timeline {
  // choose("from-to") gets the bins, or "" for all of the time.
  constructor(choose) {
    Object.assign(this, {profile: null, choose, range: null, drag: null, key: null, strips: []});
    this.holder = find("times");
    this.canvas = element(this.holder, "canvas", {tabindex: "0", role: "application", "aria-roledescription": "timeline",
      "aria-label": "CPU use over time. Arrow keys move the chosen stretch of time, with Shift they widen it, Escape chooses all."});
    const {canvas} = this;
    canvas.addEventListener("pointerdown", (event) => this.begin(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.finish(event));
    canvas.addEventListener("keydown", (event) => this.press(event));
    new ResizeObserver(() => this.paint(this.theme)).observe(this.holder);
  }
  use(profile) {
    Object.assign(this, {profile, key: null, strips: []});
    this.holder.hidden = profile.bins < 2;
  }
  // Sums of each strip: all samples, those that say nothing of where time went, and those in scopes.
  measure(merge) {
    const {profile} = this, {countBox, countThread, countWeight, countBin, end, fn, functions} = profile;
    const groups = new Map(merge ? profile.merged.map(([of, group]) => [profile.name(of), profile.name(group)]) : []);
    const strips = new Map(), stripOf = profile.threads.map(([tid, name], thread) => {
      const label = groups.get(name) || (name || "thread") + (tid ? ` (${tid})` : ""), key = groups.has(name) ? label : thread;
      if (!strips.has(key)) strips.set(key, {label, weight: 0, all: new Float64Array(profile.bins), unknown: new Float64Array(profile.bins), scope: new Uint8Array(profile.bins)});
      return strips.get(key);
    });
    const isGap = functions.name.map((name, of) => functions.kind[of] === 4 && /^\[(lost|truncated)/.test(name));
    let inScope = 0, inGap = 0, box = 0;
    for (let at = 0; at < countBox.length; at++) {
      for (; box <= countBox[at]; box++) {
        if (functions.kind[fn[box]] === SCOPE && box >= inScope) inScope = end[box];
        if (isGap[fn[box]] && box >= inGap) inGap = end[box];
      }
      const strip = stripOf[countThread[at]], bin = countBin[at], weight = countWeight[at];
      if (!strip) continue;
      strip.weight += weight;
      strip.all[bin] += weight;
      if (countBox[at] < inGap) strip.unknown[bin] += weight;
      if (countBox[at] < inScope) strip.scope[bin] = 1;
    }
    const busiest = Array.from(strips.values()).filter((strip) => strip.weight > 0).sort((a, b) => b.weight - a.weight);
    const others = busiest.splice(MOST_STRIPS);
    if (others.length) {
      const sum = {label: `${others.length} other threads`, weight: 0, all: new Float64Array(profile.bins), unknown: new Float64Array(profile.bins), scope: new Uint8Array(profile.bins)};
      for (const strip of others) for (let bin = 0; bin < profile.bins; bin++) {
        sum.all[bin] += strip.all[bin];
        sum.unknown[bin] += strip.unknown[bin];
        sum.scope[bin] |= strip.scope[bin];
      }
      busiest.push(sum);
    }
    return busiest;
  }
  show(merge, range, theme) {
    this.range = range;
    if (this.holder.hidden) return;
    if (this.key !== merge) this.strips = this.measure(merge);
    this.key = merge;
    this.paint(theme);
  }
  get left() { return Math.min(NAME, this.canvas.clientWidth / 4); }
  x(bin) { return this.left + bin / this.profile.bins * (this.canvas.clientWidth - this.left); }
  bin(event) {
    const area = this.canvas.getBoundingClientRect(), part = (event.clientX - area.left - this.left) / (area.width - this.left);
    return Math.max(0, Math.min(part, 1)) * this.profile.bins;
  }
  paint(theme) {
    this.theme = theme;
    if (this.holder.hidden || !theme) return;
    const {canvas, profile} = this, ratio = devicePixelRatio || 1, style = getComputedStyle(this.holder);
    const width = this.holder.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight), height = this.strips.length * STRIP + AXIS;
    if (width <= 0) return;
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.font = "11px " + getComputedStyle(document.body).fontFamily;
    this.strips.forEach((strip, row) => this.paintStrip(pen, strip, row * STRIP, width));
    pen.fillStyle = theme.soft;
    for (let tick = 0; tick < 5; tick++) {
      pen.textAlign = tick === 0 ? "left" : tick === 4 ? "right" : "center";
      pen.fillText(duration(profile.bins * profile.bin * tick / 4), this.x(profile.bins * tick / 4), height - 4);
    }
    pen.textAlign = "left";
    const range = this.drag || this.range;
    if (!range) return;
    pen.globalAlpha = 0.65;
    pen.fillStyle = theme.page;
    pen.fillRect(this.left, 0, this.x(range[0]) - this.left, height - AXIS);
    pen.fillRect(this.x(range[1]), 0, width - this.x(range[1]), height - AXIS);
    pen.globalAlpha = 1;
    pen.strokeStyle = theme.focus;
    pen.strokeRect(this.x(range[0]) + 0.5, 0.5, Math.max(this.x(range[1]) - this.x(range[0]) - 1, 1), height - AXIS - 1);
  }
  // A full row is one CPU; more (several threads in one strip) is scaled to the busiest bin.
  paintStrip(pen, strip, top, width) {
    const {profile, theme} = this, columns = Math.min(profile.bins, Math.floor(width - this.left)), bins = profile.bins / columns;
    pen.fillStyle = theme.soft;
    pen.fillText(fitName(pen, strip.label, this.left - 8), 0, top + 14);
    const whole = profile.period > 0 ? profile.bin / profile.period : 0, most = Math.max(whole, strip.all.reduce((a, b) => Math.max(a, b), 0)) || 1;
    const high = STRIP - 5;
    for (let column = 0; column < columns; column++) {
      const from = Math.floor(column * bins), to = Math.max(from + 1, Math.floor((column + 1) * bins));
      let all = 0, unknown = 0, scope = 0;
      for (let bin = from; bin < to; bin++) { all += strip.all[bin]; unknown += strip.unknown[bin]; scope |= strip.scope[bin]; }
      const left = this.x(from), wide = Math.max(this.x(to) - left - 0.3, 0.7), scale = high / most / (to - from);
      // What was lost or truncated is a gap under a line: it was used, but not for what can be shown.
      pen.fillStyle = theme.colors.u0;
      pen.fillRect(left, top + high - (all - unknown) * scale, wide, (all - unknown) * scale);
      pen.fillStyle = theme.colors.n0;
      if (unknown > 0) pen.fillRect(left, top + high - all * scale, wide, 1);
      pen.fillStyle = theme.colors.s0;
      if (scope) pen.fillRect(left, top + high + 1, wide, 2);
    }
    pen.fillStyle = theme.plain;
    pen.fillRect(this.left, top + high, width - this.left, 0.7);
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
    if (this.anchor === undefined) return;
    this.drag = this.stretch(event);
    this.paint(this.theme);
  }
  finish(event) {
    if (this.anchor === undefined) return;
    const [from, to] = this.stretch(event), still = Math.abs(this.x(this.bin(event)) - this.x(this.anchor)) < 3;
    this.drag = null;
    this.anchor = undefined;
    this.choose(still ? "" : `${from}-${to}`);
  }
  press(event) {
    const step = Math.max(1, Math.round(this.profile.bins / 50)) * ({ArrowLeft: -1, ArrowRight: 1}[event.key] || 0);
    if (event.key === "Escape") this.choose("");
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
