// The profile as html_data.cpp packed it: deflate and base64, so that nothing in it can end the page's script.
import {bytes, count, duration, durationIn, find, percent, samples} from "./tools.js";

async function inflate(text) {
  let packed;
  if (Uint8Array.fromBase64) {
    packed = Uint8Array.fromBase64(text);
  } else {
    const letters = atob(text);
    packed = new Uint8Array(letters.length);
    for (let at = 0; at < packed.length; at++) packed[at] = letters.charCodeAt(at);
  }
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
// Takes the text out of an element, to free its memory.
function takeText(id) {
  const holder = find(id), text = holder.textContent.trim();
  holder.remove();
  return text;
}
async function readFacts(text) { return JSON.parse(new TextDecoder().decode(await inflate(text))); }
export async function readProfile(factsText, columnsText) {
  const facts = readFacts(factsText), columns = inflate(columnsText);
  return new Profile(await facts, await columns);
}
// The first event's data, which names the others, and the chosen event's: page.html?event=offcpu.
export async function readChosenEvent() {
  const first = await readFacts(takeText("profile")), chosen = new URLSearchParams(location.search).get("event");
  const other = first.events.includes(chosen);
  const data = other ? await readFacts(takeText("profile-" + chosen)) : first;
  data.events = [first.event, ...first.events];
  return new Profile(data, await inflate(takeText("columns" + (other ? "-" + chosen : ""))));
}

// The waiting time of the run whose CPU time is shown, or null.
export async function readWaits(profile) {
  if (profile.waiting || !profile.isTime || profile.bins < 2 || !find("profile-offcpu")) return null;
  const facts = readFacts(takeText("profile-offcpu")), columns = inflate(takeText("columns-offcpu"));
  const waits = new Profile(await facts, await columns);
  return waits.countBin && waits.countThread && waits;
}

// Numbers of seven bits a byte, the lowest first.
class Column {
  constructor(bytes, from, length) { Object.assign(this, {bytes, at: from, end: from + length}); }
  next() {
    let byte = this.bytes[this.at++];
    if (byte < 128) return byte;
    let value = byte & 127, factor = 128;
    do {
      byte = this.bytes[this.at++];
      value += (byte & 127) * factor;
      factor *= 128;
    } while (byte > 127);
    return value;
  }
  length() {
    let numbers = 0;
    for (let at = this.at; at < this.end; at++) if (this.bytes[at] < 128) numbers++;
    return numbers;
  }
}
const MOST_BINS = 1000;  // in strips and selections; flame charts have finer steps
const fitting = (largest) => largest < 65536 ? Uint16Array : largest < 4294967296 ? Uint32Array : Float64Array;

// By how much what is alive changed, in each step of time: a sum of them up to a step is what is alive then.
function readSteps({stepBox, stepThread, stepBin, stepWeight, stepHits}) {
  const many = stepBox.length(), [box, thread, bin, weight, hits] = Array.from({length: 5}, () => new Float64Array(many));
  const signed = (value) => value % 2 ? -(value + 1) / 2 : value / 2;
  for (let at = 0, last = 0; at < many; at++) {
    box[at] = last += stepBox.next();
    thread[at] = stepThread.next();
    bin[at] = stepBin.next();
    weight[at] = signed(stepWeight.next());
    hits[at] = signed(stepHits.next());
  }
  return {box, thread, bin, weight, hits};
}

const KINDS = ["", "inlined", "kernel", "scope", "not known", "thread", "", "the lock's holder"];
const SUFFIXES = ["", "_[i]", "_[k]", , , , , "_[w]"];  // in folded text
export const ROLES = ["own code", "libraries", "glue", "kernel", "scope", "not known", "process, thread", "waiting", "preempted", "waiting for its holder"], ROLE_LETTERS = "ulxksntwqh";
export const INLINED = 1, IN_KERNEL = 2, SCOPE = 3, NOTE = 4, THREAD = 5, NO_KIND = 6, OWN = 0, LIBRARY = 1, GLUE = 2, KERNEL = 3, UNKNOWN = 5, PREEMPTED = 8, WAITS = [7, PREEMPTED, 9];
const LONGEST_THREAD_NAME = 15;  // of the kernel's

// "worker-1 (4712)". process: the name of the process of a run of several, with what it is for ("postgres: walwriter 4711"), or
// of several processes ("cc1 × 96"); a first thread, of the same name, is told as its process.
export function threadLabel([tid, name], process) {
  const own = (name || "thread") + (tid ? ` (${tid})` : "");
  if (!process) return own;
  const [, program, several, number] = /^(.*?) (× )?([\d*]+)$/.exec(process) ?? [process, process];
  if (program.replace(/: .*/, "").slice(0, LONGEST_THREAD_NAME) !== name) return `${process} › ${own}`;
  if (!tid || number === String(tid) && !several) return process;
  return several ? `${program} (${tid})` : `${process} › ${own}`;
}

// Boxes are in depth-first order and merged by function; box 0 is the root; `end` is the index behind a box's subtree.
// A count has the weight of a thread's samples that ended in a box, and, where it differs, their number: a timer's
// sample may stand for several periods. Typed arrays only: there may be ten million boxes.
class Profile {
  constructor(data, bytes) {
    Object.assign(this, data);
    const parts = {};
    let from = 0;
    for (const [name, length] of data.parts) {
      parts[name] = new Column(bytes, from, length);
      from += length;
    }
    this.size = data.boxes;
    this.functionCount = this.functions.name.length;
    this.readBoxes(parts.up, parts.fn);
    this.rowOf = parts.row ? this.readRows(parts.row) : null;
    this.readCounts(parts);
    this.steps = parts.stepBox ? readSteps(parts) : null;  // of a heap
    // Siblings are in the order of their functions' numbers, which is that of names; a group has its first member's
    // number.
    this.order = Uint32Array.from(this.functions.name, (_, fn) => fn);
    for (const [fn, group] of [...this.merged].reverse()) this.order[group] = fn;
    // The frames of a run's processes, and of several that are one.
    this.processes = new Set(this.threads.map(([, , process]) => process));
    for (const [fn, group] of this.merged) if (this.processes.has(fn)) this.processes.add(group);
    // The same for the same thread in another profile of the run.
    this.threadKeys = this.threads.map(([tid, name, process]) => tid || `${this.name(process)} ${name}`);
  }
  readBoxes(up, fn) {
    const size = this.size, open = new Int32Array(this.depth + 2), {bytes} = up;
    const fns = this.fn = new (fitting(this.functionCount))(size), end = this.end = new Int32Array(size);
    fns[0] = this.all;
    let level = 0, at = fn.at, above = up.at;
    for (let box = 1; box < size; box++) {
      // next() inlined by hand, to save millions of calls; functions and levels are below 2^28.
      let byte = bytes[at++], of = byte & 127;
      for (let shift = 7; byte > 127; shift += 7) of |= ((byte = bytes[at++]) & 127) << shift;
      fns[box] = of;
      byte = bytes[above++];
      let levels = byte & 127;
      for (let shift = 7; byte > 127; shift += 7) levels |= ((byte = bytes[above++]) & 127) << shift;
      for (; levels > 0; levels--) end[open[level--]] = box;
      open[++level] = box;
    }
    while (level >= 0) end[open[level--]] = size;
  }
  // The function whose row in the table each box belongs to: the kernel below a call is one, as is an allocator.
  readRows(row) {
    const {fn, rows, size} = this, of = new fn.constructor(size);
    of[0] = fn[0];
    for (let box = 1; box < size; box++) {
      const number = row.next();
      of[box] = number ? rows[number - 1] : fn[box];
    }
    this.gathers = Uint8Array.from(this.functions.name, () => 0);
    for (const fn of rows) this.gathers[fn] = 1;
    for (const of of fn) this.gathers[of] = 0;
    return of;
  }
  // Whether a row of the table is of several functions, and has no box of its own.
  isGathered(fn) { return this.rowOf !== null && this.gathers[fn] === 1; }
  readCounts({box, thread, weight, bin, side, hits, age, oldest}) {
    const counts = weight.length();
    this.countBox = new Int32Array(counts);
    this.countThread = thread ? new (fitting(this.threads.length))(counts) : null;
    this.countSide = side ? new Uint8Array(counts) : null;
    this.countHits = hits ? new Float64Array(counts) : null;
    this.countAge = age ? new Float64Array(counts) : null;  // of what is alive at the end: its weight times its mean age
    this.countOldest = oldest ? new Float64Array(counts) : null;
    this.countWeight = new Float64Array(counts);
    this.countStep = bin ? new Uint16Array(counts) : null;
    this.samples = 0;
    let steps = 0;
    for (let at = 0, last = 0; at < counts; at++) {
      this.countBox[at] = last += box.next();
      if (thread) this.countThread[at] = thread.next();
      if (side) this.countSide[at] = side.next();
      if (hits) this.countHits[at] = hits.next();
      this.samples += this.countWeight[at] = weight.next();
      if (age) this.countAge[at] = age.next() * this.countWeight[at];
      if (oldest) this.countOldest[at] = oldest.next();
      if (bin) steps = Math.max(steps, (this.countStep[at] = bin.next()) + 1);
    }
    // A bin is so many steps.
    const many = Math.max(1, Math.ceil(steps / MOST_BINS));
    Object.assign(this, {step: this.bin, bin: this.bin * many, bins: Math.ceil(steps / many)});
    this.countBin = many > 1 ? this.countStep.map((step) => Math.floor(step / many)) : this.countStep;
  }
  name(fn) { return this.functions.name[fn]; }
  threadName(at) { return threadLabel(this.threads[at], this.name(this.threads[at][2])); }
  shortName(fn) { return this.functions.short[fn] || this.functions.name[fn]; }
  kind(fn) { return this.functions.kind[fn]; }
  // Time that no code has: "[lost]", "[preempted]".
  isNoFunction(fn) { return this.kind(fn) === NOTE && [UNKNOWN, PREEMPTED].includes(this.functions.role[fn]); }
  module(fn) { return this.modules[this.functions.module[fn]]; }
  path(fn) { return this.files[this.functions.file[fn]]; }
  // The same for the same function in another profile of the run.
  key(fn) { return [this.name(fn), this.kind(fn), this.module(fn), this.path(fn), this.functions.line[fn]].join("\n"); }
  place(fn) {
    const file = this.path(fn).replace(/^.*\//, ""), line = this.functions.line[fn];
    const kind = this.kind(fn) === NOTE ? ROLES[this.functions.role[fn]] : this.processes.has(fn) ? "process" : KINDS[this.kind(fn)];
    return [kind, file ? file + (line ? ":" + line : "") : "", this.module(fn)].filter(Boolean).join(", ");
  }
  // What a function belongs to, in a word: its outermost namespace or crate, else its file.
  family(fn) {
    const name = this.shortName(fn).replace(/^[<(&]+/, ""), at = name.indexOf("::");
    return at > 0 && !/[ )]/.test(name.slice(0, at)) ? name.slice(0, at) : this.module(fn).replace(/^.*\//, "").replace(/\.so.*$/, "") || this.shortName(fn);
  }
  // Waiting time is measured, so there is no number of samples to show.
  samplesText(hits) { return this.waiting ? "" : samples(hits); }
  // What a weight is: "1.23 s", "4.5 MiB", "12 page-faults"; empty where it has no unit but samples.
  // In a column all have the unit of its largest.
  amount(weight, largest) {
    if (this.unit) return this.unit === "bytes" ? bytes(weight, largest) : count(weight) + " " + this.unit;
    return !this.isTime ? "" : largest ? durationIn(weight, largest) : duration(weight);
  }
  // As describe.cpp tells of a box. self: its own weight, or null; caller: its share of its caller, or null.
  told(weight, whole, hits, self, caller = null) {
    const part = (of, what) => what ? `${what} (${percent(of, whole)})` : percent(of, whole), amount = this.amount(weight);
    const own = self === null ? "" : "self " + (self > 0 ? part(self, this.amount(self)) : "0");
    return [part(weight, amount || samples(hits)), own, caller && caller + " of its caller", amount && this.samplesText(hits)].filter(Boolean).join(", ");
  }
  // The functions that a search finds: by the name that is shown.
  showing(test, whole) {
    const {name, short, kind} = this.functions;
    return Uint8Array.from(name, (text, fn) => kind[fn] !== NO_KIND && test(!whole && short[fn] || text) ? 1 : 0);
  }
  // The functions that a focus, hide or ignore matches, by the whole name, the short one or the one in folded text.
  matching(test) {
    const {name, short, kind} = this.functions;
    const matches = (text, fn) => test(text) || short[fn] !== "" && test(short[fn]) || SUFFIXES[kind[fn]] && test(text + SUFFIXES[kind[fn]]);
    return Uint8Array.from(name, (text, fn) => kind[fn] !== NO_KIND && matches(text, fn) ? 1 : 0);
  }
  // Made at first use, by a view from the leaves or of callers.
  get parents() {
    if (!this.parentOf) {
      const {size, end} = this, parent = new Int32Array(size), open = new Int32Array(this.depth + 2);
      for (let box = 1, level = 0; box < size; box++) {
        while (end[open[level]] <= box) level--;
        parent[box] = open[level];
        open[++level] = box;
      }
      this.parentOf = parent;
    }
    return this.parentOf;
  }
}
