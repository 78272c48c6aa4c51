import assert from "node:assert/strict";
import test from "node:test";
import {LazyTree, framesTo} from "../../../src/render/assets/page/lazy_tree.js";

// a > b > ... > g > (x 3, y 5), all of them one after the other; `kinds` of a to g.
function profileOf(kinds = [0, 0, 0, 0, 0, 0, 0]) {
  const names = [..."abcdefgxy", "all"], fn = [9, 0, 1, 2, 3, 4, 5, 6, 7, 8], end = [10, 10, 10, 10, 10, 10, 10, 10, 9, 10];
  return {all: 9, size: 10, fn, end, depth: 9, order: fn.map((_, at) => at), functions: {name: names, kind: [...kinds, 0, 0, 6], role: new Array(10).fill(2)}, folding: {longest: 5, kinds: [0, 1, 2, 7], rare: 8, others: [1], leaving: 1},
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
