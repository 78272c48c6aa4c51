// The tree that a graph shows. Nodes are made when they become visible: one stands for all boxes with the same path of
// functions. Nothing here recurses: profiles may be deeper than the browser's stack.
import {outermost, ownWeights, rowsOf} from "./walk.js";

class LazyNode {
  constructor(fn, parent) {
    Object.assign(this, {fn, parent, depth: parent ? parent.depth + 1 : 0, x: 0, total: 0, boxes: [], origins: null, kids: null});
  }
}

export class LazyTree {
  // up: from callee to caller, and a node's `origins` are the boxes, one for each of its own, whose samples it has. Else
  // from caller to callee.
  constructor(profile, total, shape, up, rows) {
    Object.assign(this, {profile, total, shape, up, rows, fromLeaves: false, worth: total, owns: new Map()});
    this.root = new LazyNode(profile.all, null);
  }
  static roots(profile, total, shape) {
    const tree = new LazyTree(profile, total, shape, false, rowsOf(profile, total, shape));
    tree.root.boxes = [0];
    tree.root.total = total[0];
    return tree;
  }
  static leaves(profile, total, shape) {
    const {own, rows} = ownWeights(profile, total, shape), tree = new LazyTree(profile, total, shape, true, rows + 1);
    Object.assign(tree, {fromLeaves: true, worth: own});
    tree.root.total = total[0];
    // Means of two shares do not add up exactly; a smaller rest is rounding.
    const least = total[0] * 1e-12;
    for (let box = 1; box < profile.size; box++) if (own[box] > least) tree.root.boxes.push(box);
    tree.root.origins = tree.root.boxes;
    return tree;
  }
  static around(profile, total, shape, fn, up) {
    const tree = new LazyTree(profile, total, shape, up, 0), found = outermost(profile, total, shape, fn);
    Object.assign(tree.root, {fn, boxes: found});
    tree.root.origins = found;
    for (const box of found) tree.root.total += total[box];
    tree.rows = tree.measure();
    return tree;
  }
  get all() { return this.total[0]; }
  kids(node) { return node.kids ??= this.expand(node); }
  expand(node) {
    const groups = new Map();
    const add = (box, weight, origin) => {
      const fn = this.shape.alias[this.profile.fn[box]];
      let kid = groups.get(fn);
      if (!kid) {
        groups.set(fn, kid = new LazyNode(fn, node));
        if (this.up) kid.origins = [];
      }
      kid.total += weight;
      kid.boxes.push(box);
      if (this.up) kid.origins.push(origin);
    };
    if (this.fromLeaves && node === this.root) node.boxes.forEach((box) => add(box, this.worth[box], box));
    else if (this.up) this.callers(node, add);
    else this.callees(node, add);
    const order = this.profile.order, kids = Array.from(groups.values()).sort((a, b) => order[a.fn] - order[b.fn]);
    let x = node.x;
    for (const kid of kids) {
      kid.x = x;
      x += kid.total;
    }
    return kids;
  }
  callees(node, add) {
    const {end, fn} = this.profile, {hidden, alias, recursion} = this.shape, {total} = this, todo = node.boxes.slice();
    while (todo.length) {
      const box = todo.pop();
      for (let below = box + 1; below < end[box]; below = end[below]) {
        if (total[below] === 0) continue;
        const of = alias[fn[below]];
        if (hidden[of] || recursion && of === node.fn) todo.push(below); else add(below, total[below]);
      }
    }
  }
  callers(node, add) {
    const parents = this.profile.parents, {fn} = this.profile, {hidden, alias, recursion} = this.shape;
    node.boxes.forEach((box, at) => {
      let above = parents[box];
      while (above > 0 && (hidden[alias[fn[above]]] || recursion && alias[fn[above]] === node.fn)) above = parents[above];
      if (above > 0) add(above, this.worth[node.origins[at]], node.origins[at]);
    });
  }
  // The node's sum of another column of weights by box.
  sum(node, column) {
    let worth = column;
    if (this.fromLeaves) {
      if (node === this.root) return column[0];
      if (!this.owns.has(column)) this.owns.set(column, ownWeights(this.profile, column, this.shape).own);
      worth = this.owns.get(column);
    }
    return (this.up ? node.origins : node.boxes).reduce((sum, box) => sum + worth[box], 0);
  }
  selfOf(node) { return this.kids(node).reduce((left, kid) => left - kid.total, node.total); }
  // The number of rows with a box that is wide enough to be seen.
  measure() {
    const least = this.root.total / 3000, todo = [this.root];
    let rows = 1;
    while (todo.length) {
      const node = todo.pop();
      rows = Math.max(rows, node.depth + 1);
      for (const kid of this.kids(node)) if (kid.total >= least) todo.push(kid);
    }
    return rows;
  }
  path(node) {
    const nodes = [];
    for (; node; node = node.parent) nodes.push(node);
    return nodes.reverse();
  }
  // The path as text for the address: function numbers, "7*3" for three in a row.
  address(node) {
    const runs = [];
    for (const {fn} of this.path(node).slice(1)) {
      const last = runs[runs.length - 1];
      if (last && last[0] === fn) last[1]++; else runs.push([fn, 1]);
    }
    return runs.length > 500 ? "" : runs.map(([fn, times]) => times > 1 ? fn + "*" + times : String(fn)).join(".");
  }
  // The node of such a text, or the last existing one on its path.
  at(address) {
    let node = this.root;
    for (const run of address ? address.split(".") : []) {
      const [fn, times] = run.split("*").map(Number);
      for (let time = 0; time < (times || 1); time++) {
        const kid = this.kids(node).find((one) => one.fn === fn);
        if (!kid) return node;
        node = kid;
      }
    }
    return node;
  }
}
