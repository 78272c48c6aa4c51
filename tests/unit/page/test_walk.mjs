import assert from "node:assert/strict";
import test from "node:test";
import {functionTable, shareOf, weigh} from "../../../src/render/assets/page/walk.js";
import {randomProfile} from "./random_profile.mjs";

const plain = (profile) => ({hidden: new Uint8Array(profile.functionCount), alias: Uint32Array.from(profile.functions.kind, (_, fn) => fn)});

// As one would by hand: every count with every function of its stack, once.
function tableByHand(profile, hidden, kept = () => true) {
  const table = new Map(), of = (fn) => table.get(fn) ?? table.set(fn, {self: 0, total: 0}).get(fn);
  profile.countBox.forEach((box, at) => {
    if (!kept(at)) return;
    const stack = profile.stackOf(box).filter((fn) => !hidden[fn]), weight = profile.countWeight[at];
    for (const fn of new Set(stack)) of(fn).total += weight;
    if (stack.length) of(stack[stack.length - 1]).self += weight;
  });
  return Array.from(table, ([fn, sums]) => ({fn, ...sums})).filter(({total}) => total > 0).sort((a, b) => a.fn - b.fn);
}
const withoutRoot = (rows, profile) => rows.filter(({fn}) => fn !== profile.fn[0]);

for (const seed of [1, 2, 3, 4, 5]) {
  const profile = randomProfile(seed);
  test(`self and total of every function, recursions counted once (${seed})`, () => {
    const shape = plain(profile), rows = functionTable(profile, weigh(profile, {thread: -1}), shape);
    assert.deepEqual(withoutRoot(rows, profile), withoutRoot(tableByHand(profile, shape.hidden), profile));
  });
  test(`what is hidden is its caller's own (${seed})`, () => {
    const shape = plain(profile);
    for (const fn of [2, 5, 7]) shape.hidden[fn] = 1;
    const rows = functionTable(profile, weigh(profile, {thread: -1}), shape);
    assert.deepEqual(withoutRoot(rows, profile), withoutRoot(tableByHand(profile, shape.hidden), profile));
  });
  test(`of a thread and a stretch of time (${seed})`, () => {
    const shape = plain(profile), rows = functionTable(profile, weigh(profile, {thread: 1, range: [2, 5]}), shape);
    const kept = (at) => profile.countThread[at] === 1 && profile.countBin[at] >= 2 && profile.countBin[at] < 5;
    assert.deepEqual(withoutRoot(rows, profile), withoutRoot(tableByHand(profile, shape.hidden, kept), profile));
  });
  test(`a search counts time once, however often matches stand in one stack (${seed})`, () => {
    const marks = Uint8Array.from({length: profile.functionCount}, (_, fn) => fn === 3 || fn === 4 ? 1 : 0);
    let byHand = 0;
    profile.countBox.forEach((box, at) => { if (profile.stackOf(box).some((fn) => marks[fn])) byHand += profile.countWeight[at]; });
    assert.equal(shareOf(profile, weigh(profile, {thread: -1}), marks), byHand);
  });
  test(`focus and ignore (${seed})`, () => {
    const mark = (wanted) => Uint8Array.from({length: profile.functionCount}, (_, fn) => fn === wanted ? 1 : 0);
    const total = weigh(profile, {thread: -1, focus: mark(3), ignore: mark(6)});
    let byHand = 0;
    profile.countBox.forEach((box, at) => {
      const stack = profile.stackOf(box);
      if (stack.includes(3) && !stack.includes(6)) byHand += profile.countWeight[at];
    });
    assert.equal(total[0], byHand);
  });
}
