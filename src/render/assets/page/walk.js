// Passes over all boxes. A box's subtree is the range up to its `end`, so no stack is needed.
import {NO_KIND, THREAD} from "./data.js";

// Fills `kept`: 1 for each box whose samples are kept, else 0. scope, focus and ignore: marks of functions, or null.
export function keptBoxes(profile, {scope, focus, ignore}, kept) {
  const {size, end, fn} = profile;
  if (!scope && !focus && !ignore) return kept.fill(1);
  let inScope = 0, inFocus = 0, inIgnored = 0;
  for (let box = 0; box < size; box++) {
    const of = fn[box];
    if (scope && scope[of] && box >= inScope) inScope = end[box];
    if (focus && focus[of] && box >= inFocus) inFocus = end[box];
    if (ignore && ignore[of] && box >= inIgnored) inIgnored = end[box];
    kept[box] = (!scope || box < inScope) && (!focus || box < inFocus) && box >= inIgnored ? 1 : 0;
  }
  return kept;
}
// The weight of every box, of the samples that the choice keeps: {thread, side, scope, focus, ignore, range}; range as
// [first bin, behind the last] or null. `weights`: of each count. `marks`, if given, gets the boxes whose samples are
// kept, whatever thread and time they are from. Of a heap with a range: what was alive at its end, if it begins with 0.
export function weigh(profile, choice, weights = profile.countWeight) {
  const {thread, side, scope, focus, ignore, range, marks} = choice, {size, end, countSide} = profile, steps = range && profile.steps || null;
  const {box: countBox, thread: countThread, bin: countBin} = steps || {box: profile.countBox, thread: profile.countThread, bin: profile.countBin};
  if (steps) weights = weights === profile.countHits ? steps.hits : steps.weight;
  const kept = marks || scope || focus || ignore ? keptBoxes(profile, choice, marks || new Uint8Array(size)) : null;
  const [from, to] = range && countBin ? range : [0, Infinity], times = range && countBin ? countBin : null;
  const total = new (!steps && profile.samples < 4294967296 && weights === profile.countWeight ? Uint32Array : Float64Array)(size + 1);
  // First the weight before each box, then the difference to the weight before the end of its subtree.
  let sum = 0, box = 0;
  for (let at = 0; at < countBox.length; at++) {
    const of = countBox[at];
    while (box <= of) total[box++] = sum;
    if (kept && !kept[of] || thread >= 0 && countThread[at] !== thread || side !== undefined && countSide[at] !== side) continue;
    if (!times || times[at] >= from && times[at] < to) sum += weights[at];
  }
  while (box <= size) total[box++] = sum;
  for (box = 0; box < size; box++) total[box] = total[end[box]] - total[box];
  return total.subarray(0, size);
}

// The largest `values`, which are of each count, of those that the choice keeps, by row of the table.
export function largest(profile, choice, values, {alias, rows}) {
  const {size, parents, countBox, countThread} = profile, kept = keptBoxes(profile, choice, new Uint8Array(size));
  const most = new Float64Array(size), of = new Float64Array(profile.functionCount);
  countBox.forEach((box, at) => { if (kept[box] && !(choice.thread >= 0 && countThread[at] !== choice.thread)) most[box] = Math.max(most[box], values[at]); });
  for (let box = size - 1; box > 0; box--) {
    const row = alias[rows[box]];
    of[row] = Math.max(of[row], most[box]);
    most[parents[box]] = Math.max(most[parents[box]], most[box]);
  }
  return of;
}

// The share of time below matching functions; a sample counts once, however many matches its stack has.
export function shareOf(profile, total, marks) {
  const {size, end, fn} = profile;
  let share = 0;
  for (let box = 1; box < size; box++) {
    if (!marks[fn[box]]) continue;
    share += total[box];
    box = end[box] - 1;
  }
  return share;
}

// Self and total of every row of the table; a recursion's time counts once. Time of hidden functions is their caller's own.
export function functionTable(profile, total, {hidden, inner, alias, rows: rowOf}) {
  const {size, end, fn, functions} = profile, functionCount = profile.functionCount;
  const self = new Float64Array(functionCount), sum = new Float64Array(functionCount), until = new Int32Array(functionCount);
  const open = new Int32Array(profile.depth + 2), openFn = new Int32Array(profile.depth + 2);
  let level = -1;
  for (let box = 0; box < size; box++) {
    if (total[box] === 0) { box = end[box] - 1; continue; }
    while (level >= 0 && end[open[level]] <= box) level--;
    if (hidden[alias[fn[box]]] || inner && inner[box]) continue;
    const of = alias[rowOf[box]];
    if (level >= 0) self[openFn[level]] -= total[box];
    self[of] += total[box];
    if (box >= until[of]) {
      sum[of] += total[box];
      until[of] = end[box];
    }
    open[++level] = box;
    openFn[level] = of;
  }
  const rows = [];
  for (let of = 0; of < functionCount; of++) {
    if (profile.leads?.includes(of)) sum[of] = self[of];  // to other rows
    if (sum[of] > 0 && functions.kind[of] !== NO_KIND && functions.kind[of] !== THREAD) rows.push({fn: of, self: self[of], total: sum[of]});
  }
  return rows;
}

// The boxes of a function, or of a row of the table, without a caller that is the same one, so that its time counts once.
export function outermost(profile, total, {alias, rows}, wanted) {
  const {size, end, fn} = profile, found = [];
  for (let box = 1; box < size; box++) {
    if (total[box] === 0) { box = end[box] - 1; continue; }
    if (alias[fn[box]] !== wanted && alias[rows[box]] !== wanted) continue;
    found.push(box);
    box = end[box] - 1;
  }
  return found;
}

// The samples that end in each shown box, in the order of `total`.
export function ownWeights(profile, total, shape) {
  const {size, end, fn} = profile, {hidden, inner, alias} = shape;
  const own = new Float64Array(size), open = new Int32Array(profile.depth + 2);
  let level = -1;
  for (let box = 0; box < size; box++) {
    if (total[box] === 0) { box = end[box] - 1; continue; }
    while (level >= 0 && end[open[level]] <= box) level--;
    if (hidden[alias[fn[box]]] || inner && inner[box]) continue;
    if (level >= 0) own[open[level]] -= total[box];
    own[box] = total[box];
    open[++level] = box;
  }
  return own;
}
