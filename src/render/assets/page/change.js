// What changed from one profile to the other, and what of it is chance: the arithmetic of tools/render/diff.cpp.
const Z_OF_999_IN_1000 = 3.29;

export class Change {
  // before, after: {count, hits, of, variance, varianceOf}; count and of are weights; byAmount: both are parts of one whole; widening: of noise (src/compare/clusters.hpp)
  constructor(before, after, byAmount = false, widening = 1) { Object.assign(this, {before, after, byAmount, widening}); }
  get from() { return this.before.of > 0 ? this.before.count / this.before.of : 0; }
  get to() { return this.after.of > 0 ? this.after.count / this.after.of : 0; }
  get difference() { return this.to - this.from; }
  // Half the width of the interval in which 99.9 % of differences lie if nothing changed.
  get noise() {
    const {before, after} = this, n = before.of, m = after.of;
    if (n === 0 || m === 0) return 1;
    if (this.byAmount) return Z_OF_999_IN_1000 * Math.sqrt(this.widening * (before.variance + after.variance)) / n;
    const both = before.count + after.count, rest = n + m - both, common = both / (n + m), variance = before.variance + after.variance;
    const hit = both > 0 ? variance / both : 0, other = rest > 0 ? Math.max(0, before.varianceOf + after.varianceOf - variance) / rest : 0;
    const spread = (1 - common) ** 2 * common * hit + common ** 2 * (1 - common) * other;
    return Z_OF_999_IN_1000 * Math.sqrt(this.widening * spread * (1 / n + 1 / m));
  }
  get isNoise() { return Math.abs(this.difference) <= this.noise; }
  get appeared() { return this.before.count === 0 && this.after.count > 0 && !this.isNoise; }
  get vanished() { return this.after.count === 0 && this.before.count > 0 && !this.isNoise; }
  get note() { return this.appeared ? "new" : this.vanished ? "gone" : this.isNoise ? "noise" : ""; }
  // A name of sides.legend.
  get shade() {
    if (this.isNoise) return "e0";
    const relative = Math.abs(this.difference) / (this.from + this.to);
    return (this.difference > 0 ? "p" : "m") + (this.appeared || this.vanished ? 4 : relative > 1 / 3 ? 3 : relative > 1 / 7 ? 2 : 1);
  }
}
export const signed = (part, told = (size) => (size * 100).toFixed(2) + " %") => (part < 0 ? "−" : "+") + told(Math.abs(part));
