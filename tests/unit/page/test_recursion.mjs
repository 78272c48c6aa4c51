import assert from "node:assert/strict";
import test from "node:test";
import {LazyTree, framesTo} from "../../../src/render/assets/page/lazy_tree.js";
import {cycleName} from "../../../src/render/assets/page/recursion.js";

// main > value > array > value > array ..., so many levels, each of which also calls read (weight 2), and every array text (1).
function profileOf(levels, cycle = ["value", "array"]) {
  const names = ["main", ...cycle, "read", "text", "all"], number = (name) => names.indexOf(name), fn = [5 + cycle.length - 2, 0], end = [], total = [];
  const path = [0, 1];
  for (let level = 0; level < levels; level++) {
    path.push(fn.length);
    fn.push(number(cycle[level % cycle.length]), number("read"));
    if (level % cycle.length === 1) fn.push(number("text"));
  }
  const size = fn.length, inPath = new Set(path);
  for (let box = 0; box < size; box++) end[box] = inPath.has(box) ? size : box + 1;
  const own = fn.map((of, box) => inPath.has(box) ? 0 : names[of] === "read" ? 2 : 1);
  for (let box = 0; box < size; box++) total[box] = own.slice(box, end[box]).reduce((sum, one) => sum + one, 0);
  const kind = names.map((name) => name === "all" ? 6 : 0);
  return {all: number("all"), size, fn, end, total, depth: levels + 2, isNoFunction: () => false, name: (of) => names[of], order: names.map((_, at) => at), functions: {name: names, kind, role: names.map(() => 0)},
    folding: {longest: 5, kinds: [0, 1, 7], rare: 8, others: [1], leaving: 1, naming: 80, entering: 2}, shape: {hidden: new Uint8Array(names.length), inner: null, alias: Uint32Array.from(names, (_, at) => at), recursion: false}};
}
const treeOf = (profile) => LazyTree.roots(profile, profile.total, profile.shape, {byName: false, chains: true, opened: new Set()});
const boxOf = (tree) => tree.kids(tree.kids(tree.root)[0])[0];
const told = (profile, tree, node) => tree.kids(node).map(({fn, total}) => [profile.name(fn), total]);

test("the levels of a recursion are one box, with what they call beside each other", () => {
  const profile = profileOf(600), tree = treeOf(profile), box = boxOf(tree);
  assert.deepEqual([box.folded.length, cycleName(box.folded, profile.name)], [599, "value, array × 300"]);
  assert.deepEqual([box.total, told(profile, tree, box)], [1500, [["read", 1198], ["text", 299], ["array", 3]]]);
  assert.deepEqual([tree.rowsIn(0, 1500), tree.selfOf(box)], [4, 0]);
});
test("what stands on it has a way to the root, and is found again by it", () => {
  const profile = profileOf(600), tree = treeOf(profile), box = boxOf(tree), [read, text] = tree.kids(box);
  assert.deepEqual([framesTo(read), framesTo(text)].map((path) => path.map(({fn}) => profile.name(fn)).join(" ")), ["all main value read", "all main value array text"]);
  const again = treeOf(profile);
  assert.deepEqual([read, text, box].map((node) => again.at(tree.address(node))), [...again.kids(boxOf(again)).slice(0, 2), boxOf(again)]);
});
test("opened, each level is a row, and the first view is of its beginning", () => {
  const profile = profileOf(600), tree = treeOf(profile), first = tree.unfold(boxOf(tree));
  assert.deepEqual(told(profile, tree, first), [["array", 1498], ["read", 2]]);
  assert.equal(tree.rowsIn(0, 1500) > 500, true);
  assert.deepEqual([tree.opening(tree.root, new Set()), tree.opening(tree.root, new Set([2])), tree.heaviest(tree.root).depth > 500], [[null, 3], [3, 3], true]);
});
test("a function that calls itself seven thousand times", () => {
  const profile = profileOf(2000, ["walk", "walk"]), tree = treeOf(profile);
  assert.equal(cycleName(boxOf(tree).folded, profile.name), "walk × 2,000");
});
test("few levels stay, and no function is taken for another", () => {
  for (const levels of [1, 2, 20]) assert.equal(boxOf(treeOf(profileOf(levels))).folded, null, levels);
});
