// The profile: columns of numbers, packed (deflate, base64) so that nothing in them can end the page's script.
async function readProfile(element) {
  const packed = Uint8Array.from(atob(element.textContent.trim()), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Profile(JSON.parse(await new Response(stream).text()));
}

function undelta(differences) {
  const values = new Int32Array(differences.length);
  let value = 0;
  for (let at = 0; at < values.length; at++) values[at] = value += differences[at];
  return values;
}

const KINDS = ["user code", "inlined", "kernel", "scope", "note", "thread"];
const SCOPE = 3;

// Boxes are in depth-first order and merged by function; box 0 is the root. A count says how many samples of a thread
// ended in a box.
class Profile {
  constructor(data) {
    Object.assign(this, data);
    this.size = data.boxes.function.length;
    this.boxFunction = Int32Array.from(data.boxes.function);
    this.boxParent = Int32Array.from(data.boxes.up, (up, box) => box - up);
    this.countBox = undelta(data.counts.box);
    this.countThread = Int32Array.from(data.counts.thread);
    this.countWeight = Float64Array.from(data.counts.weight);
    this.all = this.countWeight.reduce((sum, weight) => sum + weight, 0);
  }
  name(fn) { return this.functions.name[fn]; }
  kind(fn) { return this.functions.kind[fn]; }
  module(fn) { return this.modules[this.functions.module[fn]]; }
  path(fn) { return this.files[this.functions.file[fn]]; }
  place(fn) {
    const file = this.path(fn).replace(/^.*\//, ""), line = this.functions.line[fn];
    return file ? file + (line ? ":" + line : "") : "";
  }
  // Which boxes are a scope of that label, or within one.
  inScope(label) {
    const inside = new Uint8Array(this.size);
    for (let box = 1; box < this.size; box++) {
      const fn = this.boxFunction[box];
      inside[box] = inside[this.boxParent[box]] || (this.kind(fn) === SCOPE && this.name(fn) === label) ? 1 : 0;
    }
    return inside;
  }
  // Samples that ended in each box, of one thread (-1: all) and one scope ("": all).
  weights(thread, scope) {
    const inside = scope ? this.inScope(scope) : null;
    const self = new Float64Array(this.size);
    for (let at = 0; at < this.countBox.length; at++) {
      const box = this.countBox[at];
      if ((thread < 0 || this.countThread[at] === thread) && (!inside || inside[box])) self[box] += this.countWeight[at];
    }
    const total = Float64Array.from(self);
    for (let box = this.size - 1; box > 0; box--) total[this.boxParent[box]] += total[box];
    return {self, total};
  }
}
