// The line that describes the frame under the pointer or the keyboard's focus; a tooltip would cover the picture.
import {count, element, find, percent} from "./tools.js";

const HINT = "Point at a box, or walk with the arrow keys; right click or the menu key for what can be done with it.";
const LONGEST = 600, BEGINNING = 450, END = 150;

export class Details {
  constructor(page) { this.page = page; }
  // spot: as a graph gives it, or null.
  show(graph, spot) {
    const text = spot && this.describe(graph, spot), line = find("details");
    line.textContent = text || !["graph", "sandwich"].includes(this.page.state.view) ? "" : HINT;
    if (!text) return;
    element(line, "b", {}, text.name.length > LONGEST ? text.name.slice(0, BEGINNING) + " … " + text.name.slice(-END) : text.name);
    element(line, "span", {}, ` – ${text.numbers}${text.place ? ", " + text.place : ""}`);
  }
  note(text) { find("details").textContent = text; }
  describe({tree}, {node, kids}) {
    const {profile, compare} = this.page;
    if (kids) return this.describeNarrow(tree, kids);
    const numbers = compare ? compare.describe(tree, node) : this.numbers(tree, node.weight ?? node.total, this.page.sums.hitsIn(tree, node), tree.up ? null : tree.selfOf(node));
    if (node.folded) return {name: node.folded.map(({fn}) => profile.shortName(fn)).join(" › "), numbers: `${node.folded.length} frames that only lead on, ${numbers}`, place: "click or Enter shows them"};
    return {name: profile.name(node.fn), numbers, place: profile.place(node.fn)};
  }
  describeNarrow(tree, kids) {
    const {profile, sums, differs} = this.page, total = kids.reduce((all, kid) => all + kid.total, 0);
    const hits = () => kids.reduce((all, kid) => all + sums.hitsIn(tree, kid), 0);
    return {
      name: kids.length === 1 ? profile.name(kids[0].fn) : `${count(kids.length)} frames too narrow to draw`,
      numbers: differs ? percent(total, tree.all) : this.numbers(tree, total, hits(), null), place: "click to see them"
    };
  }
  // Shares are of weights; "samples" is their number.
  numbers({all}, total, hits, self) {
    const {profile} = this.page, parts = [profile.samplesText(hits), percent(total, all), profile.time(total)];
    if (self !== null) parts.push("self " + percent(self, all));
    return parts.filter(Boolean).join(", ");
  }
}
