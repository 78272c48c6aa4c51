// What the reader has chosen. The address after "#" holds all of it, so that a link shows the same.
const bit = (text) => text === "1";
const SAVED = [["view", "view", String], ["t", "thread", Number], ["scope", "scope", String], ["s", "search", String], ["c", "exact", bit],
  ["r", "reverse", bit], ["i", "icicle", bit], ["fn", "fn", Number], ["z", "zoom", String], ["focus", "focus", String], ["hide", "hide", String],
  ["ignore", "ignore", String], ["fold", "fold", bit], ["inlined", "inlined", bit], ["merge", "merge", bit], ["long", "long", bit], ["time", "time", String]];

class State {
  constructor(profile) {
    this.standard = {view: "graph", thread: -1, scope: "", search: "", exact: false, reverse: profile.reverse, icicle: profile.icicle, fn: -1, zoom: "",
      focus: "", hide: "", ignore: "", fold: false, inlined: true, merge: profile.merged.length > 0, long: false, time: ""};
    this.load(profile);
  }
  load(profile) {
    const query = new URLSearchParams(location.hash.slice(1));
    for (const [key, name, read] of SAVED) this[name] = query.has(key) ? read(query.get(key)) : this.standard[name];
    if (!["graph", "table", "sandwich"].includes(this.view)) this.view = "graph";
    if (!Number.isInteger(this.thread) || this.thread >= profile.threads.length) this.thread = -1;
    if (!Number.isInteger(this.fn) || this.fn >= profile.functionCount) this.fn = -1;
    if (!/^[\d.*]*$/.test(this.zoom)) this.zoom = "";
    if (!/^\d+-\d+$/.test(this.time)) this.time = "";
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
