// A flame chart: one thread's stacks in the order of time, on the axis of the strips. Each column of time shows the stack
// that has most of it: at each level the function with most of the samples that are left; a column without samples is
// blank, since the thread did not run. Nodes are made when they become visible, as in LazyTree.
export class TimeTree {
  // kept: for each box whether its samples are selected; range: [first step, behind the last] or null; steps: in a column.
  constructor(profile, shape, thread, kept, range, steps) {
    Object.assign(this, {profile, shape, up: false, chains: new Map()});
    const {countBox, countThread, countBin, countWeight, countHits, bins} = profile, [first, end] = range || [0, bins], columns = new Map();
    const wide = Math.max(1, Math.ceil(steps)), taken = Array.from({length: bins}, () => []);
    for (let at = 0; at < countBox.length; at++) {
      if (countThread[at] === thread && kept[countBox[at]]) taken[countBin[at]].push({box: countBox[at], weight: countWeight[at], hits: (countHits || countWeight)[at]});
    }
    (profile.waiting ? goOn(taken, profile.bin) : taken).slice(first, end).forEach((samples, bin) => {
      const column = Math.floor(bin / wide);
      if (samples.length && !columns.has(column)) columns.set(column, []);
      for (const sample of samples) columns.get(column).push(Object.assign(sample, {chain: this.chain(sample.box)}));
    });
    this.columns = Array.from(columns).sort(([a], [b]) => a - b).map(([column, samples]) => {
      const x = column * wide;
      return {x, total: Math.min(wide, end - first - x), stack: heaviest(samples)};
    });
    const all = this.columns.map(({stack}) => stack[0]), sum = (of) => all.reduce((total, one) => total + one[of], 0);
    this.rows = Math.max(1, ...this.columns.map(({stack}) => stack.length));
    this.root = {fn: profile.all, parent: null, depth: 0, x: 0, total: end - first, weight: sum("weight"), hits: sum("hits"), from: 0, to: this.columns.length, kids: null};
  }
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
  // The shown functions from the root to a box.
  chain(box) {
    let chain = this.chains.get(box);
    if (!chain) {
      const {parents, fn} = this.profile, {hidden, inner, alias, recursion} = this.shape;
      chain = [];
      for (let at = box; at > 0; at = parents[at]) if (!hidden[alias[fn[at]]] && !(inner && inner[at])) chain.push(alias[fn[at]]);
      chain.reverse();
      if (recursion) chain = chain.filter((one, at) => at === 0 || chain[at - 1] !== one);
      this.chains.set(box, chain);
    }
    return chain;
  }
  kids(node) { return node.kids ??= this.expand(node); }
  expand(node) {
    const kids = [], depth = node.depth + 1;
    for (let at = node.from; at < node.to; at++) {
      const {x, total, stack} = this.columns[at], level = stack[depth], last = kids[kids.length - 1];
      if (!level) continue;
      if (last && last.fn === level.fn && last.to === at && last.x + last.total === x) {
        last.total += total;
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
  // Nodes of a flame chart have no address; the selected stretch of time has.
  address() { return ""; }
  at() { return this.root; }
}

// A wait's weight stands where it began, and it goes on from there: no step holds more than `whole`.
function goOn(steps, whole) {
  let left = [];
  return steps.map((samples) => {
    const here = [];
    let room = whole;
    left = left.concat(samples).filter((sample) => {
      const weight = Math.min(sample.weight, room);
      if (weight > 0) here.push({...sample, weight});
      room -= weight;
      return (sample.weight -= weight) > 0;
    });
    return here;
  });
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

// The thread with most of the time of a stretch. Any that ran then comes before those that did not.
export function busiestThread({threads, countThread, countBin, countWeight}, range) {
  const use = new Float64Array(threads.length), [from, to] = range || [0, Infinity];
  countThread.forEach((thread, at) => { use[thread] += countWeight[at] * (countBin[at] >= from && countBin[at] < to ? 1 : 1e-12); });
  return use.indexOf(use.reduce((a, b) => Math.max(a, b)));
}
