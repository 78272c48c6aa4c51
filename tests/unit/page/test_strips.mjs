import assert from "node:assert/strict";
import test from "node:test";
import {threadLabel} from "../../../src/render/assets/page/data.js";
import {fullRow, stripsOf} from "../../../src/render/assets/page/strips.js";

// all > [scope] > work, and [lost]: two threads, four steps of 8 ns.
function profile() {
  return {
    shortName(fn) { return this.functions.name[fn]; },
    threads: [[11, "main"], [12, "worker-1"], [13, "worker-2"]], merged: [], bins: 4, bin: 8,
    functions: {name: ["[scope]", "work", "[lost]", "all"], kind: [3, 0, 4, 6], role: [4, 0, 5, 0]}, name(fn) { return this.functions.name[fn]; },
    get threadKeys() { return this.threads.map(([tid]) => tid); },
    fn: [3, 0, 1, 2], end: [4, 3, 3, 4], countBox: [1, 2, 2, 3], countThread: [0, 0, 1, 0], countBin: [0, 1, 3, 2], countWeight: [4, 8, 2, 3]
  };
}
const list = (column) => Array.from(column);

test("samples, what of them is lost, and scopes, step by step", () => {
  const [main, worker] = stripsOf(profile(), false, null);
  assert.equal(main.label, "main (11)");
  assert.deepEqual([list(main.all), list(main.unknown), list(main.scope)], [[4, 8, 3, 0], [0, 0, 3, 0], [1, 1, 0, 0]]);
  assert.deepEqual([worker.label, list(worker.all)], ["worker-1 (12)", [0, 0, 0, 2]]);
});
test("what was not sampled, and what was lost, is known later than it was used", () => {
  const of = profile();
  of.functions.name[1] = "[not sampled]";
  of.functions.kind[1] = 4;
  const [main] = stripsOf(of, false, null);
  assert.deepEqual([list(main.late), list(main.unknown)], [[0, 8, 3, 0], [0, 8, 3, 0]]);
});
test("a thread that used no CPU time has no strip", () => assert.equal(stripsOf(profile(), false, null).length, 2));
test("waits go on from where they began, beside CPU time; steps of another length", () => {
  // Two steps of 16 ns; the profiles number their threads differently.
  const waits = {threadKeys: [12, 11], bin: 16, countThread: [1, 0, 1], countBin: [0, 0, 1], countWeight: [4, 16, 8]};
  const [main, worker] = stripsOf(profile(), false, waits);
  assert.deepEqual(list(main.waiting), [4, 0, 5, 3]);
  assert.deepEqual(list(worker.waiting), [8, 8, 0, 0]);
  // And of steps that are finer.
  const fine = {threadKeys: [11], bin: 4, countThread: [0, 0, 0], countBin: [0, 1, 6], countWeight: [1, 2, 3]};
  assert.deepEqual(list(stripsOf(profile(), false, fine)[0].waiting), [3, 0, 0, 3]);
});
test("in a picture of waiting time a wait fills the steps from its beginning on", () => {
  const of = Object.assign(profile(), {waiting: true, event: "offcpu", countWeight: [20, 8, 2, 3]});  // 8 are a whole step
  const [main] = stripsOf(of, false, null);
  assert.deepEqual([list(main.waiting), list(main.all)], [[8, 8, 8, 7], [0, 0, 0, 0]]);
});
test("in a picture of running and waiting each has its part of a step", () => {
  const of = Object.assign(profile(), {waiting: true, event: "wall", countWeight: [2, 14, 2, 3]});
  of.functions.role[1] = 7;  // a wait
  const [main] = stripsOf(of, false, null);
  assert.deepEqual([list(main.all), list(main.waiting)], [[2, 0, 3, 0], [0, 8, 5, 1]]);
});
test("like threads are one strip", () => {
  const of = profile();
  Object.assign(of, {threads: [[11, "w-1"], [12, "w-2"], [13, "w-3"]], merged: [[4, 6], [5, 6]]});
  of.functions = {name: [...of.functions.name, "w-1", "w-2", "w-*"], kind: [...of.functions.kind, 5, 5, 5]};
  const [strip, ...others] = stripsOf(of, true, null);
  assert.deepEqual([strip.label, list(strip.all), others.length], ["w-*", [4, 8, 3, 2], 0]);
});
test("of a run each process's threads are strips of their own, like processes too", () => {
  const of = profile(), functions = {name: [...of.functions.name, "make 7", "node 8", "cc1 × 96", "w 11", "w 12", "w *"]};
  const kind = [...of.functions.kind, 5, 5, 5, 5, 5, 5], role = [...of.functions.role, 6, 6, 6, 6, 6, 6];
  Object.assign(of, {functions: {...functions, kind, role}, merged: [[7, 9], [8, 9]], threads: [[7, "make", 4], [8, "node", 5], [9, "gc", 5], [0, "cc1", 6], [11, "w", 7], [12, "w", 8]],
    countBox: [2, 2, 2, 2, 2, 2], countThread: [0, 1, 2, 3, 4, 5], countBin: [0, 0, 1, 1, 2, 2], countWeight: [60, 50, 40, 30, 4, 3]});
  const told = (merge) => stripsOf(of, merge, null).map(({label, threads, weight}) => [label, threads, weight]);
  const busiest = [["make 7", 1, 60], ["node 8", 1, 50], ["node 8 › gc (9)", 1, 40], ["cc1 × 96", 2, 30]];
  assert.deepEqual(told(false), [...busiest, ["w 11", 1, 4], ["w 12", 1, 3]]);
  assert.deepEqual(told(true), told(false));
});
test("threads of gathered processes are told by their numbers", () => {
  assert.equal(threadLabel([4711, "postgres"], "postgres × 12"), "postgres (4711)");
  assert.equal(threadLabel([0, "cc1"], "cc1 × 96"), "cc1 × 96");
  assert.equal(threadLabel([4713, "io"], "postgres × 12"), "postgres × 12 › io (4713)");
  assert.equal(threadLabel([4711, "postgres"], "postgres: walwriter 4711"), "postgres: walwriter 4711");
  assert.equal(threadLabel([4711, "postgres"], "postgres: app shop × 12"), "postgres: app shop (4711)");
  assert.equal(threadLabel([8, "node"], "node 8"), "node 8");
  assert.equal(threadLabel([9, "node"], "node 8"), "node 8 › node (9)");
});
test("strips of one name say what nearly all of each one's time is in, as far as that differs", () => {
  const of = profile(), functions = {name: ["all", "pg * 3", "main", "Writer", "Session", "parse", "sort"], kind: [6, 5, 0, 0, 0, 0, 0], role: [0, 6, 0, 0, 0, 0, 0]};
  // all > thread > main > (Writer, Session > (parse, sort))
  Object.assign(of, {functions, threads: [[7, "pg"], [8, "pg"], [9, "pg"]], fn: [0, 1, 2, 3, 4, 5, 6], end: [7, 7, 7, 4, 7, 6, 7],
    countBox: [3, 5, 6, 5, 6], countThread: [0, 1, 1, 2, 2], countBin: [0, 0, 0, 0, 0], countWeight: [9, 5, 3, 3, 4]});
  const labels = () => stripsOf(of, false, null).map(({label, doing}) => label + (doing && ": " + doing));
  assert.deepEqual(labels(), ["pg (7): Writer", "pg (8): Session", "pg (9): Session"]);
  // Not by what is more in one than in another.
  Object.assign(of, {countBox: [5, 5, 6, 5, 6], countThread: [0, 1, 1, 2, 2]});
  assert.deepEqual(labels(), ["pg (7)", "pg (8)", "pg (9)"]);
  Object.assign(of, {countBox: [6, 5, 6, 5, 6], countThread: [0, 1, 0, 2, 1], countWeight: [4, 5, 4, 3, 4]});
  assert.deepEqual(labels(), ["pg (8)", "pg (7): sort", "pg (9): parse"]);
  // Neither glue nor an address says anything.
  functions.role[3] = 2;
  Object.assign(of, {countBox: [3, 5, 6], countThread: [0, 1, 1], countWeight: [9, 5, 3]});
  assert.deepEqual(labels(), ["pg (7)", "pg (8)"]);
  functions.role[3] = 0;
  functions.name[3] = "[pg+0x1a2b]";
  Object.assign(of, {countBox: [3, 5, 6], countThread: [0, 1, 1], countWeight: [9, 5, 3]});
  assert.deepEqual(labels(), ["pg (7)", "pg (8): Session"]);
});
test("the least busy of many threads share a strip", () => {
  const of = profile(), threads = Array.from({length: 20}, (_, at) => [100 + at, "t"]);
  Object.assign(of, {threads, countBox: threads.map(() => 2), countThread: threads.map((_, at) => at), countBin: threads.map(() => 0), countWeight: threads.map((_, at) => 1 + at)});
  const strips = stripsOf(of, false, null);
  assert.equal(strips.length, 13);
  assert.equal(strips[11].label, "t (108)");
  assert.equal(strips[12].label, "8 other threads");
  assert.equal(strips[12].all[0], 36);
});
test("threads of less than a hundredth share a strip", () => {
  const of = profile(), threads = Array.from({length: 4}, (_, at) => [100 + at, "t"]);
  Object.assign(of, {threads, countBox: [2, 2, 2, 2], countThread: [0, 1, 2, 3], countBin: [0, 0, 0, 0], countWeight: [1000, 1, 900, 2]});
  assert.deepEqual(stripsOf(of, false, null).map(({label, all}) => [label, all[0]]), [["t (100)", 1000], ["t (102)", 900], ["2 other threads", 3]]);
});
test("a full row is one CPU, or what several threads used together, however many wait", () => {
  const columns = [{from: 0, to: 2, all: 40, waiting: 1600}, {from: 2, to: 4, all: 10, waiting: 1600}];
  assert.equal(fullRow({threads: 1}, columns, 8), 8);
  assert.equal(fullRow({threads: 200}, columns, 8), 20);
  assert.equal(fullRow({threads: 200}, columns, 8, true), 820);
  assert.equal(fullRow({threads: 200}, [{from: 0, to: 2, all: 4, waiting: 1600}], 8), 8);
  // What was lost is noticed when a thread ends: many may end in one column.
  assert.equal(fullRow({threads: 200}, [...columns, {from: 4, to: 6, all: 900, late: 880, waiting: 0}], 8), 20);
});
test("nearly empty strips share one", () => {
  const of = profile();
  of.countWeight = [90, 0, 4, 3];
  assert.deepEqual(stripsOf(of, false, null).map(({label}) => label), ["main (11)", "worker-1 (12)"]);
  Object.assign(of, {countThread: [0, 1, 2, 2], countWeight: [90, 4, 2, 2]});
  assert.deepEqual(stripsOf(of, false, null).map(({label}) => label), ["main (11)", "2 other threads"]);
});
