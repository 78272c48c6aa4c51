// What the frame under the pointer or the keyboard's focus is: in the line below the graph, and beside the pointer.
import {cycleName} from "./recursion.js";
import {count, element, find, percent, roundShare} from "./tools.js";

const TOUCH = matchMedia("(pointer: coarse), (max-width: 640px)").matches;
const HINT = TOUCH ? "Tap a box to zoom, hold it for more." : "Point at a box, or use the arrow keys. Right click: more.";
const CHART_HINT = `Draw over a stretch of time, or ${TOUCH ? "tap" : "click"} a box, to see more detail.`;
const LONGEST = 600, BEGINNING = 450, END = 150, GAP = 14, EDGE = 6;

// In the box itself. Of a folded one what it folds: "27 frames of tokio, std …", "kernel: write".
export function nameOf(page, {fn, folded, inside, way, cycle}) {
  if (inside) return "… kernel: " + (way.map((one) => page.profile.work[one.fn]).find(Boolean) ?? page.name(way[way.length - 1].fn));
  if (!folded) return page.name(fn);
  if (cycle) return cycleName(folded, (one) => page.name(one), 1);
  const places = Array.from(new Set(folded.map((one) => page.profile.family(one.fn)))), some = places.slice(0, 3).join(", ");
  return `… ${count(folded.length)} frames of ${some}${places.length > 3 ? " …" : ""}`;
}
// Of frames that are one box the first of those that most are like.
export function mostLike({functions: {role}}, folded) {
  const alike = new Map();
  for (const {fn} of folded) alike.set(role[fn], (alike.get(role[fn]) ?? 0) + 1);
  const most = Math.max(...alike.values());
  return folded.find(({fn}) => alike.get(role[fn]) === most).fn;
}

export class Details {
  constructor(page) { this.page = page; }
  // spot: as a graph gives it, or null. event: the pointer's, if it is there.
  show(graph, spot, event) {
    const text = spot && this.describe(graph, spot), line = find("details");
    line.textContent = text || !["graph", "sandwich"].includes(this.page.state.view) ? "" : this.page.state.chart && this.page.state.view === "graph" ? CHART_HINT : HINT;
    this.point(event && text, event);
    if (!text) return;
    element(line, "b", {}, text.name);
    element(line, "span", {}, ` – ${[text.numbers, text.place, text.whole].filter(Boolean).join(", ")}`);
  }
  note(text, event) {
    find("details").textContent = text;
    this.point(event && {name: "", numbers: text, place: ""}, event);
  }
  // Right below the pointer, or above it where the window ends.
  point(text, event) {
    const tip = find("tip");
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = "";
    for (const [kind, of] of [["b", text.name], ["span", text.numbers], ["small", text.whole], ["small", text.place]]) if (of) element(tip, kind, {}, of);
    const {width, height} = tip.getBoundingClientRect(), {clientX: x, clientY: y} = event, below = y + GAP + height + EDGE < innerHeight;
    tip.style.left = Math.max(EDGE, Math.min(x + GAP, innerWidth - width - EDGE)) + "px";
    tip.style.top = Math.max(EDGE, below ? y + GAP : y - GAP - height) + "px";
  }
  describe(graph, spot) {
    const text = this.ofSpot(graph, spot);
    for (const of of ["name", "whole"]) if (text[of]?.length > LONGEST) text[of] = text[of].slice(0, BEGINNING) + " … " + text[of].slice(-END);
    return text;
  }
  ofSpot({tree}, {node, kids}) {
    const {profile, compare} = this.page;
    if (kids) return this.ofNarrow(tree, kids);
    const weight = (one) => one.weight ?? one.total, above = node.parent?.parent && !tree.up && !node.closed ? weight(node.parent) : 0;
    const caller = above > weight(node) ? roundShare(weight(node), above) : null;
    const numbers = compare ? compare.describe(tree, node) : profile.told(weight(node), tree.all, this.page.sums.hitsIn(tree, node), tree.up || node.inside ? null : tree.selfOf(node), caller);
    const leads = node.leaving ? `lead on, ${percent(node.leaving, tree.all)} leaves on the way` : "only lead on";
    if (node.inside) return {name: node.way.map(({fn}) => profile.shortName(fn)).join(" › "), numbers: "in the kernel, " + numbers, place: "click or Enter shows its frames"};
    if (node.cycle) return {name: cycleName(node.folded, (fn) => profile.shortName(fn)), numbers: `${count(node.folded.length)} levels of a recursion, ${numbers}`, place: "click or Enter shows each"};
    if (node.folded) return {name: node.folded.map(({fn}) => profile.shortName(fn)).join(" › "), numbers: `${node.folded.length} frames that ${leads}, ${numbers}`, place: "click or Enter shows them"};
    const name = profile.shortName(node.fn), whole = profile.name(node.fn);
    return {name, numbers, whole: whole === name ? "" : whole, place: profile.place(node.fn)};
  }
  ofNarrow(tree, kids) {
    const {profile, sums, differs} = this.page, total = kids.reduce((all, kid) => all + kid.total, 0);
    const hits = () => kids.reduce((all, kid) => all + sums.hitsIn(tree, kid), 0);
    return {
      name: kids.length === 1 ? profile.shortName(kids[0].fn) : `${count(kids.length)} frames too narrow to draw`,
      numbers: differs ? percent(total, tree.all) : profile.told(total, tree.all, hits(), null), place: "click to see them"
    };
  }
}
