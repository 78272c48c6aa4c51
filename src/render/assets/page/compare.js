// What a page of two profiles has in addition: the views before, after, both and difference, and the table of changes.
import {signed} from "./change.js";
import {Sides} from "./sides.js";
import {count, duration, element, find, percent, samples} from "./tools.js";

export const SIDES = [["before", "Before"], ["after", "After"], ["both", "Both"], ["difference", "Difference"]];
export const WHICH = {
  "": () => true, change: (change) => !change.isNoise, more: (change) => !change.isNoise && change.difference > 0,
  less: (change) => !change.isNoise && change.difference < 0, new: (change) => change.appeared, gone: (change) => change.vanished
};

export class Compare {
  constructor(profile, page) {
    Object.assign(this, {profile, page, sides: new Sides(profile)});
    this.buttons = SIDES.map(([side, text], at) => {
      const button = element(find("sides"), "button", {type: "button", title: at < 2 ? profile.sides.names[at] : "", "data-side": side}, text);
      button.addEventListener("click", () => page.change({side}));
      return button;
    });
    find("sides").hidden = false;
    find("tab-table").textContent = "Changes";
    find("functions").classList.add("compares");
    find("which").addEventListener("change", (event) => page.change({which: event.target.value}));
    profile.sides.names.forEach((name, at) => { find(at ? "caption-after" : "caption-before").textContent = (at ? "After: " : "Before: ") + name; });
  }
  // Where the page opens: what calls the largest change, if that is too narrow to be seen in the whole picture.
  opening() {
    const {sides: {opens = []}, merged} = this.profile, groups = new Map(this.page.state.merge ? merged : []), runs = [];
    for (const fn of opens.map((one) => groups.get(one) ?? one)) {
      const last = runs[runs.length - 1];
      if (last && last[0] === fn) last[1]++; else runs.push([fn, 1]);
    }
    return runs.map(([fn, times]) => times > 1 ? `${fn}*${times}` : fn).join(".");
  }
  get side() { return this.page.state.side; }
  get differs() { return this.side === "difference"; }
  // Which weights the graph, callers and callees show.
  get weights() { return this.side === "after" ? this.sides.total[1] : this.side === "difference" ? this.sides.mean : this.sides.total[0]; }
  weigh(choice) { this.sides.weigh(choice); }
  share() {
    const {names, isTime} = this.profile.sides;
    return names.map((name, at) => {
      const all = this.sides.total[at][0];
      return (at ? "after " : "before ") + [this.byAmount ? this.profile.amount(all) : isTime[at] ? duration(all) : "", samples(this.sides.hits[at][0])].filter(Boolean).join(", ");
    }).join("; ");
  }
  show(view) {
    for (const button of this.buttons) button.setAttribute("aria-pressed", button.dataset.side === this.side);
    find("sides").hidden = view === "table";
    find("which").parentNode.hidden = view !== "table";
    find("which").value = this.page.state.which;
  }
  // The change that colours and order show: of all samples with the function, or of its own.
  main(tree, node) { return this.profile.sides.bySelf && !tree.up ? this.sides.ofSelf(tree, node) : this.sides.ofNode(tree, node); }
  shade(tree, node) { return node.shade ??= this.main(tree, node).shade; }
  get byAmount() { return this.profile.sides.byAmount; }
  // A part as it is compared: "12.30 %", "4.5 MiB".
  part(part) { return this.byAmount ? this.profile.amount(Math.round(part * this.sides.whole[0] / (this.profile.sides.units || 1))) : percent(part, 1); }
  signed(change) { return this.byAmount ? signed(change.difference, (part) => this.part(part)) : signed(change.difference); }
  text(change) {
    return `${this.signed(change)} ±${this.part(change.noise)}: before ${this.part(change.from)} (${count(change.before.hits)}), ` +
      `after ${this.part(change.to)} (${count(change.after.hits)})` + (change.note === "noise" ? ", within noise" : change.note ? ", " + change.note : "");
  }
  describe(tree, node) {
    const total = this.text(this.sides.ofNode(tree, node));
    return tree.up || node.inside ? total : `${total}; self ${this.text(this.sides.ofSelf(tree, node))}`;
  }
  legend() {
    return this.profile.sides.legend.map(([shade, text]) => [this.page.theme.colors[shade], text]);
  }
  columns() {
    const share = (cell, part, count) => {
      cell.textContent = this.part(part);
      cell.title = samples(count);
    };
    const change = (key, title) => ({title, key, class: "change", value: (row) => Math.abs(row[key].difference) + (row[key].isNoise ? 0 : 1), fill: (cell, row) => this.bar(cell, row[key])});
    return [
      change("total", "Change"),
      {title: "Before", key: "from", class: "number", value: (row) => row.total.from, fill: (cell, row) => share(cell, row.total.from, row.total.before.hits)},
      {title: "After", key: "to", class: "number", value: (row) => row.total.to, fill: (cell, row) => share(cell, row.total.to, row.total.after.hits)},
      change("self", "Own change")
    ];
  }
  // Beside the graph: without bars.
  fewColumns() {
    const change = (key, title) => ({title, key, value: (row) => Math.abs(row[key].difference) + (row[key].isNoise ? 0 : 1), fill: (cell, row) => {
      element(cell, "span", {}, this.signed(row[key]));
      cell.title = this.text(row[key]);
    }});
    return [change("self", "Own"), change("total", "Change")];
  }
  // A bar from no change to this one, with the noise about its end.
  bar(cell, change) {
    const {widest} = this, at = (part) => Math.max(0, Math.min(30 + part / widest * 29, 60)), end = at(change.difference), {difference, noise} = change;
    const place = (name, from, to) => {
      const made = element(cell, "i", {class: name});
      made.style.left = Math.min(from, to) + "%";
      made.style.width = Math.abs(to - from) + "%";
      return made;
    };
    place("bar", at(0), end).style.background = this.page.theme.colors[change.shade];
    place("error", at(difference - noise), at(difference + noise));
    element(cell, "i", {class: "axis"});
    element(cell, "span", {}, this.signed(change));
    element(cell, "small", {}, change.note);
    cell.title = this.text(change);
  }
  rows(hits) {
    const which = WHICH[this.page.state.which] || WHICH[""], key = this.profile.sides.bySelf ? "self" : "total";
    const rows = this.page.sums.rows().filter((row) => (!hits || hits[row.fn]) && which(row[key]));
    this.widest = rows.reduce((most, {self, total}) => Math.max(most, Math.abs(self.difference), Math.abs(total.difference)), 0.001) * 1.15;
    return rows;
  }
}
