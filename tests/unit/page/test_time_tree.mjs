import assert from "node:assert/strict";
import test from "node:test";
import {timeOrder} from "../../../src/render/assets/page/time_order.js";
import {TimeTree, busiestThread} from "../../../src/render/assets/page/time_tree.js";

// all > a > (b, c), then a note: samples [step, box, weight] of one thread in eight steps of 10 ns.
function profileOf(samples, more = {}) {
  const profile = {all: 3, size: 5, fn: [3, 0, 1, 2, 4], parents: [0, 0, 1, 1, 0], bins: 8, bin: 10, step: 10, isTime: true, sampling: 10, countHits: null,
    functions: {name: ["a", "b", "c", "all", "[not sampled]"], kind: [0, 0, 0, 6, 4], role: [0, 0, 0, 5, 5]}, ...more};
  for (const [name, at] of [["countStep", 0], ["countBox", 1], ["countWeight", 2]]) profile[name] = samples.map((one) => one[at]);
  return Object.assign(profile, {countBin: profile.countStep, countThread: samples.map(() => 0)});
}
const chainIn = ({parents, fn}) => (box) => { const chain = []; for (let at = box; at > 0; at = parents[at]) chain.unshift(fn[at]); return chain; };
const kept = [1, 1, 1, 1, 1];
const piecesOf = (profile, waits) => timeOrder(profile, 0, kept, chainIn(profile), waits);
const places = (pieces) => pieces.map(({from, to, samples}) => [from, to, ...samples.map(({chain}) => chain.join(""))]);
const treeOf = (profile, wide = 1, range = [0, 80]) => new TimeTree(profile, piecesOf(profile), range, wide);
const shown = (tree, node) => tree.kids(node).map((kid) => [kid.fn, kid.x, kid.total, kid.weight]);

test("a sample stands for the time before it; where none was seen there is a gap", () => {
  assert.deepEqual(places(piecesOf(profileOf([[0, 2, 10], [1, 3, 10], [4, 2, 10], [7, 3, 15]]))), [[0, 10, "01"], [10, 20, "02"], [40, 50, "01"], [65, 80, "02"]]);
});
test("less than half of a period is no gap, and none reaches into the one before", () => {
  assert.deepEqual(places(piecesOf(profileOf([[2, 2, 21], [4, 3, 16], [5, 2, 30]], {sampling: 24}))), [[0, 30, "01"], [30, 50, "02"], [50, 60, "01"]]);
});
test("what was noticed later than it was used is a mark of one step", () => {
  assert.deepEqual(places(piecesOf(profileOf([[0, 2, 10], [6, 4, 60]]))), [[0, 10, "01"], [60, 70, "4"]]);
});
test("a wait goes on from where it began, between the CPU time, and until the next one that was looked at", () => {
  const waits = profileOf([[0, 2, 25], [5, 3, 100]], {waiting: true, event: "offcpu"});
  const of = {profile: waits, thread: 0, kept, chain: chainIn(waits)};
  assert.deepEqual(places(piecesOf(profileOf([[1, 2, 10]]), of)), [[0, 10, "01"], [10, 20, "01"], [20, 35, "01"], [50, 80, "02"]]);
  const own = piecesOf(waits);
  assert.deepEqual(places(own), [[0, 25, "01"], [50, 80, "02"]]);
  assert.deepEqual(own.map(({samples: [{weight}]}) => weight), [25, 30]);
});
test("a picture of both has the waits of its own", () => {
  const wall = profileOf([[0, 2, 10], [1, 3, 20]], {waiting: true, event: "wall"});
  wall.functions.role[2] = 7;
  assert.deepEqual(places(piecesOf(wall)), [[0, 10, "01"], [10, 30, "02"]]);
});

test("neighbours with the same frame are one box, but not over a gap", () => {
  const profile = profileOf([[0, 2, 10], [1, 3, 10], [2, 3, 10], [6, 2, 10]]), tree = treeOf(profile);
  assert.deepEqual(shown(tree, tree.root), [[0, 0, 30, 30], [0, 60, 10, 10]]);
  assert.deepEqual(shown(tree, tree.kids(tree.root)[0]), [[1, 0, 10, 10], [2, 10, 20, 20]]);
  assert.deepEqual([tree.all, tree.root.total, tree.rows, tree.selfOf(tree.kids(tree.root)[0])], [40, 80, 3, 0]);
});
test("a column shows the stack that has most of it, and is blank without samples", () => {
  const tree = treeOf(profileOf([[0, 2, 10], [1, 3, 5], [2, 2, 8], [6, 3, 10]]), 40);
  assert.deepEqual(shown(tree, tree.root), [[0, 0, 80, 33]]);
  assert.deepEqual(shown(tree, tree.kids(tree.root)[0]), [[1, 0, 40, 18], [2, 40, 40, 10]]);
  assert.deepEqual(shown(tree.finer(1), tree.finer(1).root), [[0, 0, 30, 23], [0, 60, 10, 10]]);
});
test("a stretch of time has the samples of its steps, at its own beginning", () => {
  const tree = treeOf(profileOf([[0, 2, 10], [4, 3, 30], [5, 2, 10]]), 1, [40, 80]);
  assert.deepEqual([tree.root.total, shown(tree, tree.root), tree.all], [40, [[0, 0, 20, 40]], 40]);
  const waits = treeOf(profileOf([[1, 2, 25], [6, 3, 10]], {waiting: true, event: "offcpu"}), 1, [20, 80]);
  assert.deepEqual(shown(waits, waits.root), [[0, 0, 15, 15], [0, 40, 10, 10]]);
});
test("what is in sight has an address", () => {
  const tree = treeOf(profileOf([[0, 2, 10], [4, 3, 30]]));
  assert.equal(tree.addressOf(10.5, 40), "10.40");
  const {x, total, depth, fn} = tree.at("10.40");
  assert.deepEqual([x, total, depth, fn, shown(tree, tree.at("10.40")).length], [10, 30, 0, 3, 2]);
  assert.deepEqual(["", "90.95", "x"].map((address) => tree.at(address)), [tree.root, tree.root, tree.root]);
});
test("the box at a place, or the highest below it", () => {
  const tree = treeOf(profileOf([[0, 2, 10], [1, 3, 10]]));
  assert.deepEqual([tree.nearest(15, 2).fn, tree.nearest(15, 9).fn, tree.nearest(30, 2)], [2, 2, tree.root]);
});
test("a deep stack of less than a hundredth of the columns does not make the chart high, until it is what is in sight", () => {
  const profile = profileOf([...Array.from({length: 300}, (_, at) => [at, 1, 10]), [300, 2, 10], [301, 2, 10]], {bins: 1000}), tree = treeOf(profile, 1, [0, 10000]);
  assert.deepEqual([tree.rowsIn(), tree.rowsIn(0, 10000), tree.rowsIn(2000, 4000), tree.rowsIn(3000, 3020), tree.rowsIn(0, 3000)], [2, 2, 3, 3, 2]);
});
test("the busiest thread is that of what is chosen", () => {
  const profile = {threads: [0, 0], countThread: [0, 1, 1], countBox: [1, 2, 2], countBin: [0, 1, 5], countWeight: [50, 30, 30]};
  assert.deepEqual([busiestThread(profile, null), busiestThread(profile, [0, 1]), busiestThread(profile, [0, 3], [0, 0, 1])], [1, 0, 1]);
});
test("nothing was sampled", () => {
  const tree = treeOf(profileOf([]));
  assert.deepEqual([shown(tree, tree.root), tree.rows], [[], 1]);
});
