// Trees to draw, in columns and depth-first order: `end` is the index behind a node's subtree. Nothing here recurses:
// stacks may be deeper than the browser's own.
class Tree {
  constructor() {
    this.fn = []; this.parent = []; this.depth = []; this.x = []; this.total = []; this.self = []; this.end = [];
    this.rows = 0;
  }
  get size() { return this.fn.length; }
  add(fn, parent, x, total) {
    const depth = parent < 0 ? 0 : this.depth[parent] + 1;
    this.fn.push(fn); this.parent.push(parent); this.depth.push(depth); this.x.push(x);
    this.total.push(total); this.self.push(total);
    if (parent >= 0) this.self[parent] -= total;
    this.rows = Math.max(this.rows, depth + 1);
    return this.size - 1;
  }
  finish() {
    this.end = Array.from(this.fn, (_, node) => node + 1);
    for (let node = this.size - 1; node > 0; node--) {
      const parent = this.parent[node];
      if (this.end[parent] < this.end[node]) this.end[parent] = this.end[node];
    }
    return this;
  }
  path(node) {
    const nodes = [];
    for (; node >= 0; node = this.parent[node]) nodes.push(node);
    return nodes.reverse();
  }
}

// All stacks from their roots. The profile's boxes are merged and in order already.
function rootTree(profile, {total}) {
  const tree = new Tree(), made = new Int32Array(profile.size).fill(-1), next = new Float64Array(profile.size);
  for (let box = 0; box < profile.size; box++) {
    if (total[box] <= 0 && box > 0) continue;
    const parent = profile.boxParent[box], x = box ? next[parent] : 0;
    made[box] = tree.add(profile.boxFunction[box], box ? made[parent] : -1, x, total[box]);
    next[box] = x;
    if (box) next[parent] += total[box];
  }
  return tree.finish();
}

// Grows a tree from boxes with weights: `next(box, weight, push)` names what stands above each. Nodes lighter than
// `least` are gathered.
function growTree(profile, fn, entries, next, least) {
  const tree = new Tree();
  const sum = (list) => list.reduce((all, entry) => all + entry[1], 0);
  const todo = [{fn, parent: -1, x: 0, total: sum(entries), entries}];
  while (todo.length) {
    const group = todo.pop();
    const node = tree.add(group.fn, group.parent, group.x, group.total);
    const groups = new Map();
    const push = (box, weight) => {
      const key = profile.boxFunction[box];
      let found = groups.get(key);
      if (!found) groups.set(key, found = {fn: key, parent: node, x: 0, total: 0, entries: []});
      found.total += weight;
      found.entries.push([box, weight]);
    };
    for (const [box, weight] of group.entries) next(box, weight, push);
    const wide = Array.from(groups.values()).filter((child) => child.total >= least);
    wide.sort((a, b) => a.fn - b.fn);  // functions are numbered by name
    const narrow = Array.from(groups.values()).reduce((all, child) => child.total < least ? all + child.total : all, 0);
    if (narrow > 0) wide.push({fn: profile.narrow, parent: node, x: 0, total: narrow, entries: []});
    let x = group.x;
    for (const child of wide) { child.x = x; x += child.total; }
    todo.push(...wide.reverse());
  }
  return tree.finish();
}

const caller = (profile) => (box, weight, push) => {
  if (profile.boxParent[box] > 0) push(profile.boxParent[box], weight);
};
function leafTree(profile, weights) {
  const leaves = [];
  for (let box = 1; box < profile.size; box++) if (weights.self[box] > 0) leaves.push([box, weights.self[box]]);
  let first = true;
  const up = caller(profile);
  const next = (box, weight, push) => {
    if (first) { for (const [leaf, self] of leaves) push(leaf, self); first = false; return; }
    up(box, weight, push);
  };
  return growTree(profile, profile.boxFunction[0], [[0, weights.total[0]]], next, weights.total[0] / 5000);
}

// Where a function stands and no caller of it is the same function: its time, counted once.
function outermost(profile, weights, fn) {
  const within = new Uint8Array(profile.size), found = [];
  for (let box = 1; box < profile.size; box++) {
    const parent = profile.boxParent[box];
    within[box] = within[parent];
    if (profile.boxFunction[box] === fn && !within[parent]) {
      within[box] = 1;
      if (weights.total[box] > 0) found.push([box, weights.total[box]]);
    }
  }
  return found;
}
function callersTree(profile, weights, fn) {
  const found = outermost(profile, weights, fn);
  return growTree(profile, fn, found, caller(profile), weights.total[0] / 5000);
}
function calleesTree(profile, weights, fn) {
  const children = Array.from({length: profile.size}, () => null);
  for (let box = profile.size - 1; box > 0; box--) (children[profile.boxParent[box]] ??= []).push(box);
  const next = (box, _, push) => {
    for (const child of children[box] || []) if (weights.total[child] > 0) push(child, weights.total[child]);
  };
  return growTree(profile, fn, outermost(profile, weights, fn), next, weights.total[0] / 5000);
}

// Self and total of every function; a recursion's time counts once.
function functionTable(profile, weights) {
  const count = profile.functions.name.length;
  const self = new Float64Array(count), total = new Float64Array(count), open = new Uint32Array(count), path = [];
  for (let box = 1; box < profile.size; box++) {
    while (path.length && path[path.length - 1] !== profile.boxParent[box]) open[profile.boxFunction[path.pop()]]--;
    const fn = profile.boxFunction[box];
    self[fn] += weights.self[box];
    if (open[fn]++ === 0) total[fn] += weights.total[box];
    path.push(box);
  }
  const rows = [];
  for (let fn = 0; fn < count; fn++) if (total[fn] > 0) rows.push({fn, self: self[fn], total: total[fn]});
  return rows;
}
