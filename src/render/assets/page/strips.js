// How much of the CPU each thread used when, step by step of the profile's time; and how long it waited, where that was
// measured as well.
import {GLUE, NOTE, SCOPE, THREAD, WAITS, threadLabel} from "./data.js";

const NEARLY_EMPTY = 20;  // as part of the busiest strip
const SEVERAL = 2;  // or more: of threads that are one, as those of many processes of one name, there is no number

class Strip {
  // doing: what tells it from others of its name; threads: number of threads in the strip, of which `busiest` has `most`; all: CPU time; unknown: that of it without a whole stack; late: that of it which
  // was noticed later than it was used; waiting: time off the CPU; scope: 1 where samples are in a scope.
  constructor(label, bins) {
    Object.assign(this, {label, doing: "", threads: 0, busiest: -1, most: 0, weight: 0, all: new Float64Array(bins), unknown: new Float64Array(bins), late: new Float64Array(bins), waiting: new Float64Array(bins), scope: new Uint8Array(bins)});
  }
  add(strip) {
    for (const column of ["all", "unknown", "late", "waiting"]) strip[column].forEach((weight, bin) => { this[column][bin] += weight; });
    strip.scope.forEach((one, bin) => { this.scope[bin] |= one; });
    this.weight += strip.weight;
    this.threads += strip.threads;
    this.meet(strip.busiest, strip.most);
  }
  meet(thread, weight) { if (weight > this.most) Object.assign(this, {busiest: thread, most: weight}); }
}

// A thread's own columns, where waits are known; `began` has each where it began.
function useOf(uses, thread, bins) {
  if (!uses.has(thread)) uses.set(thread, {cpu: new Float64Array(bins), began: new Float64Array(bins)});
  return uses.get(thread);
}

// uses: by thread, filled as well if the profile has waits.
function addSamples(profile, stripOf, uses) {
  const {countBox, countThread, countWeight, countBin, end, fn, waiting, event, functions: {name, kind, role}} = profile;
  const marks = (term) => name.map((text, of) => kind[of] === NOTE && term.test(text)), isGap = marks(/^\[(lost|truncated|not sampled)/), isLate = marks(/^\[(lost|not sampled)/), isWait = name.map((_, of) => WAITS.includes(role?.[of]));
  let inScope = 0, inGap = 0, inWait = event === "offcpu" ? Infinity : 0, box = 0;
  for (let at = 0; at < countBox.length; at++) {
    for (; box <= countBox[at]; box++) {
      if (kind[fn[box]] === SCOPE && box >= inScope) inScope = end[box];
      if (isGap[fn[box]] && box >= inGap) inGap = end[box];
      if (isWait[fn[box]] && box >= inWait) inWait = end[box];
    }
    const thread = countThread[at], strip = stripOf[thread], bin = countBin[at], weight = countWeight[at];
    if (!strip) continue;
    strip.weight += weight;
    if (waiting) {
      useOf(uses, thread, profile.bins)[countBox[at] < inWait ? "began" : "cpu"][bin] += weight;
      if (countBox[at] < inWait) continue;
    }
    strip.all[bin] += weight;
    if (countBox[at] < inGap) strip.unknown[bin] += weight;
    if (isLate[fn[countBox[at]]]) strip.late[bin] += weight;
    if (countBox[at] < inScope) strip.scope[bin] = 1;
  }
}

// The waits of another profile of the same run, which has other steps, that begin at the same time, and other numbers for
// threads.
function readWaits(profile, waits, stripOf, uses) {
  const numberOf = new Map(profile.threadKeys.map((key, thread) => [key, thread])), part = waits.bin / profile.bin;
  waits.countThread.forEach((of, at) => {
    const thread = numberOf.get(waits.threadKeys[of]), bin = Math.floor(waits.countBin[at] * part);
    if (!stripOf[thread] || bin >= profile.bins) return;
    useOf(uses, thread, profile.bins).began[bin] += waits.countWeight[at];
  });
  const {countThread, countBin, countWeight} = profile;
  countThread.forEach((thread, at) => { const use = uses.get(thread); if (use) use.cpu[countBin[at]] += countWeight[at]; });
}
// A wait has a beginning and a length, which may include waits that were not looked at: so from its beginning on it
// fills the part of each step that is not the thread's CPU time.
function spreadWaits({cpu, began}, waiting, whole) {
  let left = 0;
  began.forEach((weight, bin) => {
    const here = Math.min(left + weight, Math.max(whole - cpu[bin], 0));
    left += weight - here;
    waiting[bin] += here;
  });
}

// What a full row stands for, of columns {from, to, all, waiting}: one thread all of the time (`whole`, in a step); of
// several threads, the most that they used together, but for what was noticed later. Beside CPU time waiting, which is drawn above, may be cut off: of
// many threads that wait nothing else would be seen.
export function fullRow(strip, columns, whole, withWaits = false) {
  const busiest = columns.reduce((most, {from, to, all, late = 0, waiting}) => Math.max(most, (all - late + (withWaits ? waiting : 0)) / (to - from)), 0);
  return (whole === 0 || strip.threads > 1 ? Math.max(whole, busiest) : whole) || 1;
}

// The functions that nearly all of a strip's time is in, from the root on. Glue tells nothing: it starts every thread.
function mainPath(profile, isOf) {
  const {countBox, countThread, countWeight, end, fn, functions: {kind, role}} = profile, sums = new Float64Array(end.length + 1), path = [];
  countBox.forEach((box, at) => { if (isOf(countThread[at])) sums[box + 1] += countWeight[at]; });
  for (let box = 0; box < end.length; box++) sums[box + 1] += sums[box];
  const total = (box) => sums[end[box]] - sums[box], most = 0.8 * total(0);
  for (let box = 1; box < end.length;) {
    if (total(box) < most) { box = end[box]; continue; }
    if (kind[fn[box]] !== THREAD && role?.[fn[box]] !== GLUE) path.push(fn[box]);
    box++;
  }
  return path;
}
// Strips whose labels differ in a number only, as those of a server's processes, are told apart by what they do: where their
// ways part, the first function with a name. A way that only ends is no difference: workers are alike but for chance.
function tellApart(profile, strips, stripOf) {
  const alike = new Map();
  for (const strip of strips) {
    const name = strip.label.replace(/\d+/g, "");
    alike.set(name, [...alike.get(name) ?? [], strip]);
  }
  for (const group of alike.values()) {
    if (group.length < 2) continue;
    const paths = group.map((strip) => mainPath(profile, (thread) => stripOf[thread] === strip)), longest = Math.max(...paths.map((path) => path.length));
    let same = 0;
    while (same < longest && new Set(paths.filter((path) => path.length > same).map((path) => path[same])).size === 1) same++;
    group.forEach((strip, at) => { strip.doing = paths[at].slice(same).map((fn) => profile.shortName(fn)).find((name) => !/\+0x[0-9a-f]+\]$/.test(name)) ?? ""; });
  }
}

// Of the threads that were sampled, the busiest first. merge: threads that are alike are one, but not those of processes; waits: the profile of waiting
// time, or null; most: the number of strips beside that of all others, which has those that are nearly empty, too.
export function stripsOf(profile, merge, waits, most = 12) {
  const groups = new Map(merge ? profile.merged.map(([of, group]) => [profile.name(of), profile.name(group)]) : []), strips = new Map();
  const stripOf = profile.threads.map(([tid, name, of], thread) => {
    const process = profile.name(of), group = process ? undefined : groups.get(name), label = group ?? threadLabel([tid, name], process);
    const key = group ? label : thread;
    if (!strips.has(key)) strips.set(key, new Strip(label, profile.bins));
    strips.get(key).threads += tid ? 1 : SEVERAL;
    return strips.get(key);
  });
  const uses = new Map();
  addSamples(profile, stripOf, uses);
  if (waits) readWaits(profile, waits, stripOf, uses);
  for (const [thread, use] of uses) spreadWaits(use, stripOf[thread].waiting, profile.bin);
  const use = new Float64Array(stripOf.length);
  profile.countThread.forEach((thread, at) => { use[thread] += profile.countWeight[at]; });
  stripOf.forEach((strip, thread) => strip.meet(thread, use[thread]));
  const busiest = Array.from(strips.values()).filter((strip) => strip.weight > 0).sort((a, b) => b.weight - a.weight);
  const least = busiest[0]?.weight / NEARLY_EMPTY, busy = busiest.filter(({weight}) => weight >= least).length;
  const others = busiest.splice(busiest.length > most + 1 ? Math.min(most, busy) : busiest.length > busy + 1 ? busy : busiest.length);
  if (others.length) {
    const sum = new Strip(`${others.length} other threads`, profile.bins);
    for (const strip of others) sum.add(strip);
    busiest.push(sum);
  }
  tellApart(profile, busiest, stripOf);
  return busiest;
}
