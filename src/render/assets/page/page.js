// The page: shows what the state selects.
import {Actions} from "./actions.js";
import {Alive} from "./alive.js";
import {linkAnswer} from "./answer.js";
import {CallTree} from "./call_tree.js";
import {Chart} from "./chart.js";
import {fewColumns, functionColumns} from "./columns.js";
import {Compare} from "./compare.js";
import {fillChips, fillFacets, fillLegend} from "./controls.js";
import {NO_KIND} from "./data.js";
import {Details, mostLike, nameOf} from "./details.js";
import {Editor} from "./editor.js";
import {Finder} from "./finder.js";
import {Graph} from "./graph.js";
import {LazyTree} from "./lazy_tree.js";
import {listen} from "./listen.js";
import {Menu} from "./menu.js";
import {SourceView} from "./source.js";
import {State, VIEWS} from "./state.js";
import {Memory, Sums} from "./sums.js";
import {Table} from "./table.js";
import {Timeline} from "./timeline.js";
import {fit, fitName} from "../shared/labels.js";
import {find, roundShare} from "./tools.js";

const FEW_ROOM = 208;  // pixels: a table of seven functions, and its distance

export class Page {
  constructor(profile) {
    this.profile = profile;
    this.state = new State(profile);
    this.actions = new Actions(this);
    this.finder = new Finder(this);
    this.graphs = [];
    this.placed = "";
    this.memory = new Memory();
    this.details = new Details(this);
    this.chart = new Chart(this);
    this.compare = profile.sides ? new Compare(profile, this) : null;
    this.sums = new Sums(profile, this.state, this.compare);
    this.makeViews();
    this.use(profile);
    this.readTheme();
    listen(this);
    this.editor = new Editor(profile, find("keys"), (text) => this.details.note(text));
    this.show();
  }

  // In the place of the picture and the words that stand in the file. They give the graph their room before it is laid
  // out; nothing is painted in between.
  static instead(profile) {
    const before = [find("preview"), find("loading")].filter(Boolean);
    for (const one of before) one.hidden = true;
    try {
      const page = new Page(profile);
      page.main.paint();
      for (const one of before) one.remove();
      return page;
    } catch (error) {
      for (const one of before) one.hidden = false;
      throw error;
    }
  }

  // A later profile of the same run: the reader's choices stay, though functions, threads and steps of time have other
  // numbers.
  replace(profile) {
    const {state} = this, scrolled = this.main.scrolled;
    this.state.translate(this.profile, profile);
    Object.assign(this, {profile, memory: new Memory(), sums: new Sums(profile, state, this.compare)});
    find("merge").hidden = profile.merged.length === 0;
    this.use(profile);
    this.readColors();
    this.show();
    this.main.scrolled = scrolled;
    state.save();
  }

  use(profile) {
    fillFacets(profile);
    for (const one of [this.timeline, this.alive]) one.use(profile);
    this.chart.use();
    this.editor?.use(profile);
    this.named = linkAnswer(this);
    find("chart").hidden = profile.bins < 2;
  }
  // Reads the colours from the style sheet, again when it changes.
  readTheme() {
    this.readColors();
    for (const graph of this.graphs) graph.paintSoon();
    for (const list of [this.functions, this.few, this.callTree]) list.paint();
    this.timeline.paint(this.theme);
    this.alive.paint(this.theme);
  }
  readColors() {
    const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim(), {profile} = this;
    const side = style("--dark") === "1" ? 2 : 1, shades = profile.shades.map((shade) => shade[side]);
    const colors = Object.fromEntries(profile.shades.map((shade) => [shade[0], shade[side]]));
    this.theme = {shades, colors, soft: style("--soft"), page: style("--page"), share: Number(style("--share")), plain: colors.g0, ink: style("--ink"), mark: style("--mark"), focus: style("--focus")};
    this.legend();
  }
  legend() {
    const shades = this.compare && (this.compare.differs || this.state.view === "table");
    fillLegend(this.profile, this.theme.colors, shades ? this.compare.legend() : null, this.timeline?.waits);
  }
  // The same run's waiting time, which shows in the strips and in flame charts.
  addWaits(waits) {
    this.timeline.addWaits(waits);
    this.chart.use(waits);
    this.legend();
    if (!this.state.chart) return;
    this.memory = new Memory();
    this.show();
  }
  name(fn) { return this.state.long ? this.profile.name(fn) : this.profile.shortName(fn); }
  // In tables. Whole names are cut at their end, of short ones the end tells most.
  fitted(fn, room) { return (this.state.long ? fit : fitName)(this.pen, this.name(fn), room); }
  color(fn) { return this.theme.shades[this.profile.functions.color[fn]]; }
  get differs() { return this.compare !== null && this.compare.differs; }
  // In a comparison a zoom in one graph is repeated in the other.
  follow(of) {
    if (!this.compare || this.state.side !== "both" || this.following) return;
    this.following = true;
    const twin = of === this.main ? this.other : this.main;
    twin.zoom(twin.tree.at(of.whole ? "" : of.tree.address(of.zoomed)));
    this.following = false;
  }

  makeViews() {
    const font = "12px " + getComputedStyle(document.documentElement).getPropertyValue("--mono").trim();
    this.pen = Object.assign(document.createElement("canvas").getContext("2d"), {font});
    const {actions, finder} = this;
    const context = {
      font, name: (node) => nameOf(this, node),
      color: (node, tree) => this.differs ? (node.folded ? this.theme.plain : this.theme.colors[this.compare.shade(tree, node)]) : this.color(node.folded ? mostLike(this.profile, node.folded) : node.fn),
      share: (node, tree) => this.differs ? this.compare.signed(this.compare.main(tree, node)) : roundShare(node.weight ?? node.total, tree.all),
      shareAlpha: () => this.theme.share,
      plain: () => this.theme.plain, ink: () => this.theme.ink, mark: () => this.theme.mark, focus: () => this.theme.focus,
      named: () => this.named,
      searching: () => finder.hits !== null, hit: (node) => finder.isHit(node), faded: (node) => finder.hits !== null && !finder.isHit(node)
    };
    const graph = (id, label, onZoom, onRows) => {
      const made = new Graph(find(id), label, context, {
        hover: (spot, event) => this.tell(made, spot, event), focus: (node) => this.choose(made, node), zoom: () => onZoom(made), rows: onRows,
        key: (event, node) => actions.key(event, node), menu: (node, event) => this.menu.open({graph: made, node}, actions.kindsOf(node), event)
      });
      this.graphs.push(made);
      return made;
    };
    const open = (of) => { if (of.zoomed.depth > 0) this.openSandwich(of.zoomed.fn); };
    const zoomed = (of) => {
      this.state.zoom = of.whole ? "" : of.tree.timed ? of.tree.addressOf(...of.goal) : of.tree.address(of.zoomed);
      find("reset").hidden = of.whole;
      this.chart.refine(of);
      this.state.save();
      this.follow(of);
    };
    this.main = graph("graph", "Flame graph", zoomed, () => this.give());
    if (this.compare) this.other = graph("graph-after", "Flame graph of the later profile", zoomed);
    this.callers = graph("callers", "Callers", open);
    this.callees = graph("callees", "Callees", open);
    const note = (text, event) => { if (text) this.details.note(text, event); else this.tell(null, null); };
    this.timeline = new Timeline((time) => this.change({time, zoom: ""}), note, (thread) => this.chart.open(thread));
    this.alive = new Alive((time) => this.change({time, zoom: ""}), note);
    if (this.profile.source) this.source = new SourceView(this.profile, this, (fn) => this.change({fn}), (code) => this.change({code}));
    this.menu = new Menu((key, {graph: of, node}) => actions.act(key, node, of));
    const notes = this.compare ? [] : [({fn}) => this.profile.isNoFunction(fn), (rows) => `${roundShare(rows.reduce((all, {self}) => all + self, 0), this.sums.all)} in no function: last rows`];
    this.functions = new Table(find("functions"), "Functions. Arrow keys choose, Enter opens callers and callees.", functionColumns(this), (row) => this.openSandwich(row.fn), ...notes);
    find("functions").classList.toggle("aged", this.profile.countAge !== null);
    this.few = new Table(find("beside"), "Functions. Arrow keys choose, Enter finds one in the graph.", fewColumns(this), ({fn}) => this.profile.isGathered(fn) ? this.openSandwich(fn) : finder.pick(fn), ...notes);
    this.callTree = new CallTree(find("tree"), this, (node) => this.zoomTo(node));
  }

  tell(graph, spot, event) {
    if (spot || !this.chosen) this.details.show(graph, spot, event); else this.details.show(this.chosen.graph, this.chosen);
  }
  choose(graph, node) {
    this.chosen = {graph, node};
    this.tell(graph, {node});
    for (const button of [find("open"), find("copy")]) button.hidden = false;
  }
  change(values) {
    Object.assign(this.state, values);
    this.show();
    this.state.save();
  }
  zoomTo(node) {
    const address = this.callTree.tree.address(node);
    this.change({view: "graph"});
    this.main.zoom(this.main.tree.at(address));
  }
  openSandwich(fn) {
    if (this.profile.kind(fn) === NO_KIND) return;
    this.change({fn, view: "sandwich"});
  }

  show() {
    const {state} = this;
    document.body.dataset.view = state.view;
    document.body.classList.toggle("alone", !state.few);
    for (const view of VIEWS) {
      find(view + "-view").hidden = state.view !== view;
      find("tab-" + view).setAttribute("aria-selected", state.view === view);
      find("tab-" + view).tabIndex = state.view === view ? 0 : -1;
    }
    for (const [id, on] of [["case", state.exact], ["reverse", state.reverse], ["icicle", state.icicle], ["fold", state.fold], ["own", state.own], ["merge", state.merge], ["long", state.long], ["no-inlined", !state.inlined], ["chart", state.chart], ["few", state.few]]) find(id).setAttribute("aria-pressed", on);
    for (const [id, value] of [["threads", state.thread], ["scopes", state.scope], ["search", state.search]]) if (find(id).value !== String(value)) find(id).value = value;
    find("details").hidden = !["graph", "sandwich"].includes(state.view);
    this.timeline.show(state.merge, state.range, this.theme);
    this.alive.show(state.range, this.theme);
    fillChips(state, (name) => this.change({[name]: ""}));
    this.sums.weigh();
    find("share").textContent = this.sums.shareText();
    if (this.compare) {
      this.compare.show(state.view);
      this.legend();
    }
    this.chosen = null;
    this.tell(null, null);
    for (const button of [find("open"), find("copy")]) button.hidden = true;
    if (state.view === "graph") this.showGraph();
    if (state.view === "tree") this.showTree();
    if (state.view === "table") this.showTable();
    if (state.view === "sandwich") this.showSandwich();
    if (state.view === "source") this.source.show(state.fn, state.code);
    find("reset").hidden = state.view !== "graph" || this.main.whole;
    this.finder.search();
  }
  showGraph() {
    const {state, profile} = this;
    if (this.memory.changed("graph", this.sums.key, state.reverse, state.icicle, state.chart, state.byName, state.chains)) {
      const tree = state.chart ? this.chart.tree(this.main.holder.clientWidth) : this.tree(this.sums.total);
      find("caption-before").hidden = !state.chart;  // it takes room
      this.main.show(tree, !state.icicle, state.zoom);
      this.chart.refine(this.main);
      if (this.compare && !this.opened) {
        this.opened = true;
        const at = state.zoom || state.reverse ? null : this.main.tree.at(this.compare.opening());
        if (at && at.total < this.main.tree.root.total / 4) this.main.show(tree, !state.icicle, state.zoom = this.main.tree.address(at));
      }
      if (this.other) this.showOther();
    } else {
      for (const graph of this.graphs) graph.paintSoon();
    }
    if (this.placed !== this.layout) this.place();
    setTimeout(() => this.showFew());
  }
  // Gives the whole graph the room for its rows, where the functions have what it leaves.
  give() { document.body.style.setProperty("--graph", this.main.high + find("caption-before").offsetHeight + "px"); }
  // What the reader changes to have other boxes.
  get layout() { return [this.state.own, this.state.fold, this.state.inlined, this.state.reverse].join(); }
  // Whether it leaves enough is decided when there is a graph, when the window changes, and when the reader wants other
  // boxes: else it would jump about.
  place() {
    if (this.state.view !== "graph" || !this.main.tree) return;
    const above = ["times", "alive"].reduce((sum, id) => sum + find(id).offsetHeight, 0), {clientHeight} = document.querySelector("main");
    document.body.classList.toggle("flat", !this.compare && clientHeight - above - this.main.high >= FEW_ROOM);
    this.placed = this.layout;
    this.showFew();
  }
  // When the graph has been painted, and only where there is room for both.
  showFew() {
    if (!this.few.inSight) return;
    if (this.memory.changed("few", this.sums.key)) this.few.show(this.compare ? this.compare.rows(null) : this.sums.rows().slice());
    else this.few.paint();
    document.body.style.setProperty("--few", this.few.high + "px");
  }
  showTree() {
    const {state, profile} = this, look = {byName: false, chains: false};
    if (this.memory.changed("tree", this.sums.key, state.reverse)) this.callTree.show(LazyTree[state.reverse ? "leaves" : "roots"](profile, this.sums.total, this.sums.shape, look));
    else this.callTree.paint();
  }
  tree(total) { return LazyTree[this.state.reverse ? "leaves" : "roots"](this.profile, total, this.sums.shape, this.state); }
  showOther() {
    const {state, compare: {sides: {total}}} = this, both = state.side === "both";
    for (const id of ["caption-before", "caption-after", "graph-after"]) find(id).hidden = !both;
    find("graphs").classList.toggle("two", both);
    if (both) this.other.show(this.tree(total[1]), !state.icicle, state.zoom);
  }
  showTable() {
    const {hits} = this.finder;
    if (this.compare) return this.functions.show(this.compare.rows(hits));
    this.functions.show(hits ? this.sums.everyRow().filter((row) => hits[row.fn]) : this.sums.rows().slice());
  }
  showSandwich() {
    const rows = this.sums.rows(), {profile, state} = this;
    const weight = (row) => this.compare ? Math.abs(row.self.difference) : row.self;
    const fn = state.fn < 0 ? (rows.length ? rows.reduce((a, b) => weight(b) > weight(a) ? b : a).fn : -1) : state.fn;
    if (fn < 0) return;
    const found = this.sums.rowOf(fn), row = found || {self: 0, total: 0};
    find("chosen").textContent = profile.name(fn);
    if (this.compare) find("chosen-numbers").textContent = found ? `${this.compare.text(found.total)}; self ${this.compare.text(found.self)}` : "";
    else find("chosen-numbers").textContent = [profile.told(row.total, this.sums.all, this.sums.hitsOf(row).total, row.self), profile.place(fn)].filter(Boolean).join(", ");
    if (!this.memory.changed("sandwich", this.sums.key, fn)) return;
    this.callers.show(LazyTree.around(profile, this.sums.total, this.sums.shape, fn, true), true);
    this.callees.show(LazyTree.around(profile, this.sums.total, this.sums.shape, fn, false), false);
  }
}
