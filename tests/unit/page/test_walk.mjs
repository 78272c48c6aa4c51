import assert from "node:assert/strict";
import test from "node:test";
import {functionTable, largest, outermost, shareOf, weigh} from "../../../src/render/assets/page/walk.js";
import {randomProfile} from "./random_profile.mjs";

const plain = (profile) => ({hidden: new Uint8Array(profile.functionCount), alias: Uint32Array.from(profile.functions.kind, (_, fn) => fn), rows: profile.fn});

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
  test(`what is one row of the table has the time of all its boxes once (${seed})`, () => {
    // Function 4 and all that it calls is the row of 9, as the kernel below a call.
    const shape = plain(profile), gathered = (stack) => stack.includes(4) ? [...stack.slice(0, stack.indexOf(4)), 9] : stack;
    shape.rows = Uint16Array.from(profile.fn, (fn, box) => profile.stackOf(box).includes(4) ? 9 : fn);
    const byHand = {...profile, stackOf: (box) => gathered(profile.stackOf(box))}, total = weigh(profile, {thread: -1});
    const rows = functionTable(profile, total, shape);
    assert.deepEqual(withoutRoot(rows, profile), withoutRoot(tableByHand(byHand, shape.hidden), profile));
    const found = outermost(profile, total, shape, 9).reduce((sum, box) => sum + total[box], 0);
    assert.equal(found, rows.find(({fn}) => fn === 9).total);
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
  test(`the largest value of a function's stacks (${seed})`, () => {
    const ages = Float64Array.from(profile.countBox, (box, at) => (box * 31 + at * 17) % 97), shape = plain(profile);
    const byHand = new Float64Array(profile.functionCount);
    profile.countBox.forEach((box, at) => {
      if (profile.countThread[at] === 1) for (const fn of profile.stackOf(box)) byHand[fn] = Math.max(byHand[fn], ages[at]);
    });
    const found = largest(profile, {thread: 1}, ages, shape);
    found[profile.fn[0]] = 0;
    assert.deepEqual(found, byHand);
  });
  test(`what was alive at a moment is what came, less what went, until then (${seed})`, () => {
    const {countBox, countThread, countBin, countWeight} = profile, steps = {box: [], thread: [], bin: [], weight: [], hits: []};
    const goes = (at) => countBin[at] + 1 + at % 5;
    countBox.forEach((box, at) => {
      for (const [bin, weight] of [[countBin[at], countWeight[at]], [goes(at), -countWeight[at]]])
        for (const [name, value] of Object.entries({box, thread: countThread[at], bin, weight, hits: Math.sign(weight)})) steps[name].push(value);
    });
    const total = weigh({...profile, steps}, {thread: 2, range: [0, 4]}), byHand = new Float64Array(profile.size);
    countBox.forEach((box, at) => {
      if (countThread[at] !== 2 || countBin[at] > 3 || goes(at) <= 3) return;
      for (let one = box; ; one = profile.parents[one]) { byHand[one] += countWeight[at]; if (one === 0) break; }
    });
    assert.deepEqual(Float64Array.from(total), byHand);
    assert.deepEqual(weigh({...profile, steps}, {thread: -1}), weigh(profile, {thread: -1}));
  });
}
