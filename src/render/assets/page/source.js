// Lines and instructions of a hot function, with their weights in the margin, which are of the whole profile.
import {element, find, percent} from "./tools.js";

export class SourceView {
  // open(fn) chooses another function, code(on) the instructions.
  constructor(profile, page, open, code) {
    Object.assign(this, {profile, page});
    this.of = new Map(profile.source.functions.map((one) => [one.fn, one]));
    this.inlined = new Map(profile.source.inlined.map(([fn, text]) => [fn, new Map(text)]));
    find("tab-source").hidden = false;
    this.list = find("source-function");
    for (const {fn, self} of profile.source.functions) element(this.list, "option", {value: fn}, `${percent(self, profile.samples)} ${profile.shortName(fn)}`.slice(0, 200));
    this.list.addEventListener("change", () => open(Number(this.list.value)));
    find("source-lines").addEventListener("click", () => code(false));
    find("source-code").addEventListener("click", () => code(true));
    this.shown = "";
  }
  has(fn) { return this.of.has(fn); }
  show(fn, code) {
    const {profile} = this, source = this.of.get(fn) || profile.source.functions[0], wanted = source && `${source.fn} ${code}`;
    if (!source) find("source-place").textContent = "No lines are known of the functions in which samples end: build these with -g.";
    if (!source || this.shown === wanted) return;
    this.shown = wanted;
    this.list.value = source.fn;
    find("source-lines").setAttribute("aria-pressed", !code);
    find("source-code").setAttribute("aria-pressed", code);
    find("source-place").textContent = [profile.path(source.fn), source.note, "shares are of the whole profile"].filter(Boolean).join("; ");
    const body = find("source-body");
    body.textContent = "";
    body.scrollTop = 0;
    this.hottest = Math.max(1, ...(code ? source.code.map(([, self]) => self) : source.lines.map(([, , total]) => total)));
    if (code) this.showCode(body, source); else this.showLines(body, source);
    const hot = body.querySelector(".hottest");
    if (hot) body.scrollTop = Math.max(0, hot.offsetTop - body.clientHeight / 3);
  }
  // hits: samples, whatever they weigh.
  row(body, total, self, number, text, part, hits, title) {
    const row = element(body, "div", {class: "row", role: "row"}), all = this.profile.samples;
    const share = (weight) => weight > 0 ? percent(weight, all) : "";
    const cell = element(row, "span", {class: "weight", role: "cell"});
    if (part > 0) element(cell, "i", {}).style.setProperty("--part", Math.min(part / this.hottest, 1));
    element(cell, "span", {}, share(total));
    element(row, "span", {class: "weight", role: "cell"}, share(self));
    element(row, "span", {class: "number", role: "cell"}, number);
    element(row, "code", {role: "cell"}, text);
    if (total > 0 || self > 0) row.title = [title, this.profile.told(Math.max(total, self), all, hits, null)].filter(Boolean).join(", ");
    if (part === this.hottest) row.classList.add("hottest");
    return row;
  }
  showLines(body, source) {
    const text = new Map(source.text), weights = new Map(source.lines.map((line) => [line[0], line]));
    const numbers = Array.from(new Set([...text.keys(), ...weights.keys()])).sort((a, b) => a - b);
    let last = 0;
    for (const number of numbers) {
      if (last > 0 && number > last + 1) this.row(body, 0, 0, "", "⋯", 0, 0);
      last = number;
      const [, self, total, inlined, hits] = weights.get(number) || [number, 0, 0, [], 0];
      this.row(body, total, self, number > 0 ? number : "?", text.get(number) ?? (number > 0 ? "" : "(line not known)"), total, hits);
      this.showInlined(body, inlined, 1);
    }
  }
  // Inlined functions, below the line that they were inlined into.
  showInlined(body, inlined, depth) {
    const {profile} = this;
    for (const [fn, lines] of inlined) {
      const text = this.inlined.get(fn), sum = (of) => lines.reduce((all, line) => all + line[of], 0);
      const head = this.row(body, sum(2), 0, "", `${"  ".repeat(depth)}↳ ${profile.shortName(fn)}  ${profile.path(fn).replace(/^.*\//, "")}`, 0, sum(4), profile.name(fn));
      head.classList.add("inlined");
      for (const [number, self, total, inner, hits] of lines) {
        this.row(body, total, self, number || "?", "  ".repeat(depth + 1) + (text?.get(number) ?? "").trim(), 0, hits).classList.add("inlined");
        this.showInlined(body, inner, depth + 1);
      }
    }
  }
  showCode(body, source) {
    if (!source.code.length) this.row(body, 0, 0, "", source.note, 0, 0);
    for (const [address, self, text, hits] of source.code) this.row(body, 0, self, address.toString(16), text, self, hits).firstChild.classList.add("bar");
  }
}
