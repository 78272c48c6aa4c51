import assert from "node:assert/strict";
import test from "node:test";
import {TimeTree} from "../../../src/render/assets/page/time_tree.js";

// all > a > (b, c): samples of one thread in eight steps.
function treeOf(samples, steps, range = null) {
  const profile = {all: 3, fn: [3, 0, 1, 2], parents: [0, 0, 1, 1], bins: 8, countHits: null};
  for (const [name, at] of [["countBin", 0], ["countBox", 1], ["countWeight", 2]]) profile[name] = samples.map((one) => one[at]);
  profile.countThread = samples.map(() => 0);
  return new TimeTree(profile, {hidden: [0, 0, 0, 0], inner: null, alias: [0, 1, 2, 3], recursion: false}, 0, [1, 1, 1, 1], range, steps);
}
const shown = (tree, node) => tree.kids(node).map((kid) => [kid.fn, kid.x, kid.total, kid.weight]);

test("a column shows the stack that has most of it, over its whole width", () => {
  const tree = treeOf([[0, 2, 3], [1, 3, 1], [2, 3, 2], [6, 2, 1]], 2);
  assert.equal(tree.root.total, 8);
  const [first, last] = tree.kids(tree.root);
  assert.deepEqual(shown(tree, tree.root), [[0, 0, 4, 6], [0, 6, 2, 1]]);
  assert.deepEqual(shown(tree, first), [[1, 0, 2, 3], [2, 2, 2, 2]]);
  assert.deepEqual(shown(tree, last), [[1, 6, 2, 1]]);
  assert.deepEqual([tree.all, tree.selfOf(first), tree.rows], [7, 1, 3]);
});
test("of a stretch of time, at its own beginning", () => {
  const tree = treeOf([[0, 2, 3], [5, 3, 2]], 1, [4, 8]);
  assert.deepEqual([tree.root.total, shown(tree, tree.root)], [4, [[0, 1, 1, 2]]]);
});
test("a wait goes on from where it began", () => {
  const profile = {all: 3, fn: [3, 0, 1, 2], parents: [0, 0, 1, 1], bins: 8, bin: 10, waiting: true, countThread: [0, 0], countHits: null,
    countBin: [1, 2], countBox: [2, 3], countWeight: [25, 10]};
  const tree = new TimeTree(profile, {hidden: [0, 0, 0, 0], inner: null, alias: [0, 1, 2, 3], recursion: false}, 0, [1, 1, 1, 1], [2, 8], 1);
  const [waits] = tree.kids(tree.root);
  assert.deepEqual([shown(tree, tree.root), shown(tree, waits)], [[[0, 0, 3, 25]], [[1, 0, 2, 15], [2, 2, 1, 5]]]);
});
test("a deep stack of less than a hundredth of the columns does not make the chart high, until it is what is in sight", () => {
  const shallow = Array.from({length: 300}, (_, at) => [at, 1, 1]), profile = {all: 3, fn: [3, 0, 1, 2], parents: [0, 0, 1, 1], bins: 1000, countHits: null};
  const samples = [...shallow, [300, 2, 1], [301, 2, 1]];
  for (const [name, at] of [["countBin", 0], ["countBox", 1], ["countWeight", 2]]) profile[name] = samples.map((one) => one[at]);
  profile.countThread = samples.map(() => 0);
  const tree = new TimeTree(profile, {hidden: [0, 0, 0, 0], inner: null, alias: [0, 1, 2, 3], recursion: false}, 0, [1, 1, 1, 1], null, 1);
  assert.deepEqual([tree.rowsIn(), tree.rowsIn(0, 1000), tree.rowsIn(200, 400), tree.rowsIn(300, 302), tree.rowsIn(0, 300)], [2, 2, 3, 3, 2]);
});
test("nothing was sampled", () => assert.deepEqual(shown(treeOf([], 1), treeOf([], 1).root), []));
