// Passes over all boxes. A box's subtree is the stretch up to its end, so what is "inside" needs no stack.

// The weight of every box, of the samples that the choice keeps: {thread, side, scope, focus, ignore, range}; scope, focus and
// ignore as marks of functions or null, range as [first bin, behind the last] or null. `weights`: of each count.
// `marks`, if given, notes whose samples are kept wherever and whenever they are from.
function weigh(profile, {thread, side, scope, focus, ignore, range, marks}, weights = profile.countWeight) {
  const {size, end, fn, countBox, countThread, countSide, countBin} = profile;
  const [from, to] = range || [0, Infinity];
  const total = new (profile.samples < 4294967296 && weights === profile.countWeight ? Uint32Array : Float64Array)(size);
  const open = new Int32Array(profile.depth + 2);
  let level = -1, inScope = 0, inFocus = 0, inIgnored = 0, at = 0;
  const close = () => { const box = open[level--]; if (level >= 0) total[open[level]] += total[box]; };
  for (let box = 0; box < size; box++) {
    while (level >= 0 && end[open[level]] <= box) close();
    open[++level] = box;
    const of = fn[box];
    if (scope && scope[of] && box >= inScope) inScope = end[box];
    if (focus && focus[of] && box >= inFocus) inFocus = end[box];
    if (ignore && ignore[of] && box >= inIgnored) inIgnored = end[box];
    const kept = (!scope || box < inScope) && (!focus || box < inFocus) && box >= inIgnored;
    if (marks) marks[box] = kept ? 1 : 0;
    for (; at < countBox.length && countBox[at] === box; at++) {
      const inTime = !countBin || countBin[at] >= from && countBin[at] < to;
      if (kept && inTime && (thread < 0 || countThread[at] === thread) && (side === undefined || countSide[at] === side)) total[box] += weights[at];
    }
  }
  while (level >= 0) close();
  return total;
}

// Time below matching functions; it counts once, however often matches stand in one stack.
function shareOf(profile, total, marks) {
  const {size, end, fn} = profile;
  let share = 0;
  for (let box = 1; box < size; box++) {
    if (!marks[fn[box]]) continue;
    share += total[box];
    box = end[box] - 1;
  }
  return share;
}

// Self and total of every function that is shown; a recursion's time counts once. What is hidden is its caller's own.
function functionTable(profile, total, shape) {
  const {size, end, fn, functions} = profile, {hidden, alias} = shape, functionCount = profile.functionCount;
  const self = new Float64Array(functionCount), sum = new Float64Array(functionCount), until = new Int32Array(functionCount);
  const open = new Int32Array(profile.depth + 2), openFn = new Int32Array(profile.depth + 2);
  let level = -1;
  for (let box = 0; box < size; box++) {
    if (total[box] === 0) { box = end[box] - 1; continue; }
    while (level >= 0 && end[open[level]] <= box) level--;
    const of = alias[fn[box]];
    if (hidden[of]) continue;
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
    if (sum[of] > 0 && functions.kind[of] !== NO_KIND && functions.kind[of] !== THREAD) rows.push({fn: of, self: self[of], total: sum[of]});
  }
  return rows;
}

// Where a function stands and no caller of it is the same function: its time, counted once.
function outermost(profile, total, shape, wanted) {
  const {size, end, fn} = profile, found = [];
  for (let box = 1; box < size; box++) {
    if (total[box] === 0) { box = end[box] - 1; continue; }
    if (shape.alias[fn[box]] !== wanted) continue;
    found.push(box);
    box = end[box] - 1;
  }
  return found;
}

// The samples that end in each box, as far as it is shown, in the same order as `total`. And how deep it gets.
function ownWeights(profile, total, shape) {
  const {size, end, fn} = profile, {hidden, alias} = shape;
  const own = new Float64Array(size), open = new Int32Array(profile.depth + 2);
  let level = -1, rows = 0;
  for (let box = 0; box < size; box++) {
    if (total[box] === 0) { box = end[box] - 1; continue; }
    while (level >= 0 && end[open[level]] <= box) level--;
    if (hidden[alias[fn[box]]]) continue;
    if (level >= 0) own[open[level]] -= total[box];
    own[box] = total[box];
    open[++level] = box;
    if (level + 1 > rows) rows = level + 1;
  }
  return {own, rows};
}
function rowsOf(profile, total, shape) {
  const {size, end, fn} = profile, {hidden, alias} = shape, open = new Int32Array(profile.depth + 2);
  let level = -1, rows = 1;
  for (let box = 0; box < size; box++) {
    if (total[box] === 0) { box = end[box] - 1; continue; }
    while (level >= 0 && end[open[level]] <= box) level--;
    const of = alias[fn[box]];
    if (hidden[of] || shape.recursion && level >= 0 && alias[fn[open[level]]] === of) continue;
    open[++level] = box;
    if (level >= rows) rows = level + 1;
  }
  return rows;
}
