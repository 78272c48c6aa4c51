// A flame chart: one thread's stacks in the order of time. A piece of time (time_order.js) that is wide enough is a box as wide
// as its time; narrower ones share columns, of which each shows the stack with most of its time: at each level the function
// with most of the samples that are left. Where nothing was seen it is blank. Nodes are made when they become visible, as in
// LazyTree.
export class TimeTree {
  // range: [from, to] in nanoseconds; wide: of a column, in nanoseconds.
  constructor(profile, pieces, range, wide) {
    Object.assign(this, {profile, pieces, range, wide, up: false, timed: true});
    this.columns = columnsOf(pieces, range, wide);
    const all = this.columns.map(({stack}) => stack[0]), sum = (of) => all.reduce((total, one) => total + one[of], 0);
    this.rows = this.columns.reduce((most, {stack}) => Math.max(most, stack.length), 1);
    this.root = {fn: profile.all, parent: null, depth: 0, x: 0, total: range[1] - range[0], weight: sum("weight"), hits: sum("hits"), from: 0, to: this.columns.length, kids: null};
  }
  // The same with other columns.
  finer(wide) { return new TimeTree(this.profile, this.pieces, this.range, wide); }
  // The number of rows of all columns in sight but a hundredth: a deep stack that is brief does not make the chart high.
  rowsIn(from = 0, to = this.root.total) {
    const wide = new Float64Array(this.rows + 1);
    for (const {x, total, stack} of this.columns) wide[stack.length] += Math.max(0, Math.min(x + total, to) - Math.max(x, from));
    let rows = this.rows, spare = wide.reduce((sum, one) => sum + one, 0) / 100;
    while (rows > 1 && wide[rows] <= spare) spare -= wide[rows--];
    return rows;
  }
  // The whole, as weights are: a box's share is of the samples, not of the time that it is wide.
  get all() { return this.root.weight; }
  kids(node) { return node.kids ??= this.expand(node); }
  expand(node) {
    const kids = [], depth = node.depth + 1;
    for (let at = node.from; at < node.to; at++) {
      const {x, total, stack} = this.columns[at], level = stack[depth], last = kids[kids.length - 1];
      if (!level) continue;
      if (last && last.fn === level.fn && last.to === at && last.x + last.total === x) {
        last.total = x + total - last.x;
        last.weight += level.weight;
        last.hits += level.hits;
        last.to = at + 1;
      } else {
        kids.push({fn: level.fn, parent: node, depth, x, total, weight: level.weight, hits: level.hits, from: at, to: at + 1, kids: null});
      }
    }
    return kids;
  }
  selfOf(node) { return this.kids(node).reduce((left, kid) => left - kid.weight, node.weight); }
  // The box at a place, or the highest one below it.
  nearest(x, depth) {
    let node = this.root;
    for (let kid = node; kid && node.depth < depth; ) {
      kid = this.kids(node).find((one) => one.x <= x && x < one.x + one.total);
      node = kid ?? node;
    }
    return node;
  }
  // Nodes of a flame chart have no address; the selected stretch of time has.
  address() { return ""; }
  at() { return this.root; }
}

// [{x, total, stack}] in the order of time, without an overlap.
function columnsOf(pieces, [first, end], wide) {
  const columns = [];
  let group = [], of = -1, last = 0;
  const flush = (until) => {
    if (!group.length) return;
    const x = Math.max(of * wide, last), to = Math.min((of + 1) * wide, until, end - first);
    if (to > x) columns.push({x, total: to - x, stack: heaviest(group)});
    last = Math.max(last, to);
    group = [];
  };
  for (const {at, from, to, waits, samples} of pieces) {
    // CPU time belongs to the step in which it was sampled, as in all views.
    if (waits ? to <= first || from >= end : at < first || at >= end) continue;
    const x = Math.max(from, first) - first, until = Math.min(to, end) - first, column = Math.floor((x + until) / 2 / wide);
    const told = waits && until - x < to - from ? samples.map((one) => ({...one, weight: until - x})) : samples;
    if (until - x >= wide) {
      flush(x);
      if (until > x) columns.push({x, total: until - x, stack: heaviest(told)});
      last = until;
      continue;
    }
    if (column !== of) flush(x);
    of = column;
    group.push(...told);
  }
  flush(Infinity);
  return columns;
}
// Of samples {chain, weight, hits} what most of them are in, level by level, with what is in it: [{fn, weight, hits}],
// first of all of them.
function heaviest(samples) {
  const sum = (of, list) => list.reduce((total, one) => total + one[of], 0), stack = [{fn: -1, weight: sum("weight", samples), hits: sum("hits", samples)}];
  for (let left = samples; ;) {
    const groups = new Map(), level = stack.length - 1;
    for (const sample of left) {
      const fn = sample.chain[level] ?? -1;
      if (!groups.has(fn)) groups.set(fn, []);
      groups.get(fn).push(sample);
    }
    const [fn, most] = Array.from(groups).reduce((a, b) => sum("weight", b[1]) > sum("weight", a[1]) ? b : a);
    if (fn < 0) return stack;
    stack.push({fn, weight: sum("weight", most), hits: sum("hits", most)});
    left = most;
  }
}

// The thread with most of the time of a stretch, in steps, in the kept boxes. Any that ran then comes before those that did not.
export function busiestThread({threads, countThread, countBox, countBin, countWeight}, range, kept) {
  const use = new Float64Array(threads.length), [from, to] = range || [0, Infinity];
  countThread.forEach((thread, at) => { if (!kept || kept[countBox[at]]) use[thread] += countWeight[at] * (countBin[at] >= from && countBin[at] < to ? 1 : 1e-12); });
  return use.indexOf(use.reduce((a, b) => Math.max(a, b)));
}
