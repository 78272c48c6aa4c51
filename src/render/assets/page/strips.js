// How much of the CPU each thread used when, step by step of the profile's time; and how long it waited, where that was
// measured as well.
import {NOTE, SCOPE} from "./data.js";


class Strip {
  // threads: number of threads in the strip; all: samples; unknown: those of them without a whole stack; waiting: in
  // the samples' unit; scope: 1 where samples are in a scope.
  constructor(label, bins) {
    Object.assign(this, {label, threads: 0, weight: 0, all: new Float64Array(bins), unknown: new Float64Array(bins), waiting: new Float64Array(bins), scope: new Uint8Array(bins)});
  }
  add(strip) {
    for (const column of ["all", "unknown", "waiting"]) strip[column].forEach((weight, bin) => { this[column][bin] += weight; });
    strip.scope.forEach((one, bin) => { this.scope[bin] |= one; });
    this.weight += strip.weight;
    this.threads += strip.threads;
  }
}

function addSamples(profile, stripOf) {
  const {countBox, countThread, countWeight, countBin, end, fn, functions} = profile;
  const isGap = functions.name.map((name, of) => functions.kind[of] === NOTE && /^\[(lost|truncated)/.test(name));
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
}

// A wait's weight stands where it began; here it fills the steps from there on, none by more than the thread had of it.
function spreadWaits(profile, stripOf) {
  const began = new Map(), whole = profile.bin / profile.period;
  profile.countThread.forEach((thread, at) => {
    if (!began.has(thread)) began.set(thread, new Float64Array(profile.bins));
    began.get(thread)[profile.countBin[at]] += profile.countWeight[at];
  });
  for (const strip of new Set(stripOf)) strip.all.fill(0);
  for (const [thread, weights] of began) {
    let left = 0;
    weights.forEach((weight, bin) => {
      const here = Math.min(left + weight, whole);
      left += weight - here;
      stripOf[thread].all[bin] += here;
    });
  }
}

// CPU time by step, of each of the wanted threads.
function useOf(profile, wanted) {
  const {countThread, countBin, countWeight} = profile;
  countThread.forEach((thread, at) => { const use = wanted.get(thread); if (use) use.cpu[countBin[at]] += countWeight[at]; });
}
// A wait has a beginning and a length, which may include waits that were not looked at: so from its beginning on it
// fills the part of each step that is not the thread's CPU time. The profile of waits has other steps, which begin at
// the same time, and other numbers for threads.
function addWaits(profile, waits, stripOf) {
  const numberOf = new Map(profile.threads.map(([tid], thread) => [tid, thread])), part = waits.bin / profile.bin, unit = waits.period / profile.period;
  const uses = new Map(), whole = profile.bin / profile.period;
  waits.countThread.forEach((of, at) => {
    const thread = numberOf.get(waits.threads[of][0]), bin = Math.floor(waits.countBin[at] * part);
    if (!stripOf[thread] || bin >= profile.bins) return;
    if (!uses.has(thread)) uses.set(thread, {cpu: new Float64Array(profile.bins), began: new Float64Array(profile.bins)});
    uses.get(thread).began[bin] += waits.countWeight[at] * unit;
  });
  useOf(profile, uses);
  for (const [thread, {cpu, began}] of uses) {
    let left = 0;
    began.forEach((weight, bin) => {
      const here = Math.min(left + weight, Math.max(whole - cpu[bin], 0));
      left += weight - here;
      stripOf[thread].waiting[bin] += here;
    });
  }
}

// What a full row stands for, of columns {from, to, all}: one thread all of the time (`whole`, in a step); of several
// threads, the most that they used together. Waiting, which is drawn above, may be cut off: of many threads that wait
// nothing else would be seen.
export function fullRow(strip, columns, whole) {
  const busiest = columns.reduce((most, {from, to, all}) => Math.max(most, all / (to - from)), 0);
  return (whole === 0 || strip.threads > 1 ? Math.max(whole, busiest) : whole) || 1;
}

// Of the threads that were sampled, the busiest first. merge: threads that are alike are one; waits: the profile of waiting
// time, or null; most: the number of strips beside that of all others.
export function stripsOf(profile, merge, waits, most = 12) {
  const groups = new Map(merge ? profile.merged.map(([of, group]) => [profile.name(of), profile.name(group)]) : []), strips = new Map();
  const stripOf = profile.threads.map(([tid, name], thread) => {
    const label = groups.get(name) || (name || "thread") + (tid ? ` (${tid})` : ""), key = groups.has(name) ? label : thread;
    if (!strips.has(key)) strips.set(key, new Strip(label, profile.bins));
    strips.get(key).threads++;
    return strips.get(key);
  });
  addSamples(profile, stripOf);
  if (profile.waiting && profile.period > 0) spreadWaits(profile, stripOf);
  if (waits && waits.period > 0 && profile.period > 0) addWaits(profile, waits, stripOf);
  const busiest = Array.from(strips.values()).filter((strip) => strip.weight > 0).sort((a, b) => b.weight - a.weight);
  const others = busiest.splice(busiest.length > most + 1 ? most : busiest.length);
  if (others.length) {
    const sum = new Strip(`${others.length} other threads`, profile.bins);
    for (const strip of others) sum.add(strip);
    busiest.push(sum);
  }
  return busiest;
}
