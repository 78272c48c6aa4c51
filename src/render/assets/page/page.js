// The page: from what is chosen to what is shown of it.
const HINT = "Point at a box, or walk with the arrow keys; right click or the menu key for what can be done with it.";

class Page {
  constructor(profile) {
    this.profile = profile;
    this.state = new State(profile);
    this.hits = null;
    this.shown = {};  // what the weights, the graph and the table were made for
    this.graphs = [];
    this.compare = profile.sides ? new Compare(profile, this) : null;
    this.makeViews();
    fillFacets(profile);
    this.timeline.use(profile);
    find("chart").hidden = profile.bins < 2;
    this.readTheme();
    this.listen();
    this.show();
  }

  // The same run, later: what the reader chose stays, though functions, threads and steps of time have other numbers.
  replace(profile) {
    const {state} = this, scrolled = this.main.scrolled;
    this.state.translate(this.profile, profile);
    Object.assign(this, {profile, shown: {}});
    fillFacets(profile);
    find("merge").hidden = profile.merged.length === 0;
    this.timeline.use(profile);
    find("chart").hidden = profile.bins < 2;
    this.readTheme();
    this.show();
    this.main.scrolled = scrolled;
    state.save();
  }

  // Colours are the style sheet's business: read from it, and again when it changes.
  readTheme() {
    const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim(), {profile} = this;
    const side = style("--dark") === "1" ? 2 : 1, shades = profile.shades.map((shade) => shade[side]);
    const colors = Object.fromEntries(profile.shades.map((shade) => [shade[0], shade[side]]));
    this.theme = {shades, colors, soft: style("--soft"), page: style("--page"), plain: colors.g0, ink: style("--ink"), mark: style("--mark"), focus: style("--focus")};
    this.legend();
    for (const graph of this.graphs) graph.paintSoon();
    this.functions.paint();
    this.timeline.paint(this.theme);
  }
  legend() {
    const shades = this.compare && (this.compare.differs || this.state.view === "table");
    fillLegend(this.profile, this.theme.colors, shades ? this.compare.legend() : null);
  }
  name(fn) { return this.state.long ? this.profile.name(fn) : this.profile.shortName(fn); }
  color(fn) { return this.theme.shades[this.profile.functions.color[fn]]; }
  get all() { return this.total[0]; }
  get differs() { return this.compare !== null && this.compare.differs; }
  // Of the two graphs of a comparison the one goes where the other went.
  follow(of) {
    if (!this.compare || this.state.side !== "both" || this.following) return;
    this.following = true;
    const twin = of === this.main ? this.other : this.main;
    twin.zoom(twin.tree.at(of.whole ? "" : of.tree.address(of.zoomed)));
    this.following = false;
  }

  makeViews() {
    const context = {
      font: "12px " + getComputedStyle(document.documentElement).getPropertyValue("--mono").trim(), name: (fn) => this.name(fn),
      color: (node, tree) => this.differs ? this.theme.colors[this.compare.shade(tree, node)] : this.color(node.fn),
      share: (node, tree) => this.differs ? signed(this.compare.main(tree, node).difference) : percent(node.total, tree.all), plain: () => this.theme.plain, ink: () => this.theme.ink, mark: () => this.theme.mark, focus: () => this.theme.focus,
      searching: () => this.hits !== null, hit: (fn) => this.hits !== null && this.hits[fn] === 1, faded: (fn) => this.hits !== null && this.hits[fn] === 0
    };
    const graph = (id, label, onZoom, settle) => {
      const made = new Graph(find(id), label, context, {
        hover: (spot) => this.tell(made, spot), focus: (node) => this.choose(made, node), zoom: () => onZoom(made),
        key: (event, node) => this.key(event, node), menu: (node, event) => this.menu.open({graph: made, node}, this.kindsOf(node), event)
      }, settle);
      this.graphs.push(made);
      return made;
    };
    const open = (of) => { if (of.zoomed.depth > 0) this.openSandwich(of.zoomed.fn); };
    const zoomed = (of) => {
      this.state.zoom = of.whole ? "" : of.tree.address(of.zoomed);
      find("reset").hidden = of.whole;
      this.state.save();
      this.follow(of);
    };
    this.main = graph("graph", "Flame graph", zoomed);
    if (this.compare) this.other = graph("graph-after", "Flame graph of the later profile", zoomed);
    this.callers = graph("callers", "Callers", open, true);
    this.callees = graph("callees", "Callees", open);
    this.timeline = new Timeline((time) => this.change({time, zoom: ""}));
    if (this.profile.source) this.source = new SourceView(this.profile, this, (fn) => this.change({fn}), (code) => this.change({code}));
    this.menu = new Menu((key, {graph: of, node}) => this.act(key, node, of));
    const bar = (cell, part, hits) => {
      element(cell, "i", {}).style.width = Math.min(part / this.all * 100, 100) + "%";
      element(cell, "span", {}, percent(part, this.all));
      cell.title = [this.profile.samplesText(hits), this.profile.time(part)].filter(Boolean).join(", ");
    };
    this.functions = new Table(find("functions"), [...(this.compare ? this.compare.columns() : [
      {title: "Self", key: "self", value: (row) => row.self, fill: (cell, row) => bar(cell, row.self, this.hitsOf(row).self)},
      {title: "Total", key: "total", value: (row) => row.total, fill: (cell, row) => bar(cell, row.total, this.hitsOf(row).total)}
    ]),
      {title: "Function", key: "name", value: (row) => this.name(row.fn), fill: (cell, row) => {
        element(cell, "em", {}).style.background = this.color(row.fn);
        cell.append(this.name(row.fn).slice(0, 400));
        cell.title = this.profile.name(row.fn).slice(0, 2000);
      }},
      {title: "Where", key: "where", value: (row) => this.profile.place(row.fn), fill: (cell, row) => {
        cell.textContent = this.profile.place(row.fn);
        cell.title = this.profile.path(row.fn);
      }}
    ], (row) => this.openSandwich(row.fn));
  }

  // Weights are time; what is called samples is their number.
  numbers(total, hits, self, all) {
    const parts = [this.profile.samplesText(hits), percent(total, all), this.profile.time(total)];
    if (self !== null) parts.push("self " + percent(self, all));
    return parts.filter(Boolean).join(", ");
  }
  describe(graph, {node, kids}) {
    if (kids) {
      const total = kids.reduce((all, kid) => all + kid.total, 0), hits = kids.reduce((all, kid) => all + this.hitsIn(graph.tree, kid), 0);
      return {name: kids.length === 1 ? this.profile.name(kids[0].fn) : `${count(kids.length)} frames too narrow to draw`, numbers: this.differs ? percent(total, graph.tree.all) : this.numbers(total, hits, null, graph.tree.all), place: "click to see them"};
    }
    if (this.compare) return {name: this.profile.name(node.fn), numbers: this.compare.describe(graph.tree, node), place: this.profile.place(node.fn)};
    const self = graph.tree.up ? null : graph.tree.selfOf(node);
    return {name: this.profile.name(node.fn), numbers: this.numbers(node.weight ?? node.total, this.hitsIn(graph.tree, node), self, graph.tree.all), place: this.profile.place(node.fn)};
  }
  // The details have a line of their own, so that nothing covers the picture.
  tell(graph, spot) {
    const text = spot ? this.describe(graph, spot) : this.chosen ? this.describe(this.chosen.graph, this.chosen) : null;
    find("details").textContent = text || !["graph", "sandwich"].includes(this.state.view) ? "" : HINT;
    if (!text) return;
    element(find("details"), "b", {}, text.name.length > 600 ? text.name.slice(0, 450) + " … " + text.name.slice(-150) : text.name);
    element(find("details"), "span", {}, ` – ${text.numbers}${text.place ? ", " + text.place : ""}`);
  }
  choose(graph, node) {
    this.chosen = {graph, node};
    this.tell(graph, {node});
    for (const button of document.querySelectorAll(".status button")) button.hidden = false;
  }
  // Which kinds of actions there are for a frame.
  kindsOf(node) {
    return {node: node.fn !== this.profile.all, compare: this.compare !== null, time: this.profile.bins > 1, source: this.source?.has(node.fn) === true};
  }
  key(event, node) {
    const action = ACTIONS.find((one) => one.key === event.key);
    if (!action || action.of && !this.kindsOf(node)[action.of]) return;
    event.preventDefault();
    this.act(action.key, node, this.graphs.find((one) => one.focused === node));
  }
  act(key, node, graph) {
    const {state} = this, only = () => "^" + escapeRegex(this.profile.name(node.fn)) + "$";
    const more = (old) => old ? old + "|" + only() : only();
    const path = () => graph.tree.path(node).filter((one) => one.fn !== this.profile.all).map((one) => this.profile.name(one.fn));
    const actions = {
      f: () => this.change({focus: only()}), h: () => this.change({hide: more(state.hide), zoom: ""}), i: () => this.change({ignore: more(state.ignore)}),
      o: () => this.openSandwich(node.fn), c: () => copyText((graph.tree.up ? path().reverse() : path()).join("\n")), C: () => copyText(this.profile.name(node.fn)),
      g: () => this.change({fold: !state.fold, zoom: ""}), m: () => this.change({merge: !state.merge, zoom: ""}), l: () => this.change({long: !state.long}),
      s: () => this.source?.has(node.fn) && this.change({fn: node.fn, view: "source"}),
      y: () => this.profile.bins > 1 && this.change({chart: !state.chart, zoom: ""}),
      d: () => this.compare && this.change({side: SIDES[(SIDES.findIndex(([side]) => side === state.side) + 1) % SIDES.length][0]}),
      u: () => this.change({focus: "", hide: "", ignore: "", fold: false, inlined: true, time: "", zoom: ""})
    };
    actions[key]();
  }
  change(values) {
    Object.assign(this.state, values);
    this.show();
    this.state.save();
  }
  openSandwich(fn) {
    if (this.profile.kind(fn) === NO_KIND) return;
    this.change({fn, view: "sandwich"});
  }

  // Each part is made again only when what it shows has changed.
  changed(what, ...parts) {
    const wanted = parts.join("\n");
    if (this.shown[what] === wanted) return false;
    this.shown[what] = wanted;
    return true;
  }
  weigh() {
    const {profile, state} = this, {thread, scope, focus, ignore, range} = state;
    if (!this.changed("weights", thread, scope, focus, ignore, state.time)) return;
    const marks = (term) => term ? profile.matching(matcher(term, true).test) : null;
    const ofScope = scope ? Uint8Array.from(profile.functions.name, (name, fn) => profile.kind(fn) === SCOPE && name === scope ? 1 : 0) : null;
    const choice = {thread, scope: ofScope, focus: marks(focus), ignore: marks(ignore), range, marks: profile.bins > 1 ? new Uint8Array(profile.size) : null};
    this.kept = choice.marks;
    if (this.compare) {
      this.compare.weigh(choice);
      find("share").textContent = this.compare.share();
      return;
    }
    this.total = weigh(profile, choice);
    // The number of samples in each box, made when it is asked for: without the column each weighs one.
    this.hitTotals = profile.countHits ? () => { const made = weigh(profile, {...choice, marks: null}, profile.countHits); this.hitTotals = () => made; return made; } : () => this.total;
    find("share").textContent = this.all === profile.samples ? "" : `${this.profile.samplesText(this.hitTotals()[0]) || this.profile.time(this.all)} of these, ${percent(this.all, profile.samples)}` +
      (range ? `, from ${duration(range[0] * profile.bin)} to ${duration(range[1] * profile.bin)}` : "");
  }
  show() {
    const {state} = this;
    for (const view of VIEWS) {
      find(view + "-view").hidden = state.view !== view;
      find("tab-" + view).setAttribute("aria-selected", state.view === view);
      find("tab-" + view).tabIndex = state.view === view ? 0 : -1;
    }
    for (const [id, on] of [["case", state.exact], ["reverse", state.reverse], ["icicle", state.icicle], ["fold", state.fold], ["merge", state.merge], ["long", state.long], ["no-inlined", !state.inlined], ["chart", state.chart]]) find(id).setAttribute("aria-pressed", on);
    for (const [id, value] of [["threads", state.thread], ["scopes", state.scope], ["search", state.search]]) if (find(id).value !== String(value)) find(id).value = value;
    find("orders").hidden = state.view !== "graph";
    this.timeline.show(state.merge, state.range, this.theme);
    fillChips(state, (name) => this.change({[name]: ""}));
    this.weigh();
    if (this.compare) {
      this.total = this.compare.weights;
      this.compare.show(state.view);
      this.legend();
    }
    this.chosen = null;
    this.tell(null, null);
    for (const button of document.querySelectorAll(".status button")) button.hidden = true;
    if (state.view === "graph") this.showGraph();
    if (state.view === "table") this.showTable();
    if (state.view === "sandwich") this.showSandwich();
    if (state.view === "source") this.source.show(state.fn, state.code);
    find("reset").hidden = state.view !== "graph" || this.main.whole;
    this.search();
  }
  get shapeKey() { return [this.shown.weights, this.state.fold, this.state.inlined, this.state.hide, this.state.merge, this.state.side].join("\n"); }
  get shape() {
    if (this.changed("shape", this.shapeKey)) this.lastShape = shapeOf(this.profile, this.state);
    return this.lastShape;
  }
  showGraph() {
    const {state, profile} = this;
    if (this.changed("graph", this.shapeKey, state.reverse, state.icicle, state.chart)) {
      const tree = state.chart ? this.chart() : state.reverse ? LazyTree.leaves(profile, this.total, this.shape) : LazyTree.roots(profile, this.total, this.shape);
      this.main.show(tree, !state.icicle, state.zoom);
      find("caption-before").hidden = !state.chart;
      if (this.other) this.showOther();
    } else {
      for (const graph of this.graphs) graph.paintSoon();
    }
  }
  // Of the thread that is chosen, or of the busiest.
  chart() {
    const {profile, state} = this, use = new Map();
    profile.countThread.forEach((thread, at) => use.set(thread, (use.get(thread) || 0) + profile.countWeight[at]));
    const thread = state.thread >= 0 ? state.thread : Array.from(use).reduce((a, b) => b[1] > a[1] ? b : a)[0], [tid, name] = profile.threads[thread];
    find("caption-before").textContent = `Over time: ${name || "thread"}${tid ? ` (${tid})` : ""}; where nothing stands it did not run`;
    return new TimeTree(profile, this.shape, thread, this.kept, state.range);
  }
  showOther() {
    const {state, profile, compare: {sides: {total}}} = this, both = state.side === "both";
    for (const id of ["caption-before", "caption-after", "graph-after"]) find(id).hidden = !both;
    find("graphs").classList.toggle("two", both);
    if (both) this.other.show(state.reverse ? LazyTree.leaves(profile, total[1], this.shape) : LazyTree.roots(profile, total[1], this.shape), !state.icicle, state.zoom);
  }
  makeTable() {
    if (this.changed("table", this.shapeKey)) this.rows = this.compare ? this.compare.sides.table(this.shape) : functionTable(this.profile, this.total, this.shape);
    return this.rows;
  }
  // {self, total} of a row as numbers of samples.
  hitsOf(row) {
    const {profile} = this;
    if (!profile.countHits) return row;
    if (this.changed("hit rows", this.shapeKey)) this.hitRows = new Map(functionTable(profile, this.hitTotals(), this.shape).map((one) => [one.fn, one]));
    return this.hitRows.get(row.fn) || {self: 0, total: 0};
  }
  hitsIn(tree, node) { return node.hits ?? (this.profile.countHits ? tree.sum(node, this.hitTotals()) : node.total); }
  showTable() {
    const {hits} = this;
    if (this.compare) return this.functions.show(this.compare.rows(hits));
    const rows = this.makeTable();
    this.functions.show(hits ? rows.filter((row) => hits[row.fn]) : rows.slice());
  }
  showSandwich() {
    const rows = this.makeTable(), {profile, state} = this;
    const weight = (row) => this.compare ? Math.abs(row.self.difference) : row.self;
    const fn = state.fn < 0 ? (rows.length ? rows.reduce((a, b) => weight(b) > weight(a) ? b : a).fn : -1) : state.fn;
    if (fn < 0) return;
    const found = rows.find((one) => one.fn === fn), row = found || {self: 0, total: 0};
    find("chosen").textContent = profile.name(fn);
    if (this.compare) find("chosen-numbers").textContent = found ? `${this.compare.text(found.total)}; self ${this.compare.text(found.self)}` : "";
    else find("chosen-numbers").textContent = `total ${percent(row.total, this.all)}, self ${percent(row.self, this.all)}` +
      [this.profile.samplesText(this.hitsOf(row).total), profile.time(row.total), profile.place(fn)].filter(Boolean).map((text) => ", " + text).join("");
    if (!this.changed("sandwich", this.shapeKey, fn)) return;
    this.callers.show(LazyTree.around(profile, this.total, this.shape, fn, true), true);
    this.callees.show(LazyTree.around(profile, this.total, this.shape, fn, false), false);
  }
  search() {
    const {profile, state} = this, match = matcher(state.search, state.exact);
    this.hits = match.test && profile.matching(match.test);
    const share = this.hits ? shareOf(profile, this.total, this.hits) : 0, least = profile.gathered > 0 ? "at least " : "";
    find("result").textContent = !this.hits ? "" : share > 0 ? `matched ${least}${percent(share, this.all)}${match.note}` : "no match" + match.note;
    if (state.view === "table") this.showTable();
    for (const graph of this.graphs) graph.paintSoon();
  }

  // On paper there is no scrolling, and ink on white.
  print(on) {
    const {dataset, classList} = document.documentElement;
    if (on) this.themeBefore = dataset.theme;
    classList.toggle("printing", on);
    if (on) dataset.theme = "light"; else if (this.themeBefore) dataset.theme = this.themeBefore; else delete dataset.theme;
    this.readTheme();
    for (const graph of this.graphs) graph.print(on);
  }
  listen() {
    const {state} = this, on = (id, event, act) => find(id).addEventListener(event, act);
    on("threads", "change", (event) => this.change({thread: Number(event.target.value), zoom: ""}));
    on("scopes", "change", (event) => this.change({scope: event.target.value, zoom: ""}));
    on("search", "input", (event) => { state.search = event.target.value; this.search(); state.save(); });
    on("case", "click", () => this.change({exact: !state.exact}));
    on("reverse", "click", () => this.change({reverse: !state.reverse, zoom: ""}));
    on("icicle", "click", () => this.change({icicle: !state.icicle}));
    on("no-inlined", "click", () => this.change({inlined: !state.inlined, zoom: ""}));
    for (const [id, key] of [["fold", "g"], ["merge", "m"], ["long", "l"], ["chart", "y"]]) on(id, "click", () => this.act(key));
    on("reset", "click", () => this.main.zoom(this.main.tree.root));
    for (const view of VIEWS) on("tab-" + view, "click", () => this.change({view}));
    on("open", "click", () => this.chosen && this.act("o", this.chosen.node, this.chosen.graph));
    on("copy", "click", () => this.chosen && this.act("c", this.chosen.node, this.chosen.graph));
    find("merge").hidden = this.profile.merged.length === 0;
    chooseThemes(() => this.readTheme());
    for (const [event, on] of [["beforeprint", true], ["afterprint", false]]) addEventListener(event, () => this.print(on));
    addEventListener("hashchange", () => { this.shown = {}; state.load(this.profile); this.show(); });
    addEventListener("keydown", (event) => onKey(event, () => { find("search").value = ""; this.change({search: ""}); }));
  }
}
