// Sums over the selected samples. Each is computed at first use, and again when its inputs have changed.
import {SCOPE} from "./data.js";
import {shapeOf} from "./shape.js";
import {duration, matcher} from "./tools.js";
import {functionTable, keptBoxes, largest, weigh} from "./walk.js";

// Remembers for each thing (`what`) the values that it was computed from.
export class Memory {
  constructor() { this.made = {}; }
  changed(what, ...values) {
    const wanted = values.join("\n");
    if (this.made[what] === wanted) return false;
    this.made[what] = wanted;
    return true;
  }
}

// Marks of the functions that decide which samples are kept, or null for each that is not chosen.
function marksOf(profile, {scope, focus, ignore}) {
  const marks = (term) => term ? profile.matching(matcher(term, true).test) : null;
  const ofScope = scope ? Uint8Array.from(profile.functions.name, (name, fn) => profile.kind(fn) === SCOPE && name === scope ? 1 : 0) : null;
  return {scope: ofScope, focus: marks(focus), ignore: marks(ignore)};
}
// Whether each box's samples are kept.
export const keptIn = (profile, state) => keptBoxes(profile, marksOf(profile, state), new Uint8Array(profile.size));

export class Sums {
  constructor(profile, state, compare) {
    Object.assign(this, {profile, state, compare, memory: new Memory(), total: null, kept: null});
  }
  get all() { return this.total[0]; }
  weigh() {
    const {profile, state, compare} = this, {thread, scope, focus, ignore, range} = state;
    if (this.memory.changed("weights", thread, scope, focus, ignore, state.time)) {
      const choice = {thread, ...marksOf(profile, state), range, marks: profile.bins > 1 ? new Uint8Array(profile.size) : null};
      this.kept = choice.marks;
      if (compare) {
        compare.weigh(choice);
      } else {
        this.choice = {...choice, marks: null};
        this.total = weigh(profile, choice);
        // The number of samples in each box: without the column every sample weighs 1.
        this.hitTotals = null;
        this.weighHits = () => profile.countHits ? weigh(profile, this.choice, profile.countHits) : this.total;
      }
    }
    if (compare) this.total = compare.weights;
  }
  get hits() { return this.hitTotals ??= this.weighHits(); }
  // The share of the profile that is selected.
  shareText() {
    const {profile, state: {range}} = this;
    if (this.compare) return this.compare.share();
    if (profile.steps && range) return `alive after ${duration(range[1] * profile.bin)}: ${profile.amount(this.all)}, ${profile.samplesText(this.hits[0])}`;
    if (this.all === profile.samples) return "";
    return "selected: " + profile.told(this.all, profile.samples, this.hits[0], null) + (range ? `, from ${duration(range[0] * profile.bin)} to ${duration(range[1] * profile.bin)}` : "");
  }
  // A key that changes with every input of graphs and tables.
  get key() {
    const {thread, scope, focus, ignore, time, fold, own, chains, inlined, hide, merge, side} = this.state;
    return [thread, scope, focus, ignore, time, fold, own, chains, inlined, hide, merge, side].join("\n");
  }
  get shape() {
    if (this.memory.changed("shape", this.key)) this.lastShape = shapeOf(this.profile, this.state);
    return this.lastShape;
  }
  // The profile has more functions now.
  forgetShape() { delete this.memory.made.shape; }
  // The table of functions.
  rows() {
    if (this.memory.changed("table", this.key)) this.lastRows = this.compare ? this.compare.sides.table(this.shape) : functionTable(this.profile, this.total, this.shape);
    return this.lastRows;
  }
  // The row of a function, which the table may have in another's.
  rowOf(fn) {
    const has = (row) => row.fn === fn;
    return this.rows().find(has) ?? (this.compare ? undefined : this.everyRow().find(has));
  }
  // Of every function, as in a search: that finds what other rows contain.
  everyRow() { return functionTable(this.profile, this.total, this.shapeOf({every: true})).map((row) => ({...row, every: true})); }
  shapeOf(row) { return row.every ? {...this.shape, rows: this.profile.fn} : this.shape; }
  // Of what a row has alive at the end: its {mean, oldest} age. Null: another moment is chosen.
  ageOf(row) {
    const {profile} = this;
    if (this.state.range) return null;
    if (this.memory.changed("ages", this.key, row.every)) {
      const aged = weigh(profile, this.choice, profile.countAge), shape = this.shapeOf(row);
      this.aged = new Map(functionTable(profile, aged, shape).map(({fn, total}) => [fn, total]));
      this.oldest = largest(profile, this.choice, profile.countOldest, shape);
    }
    return {mean: (this.aged.get(row.fn) || 0) / row.total, oldest: this.oldest[row.fn]};
  }
  // {self, total} of a row as numbers of samples.
  hitsOf(row) {
    if (!this.profile.countHits) return row;
    if (this.memory.changed("hit rows", this.key, row.every)) this.hitRows = new Map(functionTable(this.profile, this.hits, this.shapeOf(row)).map((one) => [one.fn, one]));
    return this.hitRows.get(row.fn) || {self: 0, total: 0};
  }
  hitsIn(tree, node) { return node.hits ?? (this.profile.countHits ? tree.sum(node, this.hits) : node.total); }
}
