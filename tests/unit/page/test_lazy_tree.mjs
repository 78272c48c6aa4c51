import assert from "node:assert/strict";
import test from "node:test";
import {LazyTree, framesTo} from "../../../src/render/assets/page/lazy_tree.js";

// a > b > ... > g > (x 3, y 5), all of them one after the other; `kinds` of a to g.
function profileOf(kinds = [0, 0, 0, 0, 0, 0, 0]) {
  const names = [..."abcdefgxy", "all"], fn = [9, 0, 1, 2, 3, 4, 5, 6, 7, 8], end = [10, 10, 10, 10, 10, 10, 10, 10, 9, 10];
  return {all: 9, size: 10, fn, end, depth: 9, isNoFunction(of) { return this.functions.kind[of] === 4; }, order: fn.map((_, at) => at), functions: {name: names, kind: [...kinds, 0, 0, 6], role: new Array(10).fill(2)}, folding: {longest: 5, kinds: [0, 1, 7], rare: 8, others: [1], leaving: 1, naming: 80, entering: 2},
    total: [8, 8, 8, 8, 8, 8, 8, 8, 3, 5], shape: {hidden: new Uint8Array(10), inner: null, alias: Uint32Array.from(names, (_, at) => at), recursion: false}};
}
const treeOf = (profile, look) => LazyTree.roots(profile, profile.total, profile.shape, look);
const shown = (tree, profile, node = tree.root) => [(node.folded ?? [node]).map(({fn}) => profile.functions.name[fn]).join(""), ...tree.kids(node).flatMap((kid) => shown(tree, profile, kid))];

test("frames that only lead on are one box, but for the last", () => {
  const profile = profileOf(), tree = treeOf(profile, {byName: true, chains: true});
  assert.deepEqual(shown(tree, profile), ["all", "abcdef", "g", "x", "y"]);
  const [box] = tree.kids(tree.root), [g] = tree.kids(box);
  assert.deepEqual([box.total, tree.selfOf(box), g.depth, tree.rowsIn(0, 8)], [8, 0, 2, 4]);
  assert.equal(tree.address(tree.kids(g)[1]), "0.1.2.3.4.5.6.8");
  assert.equal(tree.at("0.1.2.3.4.5.6.8"), tree.kids(g)[1]);
  assert.equal(tree.at("0.1.2"), box);
});
test("opened it is as without folding", () => {
  const profile = profileOf(), tree = treeOf(profile, {byName: true, chains: true}), plain = treeOf(profile, {byName: true, chains: false});
  const first = tree.unfold(tree.kids(tree.root)[0]);
  assert.equal(first.fn, 0);
  assert.deepEqual(shown(tree, profile), shown(plain, profile));
  assert.equal(tree.at("0.1.2.3.4.5.6.8").depth, 8);
  assert.equal(tree.rowsIn(0, 8), 9);
});
test("threads and scopes are never folded, nor short chains", () => {
  const profile = profileOf([5, 0, 0, 0, 0, 0, 0]);
  assert.deepEqual(shown(treeOf(profile, {byName: true, chains: true}), profile), ["all", "a", "bcdef", "g", "x", "y"]);
  const scope = profileOf([0, 0, 0, 3, 0, 0, 0]);
  assert.equal(shown(treeOf(scope, {byName: true, chains: true}), scope).length, 10);
});
test("what may be folded, and from how many frames on, is the profile's to say", () => {
  const profile = profileOf();
  Object.assign(profile.folding, {longest: 6, kinds: [0]});
  assert.deepEqual(shown(treeOf(profile, {byName: true, chains: true}), profile), ["all", "abcdef", "g", "x", "y"]);
  profile.folding.longest = 7;
  assert.equal(shown(treeOf(profile, {byName: true, chains: true}), profile).length, 10);
  Object.assign(profile.folding, {longest: 5, kinds: [1]});
  assert.equal(shown(treeOf(profile, {byName: true, chains: true}), profile).length, 10);
});
test("rare frames of own code in a chain are in sight", () => {
  const profile = profileOf();
  Object.assign(profile.folding, {longest: 2, rare: 6});
  profile.functions.role[3] = 0;
  assert.deepEqual(shown(treeOf(profile, {byName: true, chains: true}), profile), ["all", "abc", "d", "ef", "g", "x", "y"]);
  profile.functions.role.fill(0, 1, 4);  // b, c and d: not rare
  assert.deepEqual(shown(treeOf(profile, {byName: true, chains: true}), profile), ["all", "abcdef", "g", "x", "y"]);
});
test("the heaviest first, or by name", () => {
  const profile = profileOf();
  assert.deepEqual(shown(treeOf(profile, {byName: false, chains: true}), profile).slice(-2), ["y", "x"]);
  profile.functions.kind[8] = 4;  // a note as [lost] is last, even the heaviest
  assert.deepEqual(shown(treeOf(profile, {byName: false, chains: true}), profile).slice(-2), ["x", "y"]);
});
test("narrow towers do not make it high", () => {
  const profile = profileOf();
  profile.total = [800, 800, 800, 3, 3, 3, 3, 3, 1, 2];
  const tree = treeOf(profile, {byName: true, chains: false});
  assert.equal(tree.rowsIn(0, 800), 3);
  assert.equal(tree.rowsIn(0, 3), 9);
  assert.equal(tree.heaviest(tree.root).fn, 1);
});
test("the heaviest path goes up to the kernel", () => {
  const profile = profileOf(), tree = treeOf(profile, {byName: true, chains: false});
  assert.equal(profile.functions.name[tree.heaviest(tree.root).fn], "y");
  profile.functions.role = [0, 0, 0, 3, 3, 3, 3, 3, 3, 0];
  assert.equal(profile.functions.name[tree.heaviest(tree.root).fn], "c");
});

// a > b > ... > g, from c a call of x, g has 3 of its own; a hundredth may leave.
function nearlyOf(total) {
  const profile = profileOf();
  Object.assign(profile, {fn: [9, 0, 1, 2, 7, 3, 4, 5, 6, 8], end: [10, 10, 10, 10, 5, 10, 10, 10, 10, 10], total});
  profile.functions.role.fill(1);
  return profile;
}
test("in others' code a little may leave on the way, and stands beside the last", () => {
  const profile = nearlyOf([1000, 1000, 1000, 1000, 4, 995, 993, 993, 993, 500]), tree = treeOf(profile, {byName: false, chains: true});
  assert.deepEqual(shown(tree, profile), ["all", "abcdef", "g", "y", "x"]);
  const [box] = tree.kids(tree.root), [g, x] = tree.kids(box);
  assert.deepEqual([box.total, box.leaving, tree.selfOf(box), g.depth, x.depth, x.x, x.parent === box], [1000, 7, 3, 2, 2, 995, true]);
  assert.deepEqual([g, x].map((node) => framesTo(node).map(({fn}) => profile.functions.name[fn]).join("")), ["allabcdefg", "allabcx"]);
  for (const node of [g, x, tree.kids(g)[0]]) assert.equal(tree.at(tree.address(node)), node);
  assert.equal(tree.at("0.1.2"), box);
  const plain = treeOf(profile, {byName: false, chains: false});
  tree.unfold(box);
  assert.deepEqual(shown(tree, profile), shown(plain, profile));
  for (const address of ["0.1.2.7", "0.1.2.3.4.5.6.8"]) assert.deepEqual([tree.at(address).depth, tree.at(address).x], [plain.at(address).depth, plain.at(address).x]);
});
test("not where more leaves, nor in own code", () => {
  for (const total of [[1000, 1000, 1000, 1000, 9, 990, 989, 989, 989, 500], [1000, 1000, 1000, 1000, 4, 995, 993, 993, 993, 500]]) {
    const profile = nearlyOf(total);
    if (total[4] === 4) profile.functions.role[3] = 0;
    assert.equal(shown(treeOf(profile, {byName: false, chains: true}), profile).length, 10);
  }
});

// a > b > the kernel's c > d > e > f > g > (x, y).
function kernelOf(total, kinds = [0, 0, 2, 2, 2, 2, 2, 2, 2]) {
  const profile = profileOf();
  Object.assign(profile, {total});
  profile.functions.kind = [...kinds, 6];
  profile.functions.role = kinds.map((kind) => kind === 2 ? 3 : 0);
  return profile;
}
const inside = ({fn}, profile) => profile.functions.name[fn];
test("the kernel is one box, named after what nearly all of it leads to", () => {
  const profile = kernelOf([100, 100, 100, 99, 99, 90, 85, 60, 20, 40]), tree = treeOf(profile, {byName: true, chains: true, opened: new Set()});
  assert.deepEqual(shown(tree, profile), ["all", "a", "b", "c"]);
  const kernel = tree.kids(tree.kids(tree.kids(tree.root)[0])[0])[0];
  assert.deepEqual([kernel.way.map((node) => inside(node, profile)).join(""), kernel.closed.map((node) => inside(node, profile)).join("")], ["cdef", "cdefgxy"]);
  assert.deepEqual([framesTo(kernel).map((node) => inside(node, profile)).join(""), tree.address(kernel)], ["allabc", "0.1.2"]);
  // Opened it is as without folding, and stays open in the next tree.
  const plain = treeOf(profile, {byName: true, chains: false});
  assert.equal(tree.unfold(kernel), kernel);
  assert.deepEqual(shown(tree, profile), shown(plain, profile));
  assert.deepEqual(shown(treeOf(profile, tree.look), profile), shown(plain, profile));
});
test("the kernel is not named after its entry where half of it is one call", () => {
  const profile = kernelOf([100, 100, 100, 99, 99, 60, 40, 30, 20, 10]), tree = treeOf(profile, {byName: true, chains: true});
  assert.equal(inside(tree.at("0.1.2").way.at(-1), profile), "e");
});
test("an address leads into the kernel", () => {
  const profile = kernelOf([100, 100, 100, 99, 99, 90, 85, 60, 20, 40]), tree = treeOf(profile, {byName: true, chains: true});
  assert.equal(tree.at("0.1.2").closed.length, 7);
  assert.equal(inside(tree.at("0.1.2.3.4.5"), profile), "f");
});
test("few rows of the kernel are rows, and what it hides is never more than the kernel", () => {
  const all = [100, 100, 100, 99, 99, 90, 85, 60, 20, 40], shallow = kernelOf(all, [0, 0, 0, 0, 2, 2, 2, 2, 2]), note = kernelOf(all, [0, 0, 2, 2, 2, 2, 2, 2, 4]);
  for (const profile of [shallow, note]) assert.equal(shown(treeOf(profile, {byName: true, chains: true}), profile).length, 10);
});
