// The call tree in rows: a function, and below it what it calls, the heaviest first. A row is indented only where its
// caller has several, so that chains of calls do not lead out of sight.
import {NAME_ROOM, shareCell} from "./columns.js";
import {Rows} from "./rows.js";
import {element} from "./tools.js";

const MARK = 14, LONGEST_TITLE = 2000, STEP = 14, DEEPEST = 30, INDENTED = 1 / 3, MOST_OPENED = 200;

export class CallTree {
  // page: whose profile it is; zoom(node) shows one in the graph.
  constructor(holder, page, zoom) {
    Object.assign(this, {page, zoom, nodes: []});
    this.list = new Rows(holder, "treegrid", "Call tree. Left and right close and open, p opens the heaviest path, Enter shows the frame in the graph.",
      {fill: (line, at) => this.fill(line, this.nodes[at]), choose: (at) => this.turn(this.nodes[at])});
    for (const [key, title] of [["total", "Total"], ["self", "Self"], ["name", "Function"]]) element(this.list.head, "span", {class: "cell " + key, role: "columnheader"}, title);
    holder.addEventListener("keydown", (event) => this.press(event), true);
  }
  show(tree) {
    const before = this.tree;
    this.tree = tree;
    tree.root.level = 0;
    if (before && before.profile !== tree.profile && before.up === tree.up) this.reopen(before); else this.openHeaviest(tree.root);
  }
  // In a later profile of the same run the same rows are open, and nothing scrolls.
  reopen(before) {
    const key = ({profile}, {fn}) => profile.key(fn), chosen = this.nodes[this.list.selected];
    const todo = [[before.root, this.tree.root]];
    let selected = this.tree.root;
    while (todo.length) {
      const [old, now] = todo.pop();
      if (old === chosen) selected = now;
      now.opened = old.opened;
      if (!old.opened) continue;
      const kids = new Map(this.kids(now).map((kid) => [key(this.tree, kid), kid]));
      for (const kid of before.kids(old)) if (kids.has(key(before, kid))) todo.push([kid, kids.get(key(before, kid))]);
    }
    this.lay(selected, false);
  }
  paint() { this.list.paint(); }
  kids(node) { return this.tree.kids(node); }
  // Opens the path of the heaviest frames from here, as far as they are a good part of their caller and of this one.
  openHeaviest(from) {
    let node = from;
    for (let opened = 0; opened < MOST_OPENED && this.kids(node).length && this.kids(node)[0].total >= Math.max(node.total / 4, from.total / 20); opened++) {
      node.opened = true;
      node = this.kids(node)[0];
    }
    from.opened = true;
    this.lay(node);
  }
  // Puts all open rows in order, and chooses one.
  lay(chosen, scroll = true) {
    const todo = [this.tree.root];
    this.nodes = [];
    this.deepest = 0;
    while (todo.length) {
      const node = todo.pop();
      this.nodes.push(node);
      this.deepest = Math.max(this.deepest, node.level);
      if (!node.opened) continue;
      const kids = this.kids(node), level = Math.min(node.level + (kids.length > 1 ? 1 : 0), DEEPEST);
      for (let at = kids.length; at-- > 0;) todo.push(Object.assign(kids[at], {level}));
    }
    this.list.selected = this.nodes.indexOf(chosen);
    this.list.show(this.nodes.length);
    if (scroll) this.list.select(this.list.selected);
  }
  turn(node) {
    node.opened = !node.opened;
    this.lay(node);
  }
  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const node = this.nodes[this.list.selected], keys = {
      ArrowRight: () => node.opened && this.kids(node).length ? this.lay(this.kids(node)[0]) : this.kids(node).length && this.turn(node),
      ArrowLeft: () => node.opened ? this.turn(node) : node.parent && this.lay(node.parent),
      Enter: () => this.zoom(node), p: () => this.openHeaviest(node)
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    keys[event.key]();
  }
  // A key that was pressed elsewhere.
  take(event) {
    this.press(event);
    if (!event.defaultPrevented) this.list.press(event);
    if (event.defaultPrevented) this.list.holder.focus();
  }
  fill(line, node) {
    const {page, tree} = this, kids = this.kids(node), cell = (key) => element(line, "span", {class: "cell " + key, role: "gridcell"});
    const hits = page.sums.hitsIn(tree, node), below = (of) => kids.reduce((sum, kid) => sum + of(kid), 0);
    shareCell(page, cell("total"), node.total, hits);
    // Of stacks that are merged from their leaves all time is the leaves' own.
    const self = cell("self");
    if (!tree.up && tree.selfOf(node) > 0) shareCell(page, self, tree.selfOf(node), hits - below((kid) => page.sums.hitsIn(tree, kid)));
    line.setAttribute("aria-level", node.level + 1);
    if (kids.length) line.setAttribute("aria-expanded", node.opened === true);
    line.classList.toggle("hit", page.finder.isHit(node));
    const name = cell("name");
    // Of a narrow column a part, so that there is room for names.
    const room = this.list.rooms[2], indent = node.level * Math.min(STEP, room * INDENTED / Math.max(this.deepest, 1));
    name.style.paddingLeft = 8 + indent + "px";
    name.title = page.profile.name(node.fn).slice(0, LONGEST_TITLE);
    element(name, "b", {}, kids.length ? node.opened ? "▾" : "▸" : "");
    element(name, "em", {}).style.background = page.color(node.fn);
    name.append(page.fitted(node.fn, room - NAME_ROOM - MARK - indent));
  }
}
