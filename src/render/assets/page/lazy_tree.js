// The tree that a graph shows. Nodes are made when they become visible: one stands for all boxes with the same path of
// functions. Nothing here recurses: profiles may be deeper than the browser's stack.
import {pathTo} from "../shared/zoom.js";
import {IN_KERNEL, KERNEL, NO_KIND, OWN} from "./data.js";
import {LONGEST_CYCLE, besides, levelsOf} from "./recursion.js";
import {outermost, ownWeights} from "./walk.js";

// From the root to a node, those that are in folded boxes too.
// Of the levels of a recursion only those that lead on.
export const framesTo = (node) => pathTo(node).flatMap((one, at, path) => one.folded?.slice(0, path[at + 1]?.behind ?? (one.cycle ? 1 : undefined)) ?? [one]);

const WORTH_FOLDING = 1 / 1000;

class LazyNode {
  constructor(fn, parent) {
    Object.assign(this, {fn, parent, depth: parent ? parent.depth + 1 : 0, x: 0, total: 0, boxes: [], origins: null, made: null, kids: null, folded: null, inside: null, behind: undefined});
  }
  // What a click shows: a chain's frames, or the functions of the kernel.
  get closed() { return this.folded ?? this.inside; }
}

export class LazyTree {
  // up: from callee to caller, and a node's `origins` are the boxes, one for each of its own, whose samples it has. Else
  // from caller to callee. look: {byName, chains, opened}: how siblings are sorted, whether long chains are one box, and the
  // names of functions that the reader wants to see one by one.
  constructor(profile, total, shape, up, look = {byName: true, chains: false}) {
    Object.assign(this, {profile, total, shape, up, look, fromLeaves: false, worth: total, owns: new Map()});
    this.root = new LazyNode(profile.all, null);
  }
  static roots(profile, total, shape, look) {
    const tree = new LazyTree(profile, total, shape, false, look);
    tree.root.boxes = [0];
    tree.root.total = total[0];
    return tree;
  }
  static leaves(profile, total, shape, look) {
    const own = ownWeights(profile, total, shape), tree = new LazyTree(profile, total, shape, true, look);
    Object.assign(tree, {fromLeaves: true, worth: own});
    tree.root.total = total[0];
    // Means of two shares do not add up exactly; a smaller rest is rounding.
    const least = total[0] * 1e-12;
    for (let box = 1; box < profile.size; box++) if (own[box] > least) tree.root.boxes.push(box);
    tree.root.origins = tree.root.boxes;
    return tree;
  }
  static around(profile, total, shape, fn, up) {
    const tree = new LazyTree(profile, total, shape, up), found = outermost(profile, total, shape, fn);
    Object.assign(tree.root, {fn, boxes: found});
    tree.root.origins = found;
    for (const box of found) tree.root.total += total[box];
    return tree;
  }
  get all() { return this.total[0]; }
  kids(node) { return node.kids ??= node.cycle ? this.ofRecursion(node) : this.look.chains && !this.up ? this.allKids(node).map((kid) => this.worthIt(kid)) : this.allKids(node); }
  allKids(node) { return node.made ??= this.expand(node); }
  // Frames that only lead to one another, all of one width, are one box but for the last; it has them as `folded`. Of
  // others' code little may leave on the way: that stands on the box too, `behind` so many of its frames, and is `leaving`
  // with what ends there. What may be folded is the profile's to say (render/call_tree.hpp).
  fold(first) {
    const {functions: {kind, name, role}, folding: {longest, kinds, rare, others, leaving}} = this.profile, chain = [first], least = first.total * (1 - leaving / 100);
    const leads = (node) => kinds.includes(kind[node.fn]) && !node.open && !this.look.opened?.has(name[node.fn]);
    const nearly = (node, kid) => kid.total >= least && others.includes(role[node.fn]) && others.includes(role[kid.fn]);
    for (let node = first; leads(node);) {
      const kid = this.allKids(node).reduce((a, b) => a && a.total >= b.total ? a : b, null);
      if (!kid || !leads(kid) || kid.total !== node.total && !nearly(node, kid)) break;
      chain.push(node = kid);
    }
    // Rare ones of own code each end one: these are the answer.
    const own = chain.slice(0, -1).filter(({fn}) => role[fn] === OWN);
    if (own.length && own.length * rare < chain.length) chain.splice(chain.indexOf(own[0]) + 1);
    if (chain.length <= longest) return first;
    const last = chain[chain.length - 1], {fn, parent, x, total, boxes, origins} = first;
    const folded = Object.assign(new LazyNode(fn, parent), {x, total, boxes, origins, leaving: total - last.total, folded: chain.slice(0, -1)});
    const kids = folded.folded.flatMap((node, at) => node.made.filter((kid) => kid !== chain[at + 1]).map((kid) => Object.assign(kid, {behind: at + 1})));
    for (const kid of [last, ...kids]) this.place(kid, folded);
    folded.kids = [last, ...kids.map((kid) => this.worthIt(kid))].sort((a, b) => a.x - b.x);
    return folded;
  }
  // What stands on a frame of the kernel, its caller being none, is one box with it where it has many rows and is the
  // kernel's: `inside` has its functions, and `way` is the path that most of it has in common.
  foldKernel(node) {
    const {profile: {fn, end, functions: {kind}, folding: {longest, naming, entering}}, shape: {alias, hidden, inner}, total} = this, inside = new Set(), open = [];
    if (kind[node.parent.fn] === IN_KERNEL || node.open || this.look.opened?.has(this.kernelOf(node))) return node;
    let rows = 0;
    for (const first of node.boxes) {
      for (let box = first; box < end[first]; box++) {
        const of = alias[fn[box]];
        if (total[box] === 0) box = end[box] - 1;
        if (total[box] === 0 || hidden[of] || inner && inner[box]) continue;
        if (kind[of] !== IN_KERNEL && kind[of] !== NO_KIND) return node;
        while (open.length && open[open.length - 1] <= box) open.pop();
        rows = Math.max(rows, open.push(end[box]));
        inside.add(of);
      }
    }
    if (rows <= longest) return node;
    const way = [], leads = (kid) => kid.total * 100 >= node.total * (way.length > entering ? naming : 50) && kind[kid.fn] === IN_KERNEL;
    const heaviest = (one) => this.allKids(one).reduce((a, b) => a && a.total >= b.total ? a : leads(b) ? b : a, null);
    for (let one = node; one; one = heaviest(one)) way.push(one);
    return Object.assign(node, {inside: Array.from(inside, (of) => ({fn: of})), way, kids: []});
  }
  // As what it is remembered that the reader opened it.
  kernelOf({parent}) { return "kernel of " + this.profile.functions.name[parent.fn]; }
  worthIt(kid) {
    if (kid.total < this.all * WORTH_FOLDING) return kid;
    if (this.profile.functions.kind[kid.fn] === IN_KERNEL) return this.foldKernel(kid);
    const levels = this.foldRecursion(kid);
    return Object.assign(levels === kid ? this.fold(kid) : levels, {behind: kid.behind});
  }
  // The levels of a recursion: `cycle`. On them stands what they call beside each other, of all levels together.
  foldRecursion(first) {
    if (first.open || this.look.opened?.has(this.recursionOf(first)) || !this.mayRecur(first)) return first;
    const levels = levelsOf(first, (node) => this.allKids(node)), {fn, parent, x, total, boxes, origins} = first;
    return levels ? Object.assign(new LazyNode(fn, parent), {x, total, boxes, origins, folded: levels, cycle: true}) : first;
  }
  // Without making nodes: whether a function comes again on its heaviest path.
  mayRecur({fn: wanted, boxes}) {
    const {total, profile: {end, fn}, shape: {alias}} = this;
    let box = boxes.reduce((a, b) => total[b] > total[a] ? b : a);
    for (let step = 0; step < 2 * LONGEST_CYCLE; step++) {
      let next = 0;
      for (let below = box + 1; below < end[box]; below = end[below]) if (!next || total[below] > total[next]) next = below;
      if (!next || total[next] === 0) return false;
      if (alias[fn[next]] === wanted) return true;
      box = next;
    }
    return false;
  }
  ofRecursion(node) {
    const kids = besides(node.folded, (level) => this.allKids(level)).map(({fn, nodes, behind}) => Object.assign(new LazyNode(fn, node), {
      boxes: nodes.flatMap(({boxes}) => boxes), total: nodes.reduce((sum, {total}) => sum + total, 0), behind}));
    return this.layOut(kids, node.x).map((kid) => this.worthIt(kid));
  }
  recursionOf({fn}) { return "recursion of " + this.profile.functions.name[fn]; }
  // Sorts siblings, and puts them side by side.
  layOut(kids, x) {
    const {profile, look: {byName}} = this, {order} = profile, last = ({fn}) => byName ? 0 : profile.isNoFunction(fn);
    kids.sort((a, b) => last(a) - last(b) || (byName ? 0 : b.total - a.total) || order[a.fn] - order[b.fn]);
    for (const kid of kids) {
      kid.x = x;
      x += kid.total;
    }
    return kids;
  }
  place(node, parent) { Object.assign(node, {parent, depth: parent.depth + 1, made: null, kids: null, inside: null}); }
  // Puts the frames of a folded box in its place; returns the first.
  unfold(box) {
    const {folded, parent} = box;
    if (!folded) {
      this.look.opened?.add(this.kernelOf(box));
      return Object.assign(box, {inside: null, kids: null, open: true});
    }
    if (box.cycle) {
      for (const level of folded) level.open = true;
      for (const one of new Set(folded.map(({fn}) => fn))) for (const name of [this.recursionOf({fn: one}), this.profile.functions.name[one]]) this.look.opened?.add(name);
      parent.kids[parent.kids.indexOf(box)] = Object.assign(folded[0], {behind: box.behind});
      return folded[0];
    }
    box.kids.find((kid) => !kid.behind).open = true;
    folded.forEach((node, at) => {
      Object.assign(node, {open: true, kids: null});
      this.look.opened?.add(this.profile.name(node.fn));
      for (const kid of node.made) if (kid !== folded[at + 1]) this.place(Object.assign(kid, {behind: undefined}), node);
    });
    parent.kids[parent.kids.indexOf(box)] = folded[0];
    return folded[0];
  }
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
    return this.layOut(Array.from(groups.values()), node.x);
  }
  callees(node, add) {
    const {end, fn} = this.profile, {hidden, inner, alias, recursion} = this.shape, {total} = this, todo = node.boxes.slice();
    while (todo.length) {
      const box = todo.pop();
      for (let below = box + 1; below < end[box]; below = end[below]) {
        if (total[below] === 0) continue;
        const of = alias[fn[below]];
        if (hidden[of] || inner && inner[below] || recursion && of === node.fn) todo.push(below); else add(below, total[below]);
      }
    }
  }
  callers(node, add) {
    const parents = this.profile.parents, {fn} = this.profile, {hidden, inner, alias, recursion} = this.shape;
    node.boxes.forEach((box, at) => {
      let above = parents[box];
      while (above > 0 && (hidden[alias[fn[above]]] || inner && inner[above] || recursion && alias[fn[above]] === node.fn)) above = parents[above];
      if (above > 0) add(above, this.worth[node.origins[at]], node.origins[at]);
    });
  }
  // The node's sum of another column of weights by box.
  sum(node, column) {
    let worth = column;
    if (this.fromLeaves) {
      if (node === this.root) return column[0];
      if (!this.owns.has(column)) this.owns.set(column, ownWeights(this.profile, column, this.shape));
      worth = this.owns.get(column);
    }
    return (this.up ? node.origins : node.boxes).reduce((sum, box) => sum + worth[box], 0);
  }
  selfOf(node) { return this.kids(node).reduce((left, kid) => left - kid.total, node.total); }
  // The number of rows with a box of a hundredth of what is in sight: narrow towers do not make a graph high.
  rowsIn(from, to) {
    const least = (to - from) / 100, todo = [this.root];
    let rows = 1;
    while (todo.length) {
      const node = todo.pop();
      rows = Math.max(rows, node.depth + 1);
      for (const kid of this.kids(node)) if (Math.min(kid.x + kid.total, to) - Math.max(kid.x, from) >= least) todo.push(kid);
    }
    return rows;
  }
  // Where the heaviest path ends, or enters the kernel: of its frames the first tells most.
  heaviest(node) {
    for (let kid = this.next(node); kid; kid = this.next(kid)) node = kid;
    return node;
  }
  next(node) {
    const {role} = this.profile.functions, kid = this.kids(node).reduce((a, b) => a && a.total >= b.total ? a : b, null);
    return kid && kid.total >= node.total / 3 && role?.[kid.fn] !== KERNEL ? kid : null;
  }
  // The part of that path that a first view shows: depths of the first frame of `named` functions, which the answer tells of
  // (null: there is none), and of the last one before a function comes again or less than a tenth is left.
  opening(node, named) {
    const met = new Set(), least = node.total / 10;
    let first = null;
    for (let kid = this.next(node); kid && !met.has(kid.fn) && kid.total >= least; kid = this.next(kid)) {
      if (first === null && (kid.closed ?? [kid]).some(({fn}) => named.has(fn))) first = kid.depth;
      met.add(kid.fn);
      node = kid;
    }
    return [first, node.depth];
  }
  // The path as text for the address: function numbers, "7*3" for three in a row.
  address(node) {
    const runs = [];
    for (const {fn} of framesTo(node).slice(1)) {
      const last = runs[runs.length - 1];
      if (last && last[0] === fn) last[1]++; else runs.push([fn, 1]);
    }
    return runs.length > 500 ? "" : runs.map(([fn, times]) => times > 1 ? fn + "*" + times : String(fn)).join(".");
  }
  // The node of such a text, or the last existing one on its path.
  at(address) {
    const fns = (address ? address.split(".") : []).flatMap((run) => { const [fn, times] = run.split("*").map(Number); return new Array(times || 1).fill(fn); });
    let node = this.root;
    for (let at = 0; at < fns.length;) {
      if (node.inside) this.unfold(node);
      const {folded} = node, parts = folded ? [...folded, {}].findIndex(({fn}, behind) => fn !== fns[at + behind]) : 0;
      const kid = this.kids(node).find((one) => one.fn === fns[at + parts] && (!folded || (one.behind ?? folded.length) === parts));
      if (!kid) return node;
      node = kid;
      at += parts + (kid.folded ? 0 : 1);
    }
    return node;
  }
}
