import assert from "node:assert/strict";
import test from "node:test";
import {boxesText, bytes, duration, durationIn, matchText, matcher, nextMatch, percent, roundShare} from "../../../src/render/assets/page/tools.js";

test("a share that is there does not read as nothing, nor a part as the whole", () => {
  assert.deepEqual([percent(0, 9), percent(1, 1e6), percent(999999, 1e6), percent(9, 9), percent(1, 3), percent(1, 0)],
    ["0.00 %", "<0.01 %", ">99.99 %", "100.00 %", "33.33 %", "0.00 %"]);
});
test("in boxes one decimal is enough", () => {
  assert.deepEqual([roundShare(0, 9), roundShare(1, 1e6), roundShare(9999, 1e4), roundShare(9, 9), roundShare(1, 3)],
    ["0.0 %", "<0.1 %", ">99.9 %", "100.0 %", "33.3 %"]);
});
test("times have units", () => {
  assert.deepEqual([0, 1500, 2.5e6, 1.234e9, 245e9, 7320e9].map(duration), ["0 s", "1.5 µs", "2.5 ms", "1.23 s", "4 min 05 s", "2 h 02 min"]);
});
test("in a column all have the unit of its largest", () => {
  assert.deepEqual([1.68e9, 938e6, 4.6e6, 2e5].map((ns) => durationIn(ns, 1.7e9)), ["1.680 s", "0.938 s", "0.005 s", "<0.001 s"]);
  assert.deepEqual([durationIn(36.9e6, 5e8), durationIn(737e9, 8e11), durationIn(0, 5e8)], ["36.9 ms", "737.00 s", "0.0 ms"]);
  assert.deepEqual([3 << 19, 1 << 19].map((size) => bytes(size, 1 << 21)), ["1.5 MiB", "0.5 MiB"]);
});
test("what is no regular expression is text", () => {
  const of = (term, exact) => matcher(term, exact);
  assert.equal(of("operator new(", false).test("Operator New(unsigned)"), true);
  assert.equal(of("operator new(", true).test("Operator New(unsigned)"), false);
  assert.equal(of("operator new(", false).note, " (as text)");
  assert.equal(of("^ma(in|lloc)$", false).test("malloc"), true);
  assert.equal(of("", false).test, null);
});
test("what a search says is the same in the page and in the SVG", () => {
  assert.deepEqual([matchText(1, 8, "", false), matchText(1, 8, " (as text)", true), matchText(0, 8, "", false), matchText(0, 8, "", true, "no match in the frames drawn")],
    ["matched 12.50 %", "matched at least 12.50 % (as text)", "no match", "no match in the frames drawn"]);
  assert.deepEqual([boxesText(0), boxesText(1), boxesText(1234), boxesText(5, 2)], ["", "1 box", "1,234 boxes", "2 of 5 boxes"]);
  const found = ["a", "b", "c"];
  assert.deepEqual([nextMatch(found, "x", 1), nextMatch(found, "x", -1), nextMatch(found, "c", 1), nextMatch(found, "a", -1), nextMatch(found, "a", 1)], ["a", "c", "a", "c", "b"]);
});
