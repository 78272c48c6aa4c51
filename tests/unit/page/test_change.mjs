import assert from "node:assert/strict";
import test from "node:test";
import {Change, signed} from "../../../src/render/assets/page/change.js";

const side = (count, of, hits) => ({count, hits, of, variance: hits ? count * count / hits : 0, varianceOf: of});
test("shares of two wholes are compared", () => {
  const change = new Change(side(400, 1000, 400), side(800, 2000, 800));
  assert.equal(change.difference, 0);
  assert.equal(change.isNoise, true);
  assert.equal(signed(0.125), "+12.50 %");
});
test("amounts are parts of one whole: what stays does not shrink where something else grows", () => {
  const whole = 1000, same = new Change(side(200, whole, 50), side(200, whole, 50), true), grown = new Change(side(100, whole, 25), side(800, whole, 200), true);
  assert.equal(same.difference, 0);
  assert.ok(!grown.isNoise && Math.abs(grown.difference - 0.7) < 1e-9);
  assert.ok(Math.abs(grown.noise - 3.29 * Math.sqrt(100 * 100 / 25 + 800 * 800 / 200) / whole) < 1e-9);
  assert.equal(signed(-0.5, (part) => `${part * whole} bytes`), "−500 bytes");
});
test("what only one side has is new or gone, if it is more than chance", () => {
  const of = (hits) => new Change(side(0, 1000, 0), side(hits * 10, 1000, hits), true);
  assert.deepEqual([of(5).note, of(20).note], ["noise", "new"]);
});
