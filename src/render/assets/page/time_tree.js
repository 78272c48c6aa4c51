// A flame chart: one thread's stacks in the order of time. A piece of time (time_order.js) that is wide enough is a box as wide
// as its time; narrower ones share columns, of which each shows the stack with most of its time: at each level the function
// with most of the samples that are left. Where nothing was seen it is blank. Nodes are made when they become visible, as in
// LazyTree.
export class TimeTree {
  // range: [from, to] in nanoseconds; wide: of a column, in nanoseconds.
  constructor(profile, pieces, range, wide) {
    Object.assign(this, {profile, pieces, range, wide, up: false, timed: true});
    this.columns = columnsOf(pieces, range, wide);
    const sum = (of) => this.columns.reduce((total, {stack}) => total + stack[of](0), 0);
    this.rows = this.columns.reduce((most, {stack}) => Math.max(most, stack.rows), 1);
    this.root = {fn: profile.all, parent: null, depth: 0, x: 0, total: range[1] - range[0], weight: sum("weight"), hits: sum("hits"), from: 0, to: this.columns.length, kids: null};
  }
  // The same with other columns.
  finer(wide) { return new TimeTree(this.profile, this.pieces, this.range, wide); }
  // The number of rows of all columns in sight but a hundredth: a deep stack that is brief does not make the chart high.
  rowsIn(from = 0, to = this.root.total) {
    const wide = new Float64Array(this.rows + 1);
    for (const {x, total, stack} of this.columns) wide[stack.rows] += Math.max(0, Math.min(x + total, to) - Math.max(x, from));
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
      const {x, total, stack} = this.columns[at], last = kids[kids.length - 1];
      if (depth >= stack.rows) continue;
      const fn = stack.fns[depth - 1], weight = stack.weight(depth), hits = stack.hits(depth);
      if (last && last.fn === fn && last.to === at && last.x + last.total === x) {
        last.total = x + total - last.x;
        last.weight += weight;
        last.hits += hits;
        last.to = at + 1;
      } else {
        kids.push({fn, parent: node, depth, x, total, weight, hits, from: at, to: at + 1, kids: null});
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
  // Nodes of a flame chart have no address, but stretches of time: nanoseconds from its beginning on.
  addressOf(from, to) { return `${Math.floor(from)}.${Math.ceil(to)}`; }
  at(address) {
    const {root} = this, [from, to] = address.split(".").map(Number), end = Math.min(to, root.total);
    return from < end ? {...root, x: from, total: end - from} : root;
  }
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
// What most of some samples are in: its functions from the root on, and what of the samples is in it at each depth; at 0 all.
class Stack {
  constructor(fns, weights, hits) { Object.assign(this, {fns, weights, of: hits}); }
  get rows() { return this.fns.length + 1; }
  // Of one sample it is one number.
  weight(depth) { return this.weights.length > 1 ? this.weights[depth] : this.weights[0]; }
  hits(depth) { return this.of.length > 1 ? this.of[depth] : this.of[0]; }
}
function heaviest(samples) {
  if (samples.length === 1) return new Stack(samples[0].chain, [samples[0].weight], [samples[0].hits]);
  const sum = (of, list) => list.reduce((total, one) => total + one[of], 0), fns = [], weights = [sum("weight", samples)], hits = [sum("hits", samples)];
  for (let left = samples; ;) {
    const groups = new Map(), [{chain, weight, hits: times}] = left;
    for (; left.length === 1 && fns.length < chain.length; weights.push(weight), hits.push(times)) fns.push(chain[fns.length]);
    for (const sample of left) {
      const fn = sample.chain[fns.length] ?? -1;
      if (!groups.has(fn)) groups.set(fn, []);
      groups.get(fn).push(sample);
    }
    const [fn, most] = Array.from(groups).reduce((a, b) => sum("weight", b[1]) > sum("weight", a[1]) ? b : a);
    if (fn < 0) return new Stack(fns, weights, hits);
    fns.push(fn);
    weights.push(sum("weight", most));
    hits.push(sum("hits", most));
    left = most;
  }
}

// The thread with most of the time of a stretch, in steps, in the kept boxes. Any that ran then comes before those that did not.
export function busiestThread({threads, countThread, countBox, countBin, countWeight}, range, kept) {
  const use = new Float64Array(threads.length), [from, to] = range || [0, Infinity];
  countThread.forEach((thread, at) => { if (!kept || kept[countBox[at]]) use[thread] += countWeight[at] * (countBin[at] >= from && countBin[at] < to ? 1 : 1e-12); });
  return use.indexOf(use.reduce((a, b) => Math.max(a, b)));
}
