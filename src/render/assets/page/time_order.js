// What a thread did, in the order of time, as far as samples tell: pieces {from, to, samples}, in nanoseconds, which do not
// overlap. A sample is {chain, weight, hits}. Where there is no piece nothing was seen.
import {NOTE, WAITS} from "./data.js";

// The samples of a thread in the chosen boxes, the earliest step first: [step, samples]. late: noticed later than it was used.
function stepsOf({countBox, countThread, countStep, countWeight, countHits, fn, functions: {name, kind}}, thread, chosen, chain) {
  const steps = new Map(), late = name.map((text, of) => kind[of] === NOTE && /^\[(lost|not sampled)/.test(text));
  for (let at = 0; at < countBox.length; at++) {
    const box = countBox[at], step = countStep[at];
    if (countThread[at] !== thread || !chosen(box)) continue;
    let samples = steps.get(step);
    if (!samples) steps.set(step, samples = []);
    samples.push({chain: chain(box), weight: countWeight[at], hits: (countHits || countWeight)[at], late: late[fn[box]]});
  }
  return Array.from(steps).sort(([a], [b]) => a - b);
}

// For each box whether it is time off the CPU.
function waitingBoxes({size, parents, fn, event, waiting, functions: {role}}) {
  if (!waiting || event === "offcpu") return new Uint8Array(size).fill(waiting ? 1 : 0);
  const marks = new Uint8Array(size);
  for (let box = 1; box < size; box++) marks[box] = WAITS.includes(role[fn[box]]) || marks[parents[box]] ? 1 : 0;
  return marks;
}

// A clock's sample was taken at the end of the time that it stands for. Between two whose distance the sampling's rhythm
// explains nothing is unseen. What is no time, or was noticed later than it was used, is a mark of one step.
function ran(steps, {step, isTime, sampling}) {
  const nearly = Math.max(step, isTime ? sampling / 2 : 0), made = [];
  let last = 0;
  for (const [at, samples] of steps) {
    const to = (at + 1) * step, weight = samples.reduce((sum, one) => sum + (one.late ? 0 : one.weight), 0);
    const from = Math.max(last, to - (isTime && weight > 0 ? weight : step));
    made.push({at: at * step, from: from - last < nearly ? last : from, to, waits: false, samples});
    last = to;
  }
  return made;
}
// A wait is known by its beginning and by a length, which may include waits that were not looked at: from its beginning on,
// and until the next one that was looked at, it fills what is free between `busy` pieces.
function waited(steps, {step}, busy, end) {
  const made = [];
  let now = 0, next = 0;
  steps.forEach(([at, samples], of) => {
    const until = Math.min((steps[of + 1]?.[0] ?? Infinity) * step, end);
    now = Math.max(now, at * step);
    for (const {chain, weight, hits} of samples) {
      let left = weight, times = hits;
      while (left > 0 && now < until) {
        while (next < busy.length && busy[next].to <= now) next++;
        if (next < busy.length && busy[next].from <= now) { now = busy[next].to; continue; }
        const to = Math.min(now + left, until, busy[next]?.from ?? end);
        made.push({at: now, from: now, to, waits: true, samples: [{chain, weight: to - now, hits: times}]});
        times = 0;
        left -= to - now;
        now = to;
      }
    }
  });
  return made;
}

// kept: marks of boxes; chain(box): the shown functions from the root to it. waits: {profile, thread, kept, chain} of the same
// run's waiting time, or null.
export function timeOrder(profile, thread, kept, chain, waits = null) {
  const waiting = waitingBoxes(profile), made = ran(stepsOf(profile, thread, (box) => kept[box] && !waiting[box], chain), profile);
  const of = profile.waiting ? {profile, thread, chain, kept} : waits, isWait = of && waitingBoxes(of.profile);
  if (!of || of.thread < 0) return made;
  const off = stepsOf(of.profile, of.thread, (box) => of.kept[box] && isWait[box], of.chain);
  const all = made.concat(waited(off, of.profile, made, profile.bins * profile.bin)).sort((a, b) => a.from - b.from);
  // A wait's beginning is known to a step.
  const step = Math.max(profile.step, of.profile.step);
  for (let at = 1; at < all.length; at++) if (all[at].from - all[at - 1].to < step) all[at].from = all[at - 1].to;
  return all;
}
