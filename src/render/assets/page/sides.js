// The weights of a comparison: of every box before and after, and as one picture of both.
import {Change} from "./change.js";
import {functionTable, weigh} from "./walk.js";

export class Sides {
  constructor(profile) {
    this.profile = profile;
    const {countWeight, countHits} = profile;
    // The variance of a count: weight squared over hits. A hit that stands for several periods is one observation still, and
    // weight without a hit comes in pieces as large (tools/render/diff.cpp).
    const weight = [0, 0], hits = [0, 0];
    countHits?.forEach((count, at) => { if (count > 0) { weight[profile.countSide[at]] += countWeight[at]; hits[profile.countSide[at]] += count; } });
    const piece = hits.map((count, side) => count > 0 ? Math.max(1, weight[side] / count) : 1);
    this.variances = countHits && Float64Array.from(countWeight, (weight, at) => weight * (countHits[at] > 0 ? weight / countHits[at] : piece[profile.countSide[at]]));
  }
  weigh(choice) {
    const {profile} = this, of = (side, weights) => weigh(profile, {...choice, side}, weights);
    this.total = [of(0), of(1)];
    this.variance = this.variances ? [of(0, this.variances), of(1, this.variances)] : this.total;
    this.hits = profile.countHits ? [of(0, profile.countHits), of(1, profile.countHits)] : this.total;
    const [before, after] = this.total, {byAmount} = profile.sides, larger = Math.max(before[0], after[0]);
    this.whole = byAmount ? [larger, larger] : [before[0], after[0]];
    const parts = (side) => byAmount ? 1 / Math.max(1, before[0] + after[0]) : side[0] > 0 ? 0.5 / side[0] : 0, b = parts(before), a = parts(after);
    // Both weigh the same, so a box is as wide as the mean of its shares, and what is gone is seen as well.
    this.mean = Float64Array.from(before, (weight, box) => weight * b + after[box] * a);
  }
  change(sum) {
    const side = (at) => ({count: sum(this.total[at]), hits: sum(this.hits[at]), of: this.whole[at], variance: sum(this.variance[at]), varianceOf: this.variance[at][0]});
    return new Change(side(0), side(1), this.profile.sides.byAmount, this.profile.sides.widening);
  }
  ofNode(tree, node) { return node.change ??= this.change((column) => tree.sum(node, column)); }
  ofSelf(tree, node) {
    return this.change((column) => tree.kids(node).reduce((left, kid) => left - tree.sum(kid, column), tree.sum(node, column)));
  }
  // {fn, self, total}: both changes of every function.
  table(shape) {
    const rows = new Map(), {profile} = this, columns = [...this.total, ...(this.variances ? [...this.variance, ...this.hits] : [])];
    columns.forEach((column, at) => {
      for (const {fn, self, total} of functionTable(profile, column, shape)) {
        if (!rows.has(fn)) rows.set(fn, {self: [0, 0, 0, 0, 0, 0], total: [0, 0, 0, 0, 0, 0]});
        rows.get(fn).self[at] = self;
        rows.get(fn).total[at] = total;
      }
    });
    const {whole, variance} = this, [itsVariance, itsHits] = this.variances ? [2, 4] : [0, 0];
    const {wideningOf = {}} = profile.sides, change = (sums, fn, total) => {
      const side = (at) => ({count: sums[at], hits: sums[at + itsHits], of: whole[at], variance: sums[at + itsVariance], varianceOf: variance[at][0]});
      return new Change(side(0), side(1), profile.sides.byAmount, wideningOf[fn]?.[total] ?? 1);
    };
    return Array.from(rows, ([fn, sums]) => ({fn, self: change(sums.self, fn, 0), total: change(sums.total, fn, 1)}));
  }
}
