// What the reader has chosen. The address after "#" holds all of it, so that a link shows the same.
import {SIDES, WHICH} from "./compare.js";

export const VIEWS = ["graph", "tree", "table", "sandwich", "source"];
const bit = (text) => text === "1";
const SAVED = [["view", "view", String], ["t", "thread", Number], ["scope", "scope", String], ["s", "search", String], ["c", "exact", bit],
  ["r", "reverse", bit], ["i", "icicle", bit], ["fn", "fn", Number], ["z", "zoom", String], ["focus", "focus", String], ["hide", "hide", String],
  ["ignore", "ignore", String], ["fold", "fold", bit], ["own", "own", bit], ["chains", "chains", bit], ["names", "byName", bit], ["inlined", "inlined", bit], ["merge", "merge", bit], ["long", "long", bit], ["time", "time", String],
  ["side", "side", String], ["which", "which", String], ["code", "code", bit], ["y", "chart", bit], ["lane", "lane", Number], ["few", "few", bit]];

export class State {
  constructor(profile) {
    this.standard = {view: "graph", thread: -1, scope: "", search: "", exact: false, reverse: profile.reverse, icicle: profile.icicle, fn: -1, zoom: "",
      focus: "", hide: "", ignore: "", fold: profile.fold === true, own: profile.own === true, chains: profile.chains, byName: profile.byName ?? (profile.sides !== undefined || "live" in document.body.dataset), inlined: true, merge: profile.merged.length > 0, long: false, time: "",
      side: "difference", which: "", code: false, chart: false, lane: -1, few: true};
    this.opened = new Set();
    this.load(profile);
  }
  load(profile) {
    const query = new URLSearchParams(location.hash.slice(1));
    for (const [key, name, read] of SAVED) this[name] = query.has(key) ? read(query.get(key)) : this.standard[name];
    if (!VIEWS.includes(this.view) || this.view === "source" && !profile.source || this.view === "tree" && profile.sides) this.view = "graph";
    for (const of of ["thread", "lane"]) if (!Number.isInteger(this[of]) || this[of] >= profile.threads.length) this[of] = -1;
    if (!Number.isInteger(this.fn) || this.fn >= profile.functionCount) this.fn = -1;
    if (!SIDES.some(([side]) => side === this.side)) this.side = this.standard.side;
    if (!(this.which in WHICH)) this.which = "";
    if (profile.bins < 2) this.chart = false;
    if (!/^[\d.*]*$/.test(this.zoom)) this.zoom = "";
    if (!/^\d+-\d+$/.test(this.time)) this.time = "";
  }
  // Translates numbers of one profile of a run into those of a later one.
  translate(from, to) {
    const numbers = new Map(to.functions.name.map((_, fn) => [to.key(fn), fn]));
    const number = (fn) => fn < 0 ? -1 : numbers.get(from.key(fn)) ?? -1;
    this.fn = number(this.fn);
    const path = this.zoom && !this.chart ? this.zoom.split(".").map((run) => run.split("*").map(Number)).map(([fn, times]) => [number(fn), times]) : [];
    if (!this.chart) this.zoom = path.some(([fn]) => fn < 0) ? "" : path.map(([fn, times]) => times ? fn + "*" + times : String(fn)).join(".");
    for (const of of ["thread", "lane"]) this[of] = this[of] < 0 ? -1 : to.threadKeys.indexOf(from.threadKeys[this[of]]);
    if (this.range) this.time = this.range.map((bin, end) => Math[end ? "ceil" : "floor"](bin * from.bin / to.bin)).join("-");
  }
  // [first bin, behind the last], or null for all of the time.
  get range() { return this.time ? this.time.split("-").map(Number) : null; }
  save() {
    const query = new URLSearchParams();
    for (const [key, name] of SAVED) {
      if (this[name] !== this.standard[name]) query.set(key, typeof this[name] === "boolean" ? Number(this[name]) : this[name]);
    }
    try { history.replaceState(null, "", "#" + query); } catch { /* a sandboxed frame has no address of its own */ }
  }
}
