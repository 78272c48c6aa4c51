// A flame chart: one thread's stacks in the order of time. Width is time, in the profile's steps; in gaps the thread
// did not run. Nodes are made when they become visible, as in LazyTree.
export class TimeTree {
  // kept: for each box whether its samples are selected; range: [first step, behind the last] or null.
  constructor(profile, shape, thread, kept, range) {
    Object.assign(this, {profile, shape, up: false, chains: new Map()});
    const {countBox, countThread, countBin, countWeight, countHits} = profile, [first, end] = range || [0, profile.bins], entries = [];
    for (let at = 0; at < countBox.length; at++) {
      if (countThread[at] === thread && countBin[at] >= first && countBin[at] < end && kept[countBox[at]]) entries.push(at);
    }
    entries.sort((a, b) => countBin[a] - countBin[b] || a - b);
    // The number of samples that fit a step; if a coarse clock gives more, later ones are moved on.
    const room = profile.period > 0 ? profile.bin / profile.period : 1;
    this.entries = [];
    let x = 0, weight = 0, hits = 0, deepest = 0;
    for (const at of entries) {
      x = Math.max(x, (countBin[at] - first) * room);
      this.entries.push({box: countBox[at], x, weight: countWeight[at], hits: (countHits || countWeight)[at]});
      x += countWeight[at];
      weight += countWeight[at];
      hits += (countHits || countWeight)[at];
      deepest = Math.max(deepest, this.chain(countBox[at]).length);
    }
    this.rows = deepest + 1;
    this.root = {fn: profile.all, parent: null, depth: 0, x: 0, total: Math.max(x, (end - first) * room), weight, hits, from: 0, to: entries.length, kids: null};
  }
  rowsIn() { return this.rows; }
  get all() { return this.root.total; }
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
    const kids = [], least = this.root.total * 1e-9;
    for (let at = node.from; at < node.to; at++) {
      const {box, x, weight, hits} = this.entries[at], fn = this.chain(box)[node.depth], last = kids[kids.length - 1];
      if (fn === undefined) continue;
      if (last && last.fn === fn && last.to === at && x - (last.x + last.total) <= least) {
        last.total += weight;
        last.hits += hits;
        last.to = at + 1;
      } else {
        kids.push({fn, parent: node, depth: node.depth + 1, x, total: weight, hits, from: at, to: at + 1, kids: null});
      }
    }
    return kids;
  }
  selfOf(node) { return this.kids(node).reduce((left, kid) => left - kid.total, node.weight ?? node.total); }
  path(node) {
    const nodes = [];
    for (; node; node = node.parent) nodes.push(node);
    return nodes.reverse();
  }
  // Nodes of a flame chart have no address; the selected stretch of time has.
  address() { return ""; }
  at() { return this.root; }
}
