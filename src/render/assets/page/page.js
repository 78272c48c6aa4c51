// The page: what is chosen, and what is shown of it. The address after "#" holds all of the choice.
const find = (id) => document.getElementById(id);
const state = {view: "graph", thread: -1, scope: "", search: "", exact: false, reverse: false, icicle: false, fn: -1, zoom: 0};
const saved = [["view", "view", String], ["t", "thread", Number], ["scope", "scope", String], ["s", "search", String],
  ["c", "exact", (text) => text === "1"], ["r", "reverse", (text) => text === "1"], ["i", "icicle", (text) => text === "1"],
  ["fn", "fn", Number], ["z", "zoom", Number]];

async function start() {
  const profile = await readProfile(find("profile"));
  const standard = {...state, reverse: profile.reverse, icicle: profile.icicle};
  let weights = profile.weights(-1, ""), table = [], hits = null, shownTree = "";

  function save() {
    const query = new URLSearchParams();
    for (const [key, name] of saved) {
      const value = state[name];
      if (value !== standard[name]) query.set(key, typeof value === "boolean" ? Number(value) : value);
    }
    try { history.replaceState(null, "", "#" + query); } catch { /* a sandboxed frame has no address of its own */ }
  }
  function load() {
    const query = new URLSearchParams(location.hash.slice(1));
    for (const [key, name, read] of saved) state[name] = query.has(key) ? read(query.get(key)) : standard[name];
    if (!["graph", "table", "sandwich"].includes(state.view)) state.view = "graph";
    if (!Number.isInteger(state.thread) || state.thread >= profile.threads.length) state.thread = -1;
    if (!Number.isInteger(state.fn) || state.fn >= profile.functions.name.length) state.fn = -1;
    if (!Number.isInteger(state.zoom) || state.zoom < 0) state.zoom = 0;
    find("search").value = state.search;
  }

  // Colours are the style sheet's business: read from it, and again when it changes.
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  let theme = {};
  function readTheme() {
    const dark = style("--dark") === "1" ? 1 : 0;
    theme = {shades: profile.shades.map((shade) => shade[dark]), ink: style("--ink"), mark: style("--mark"), focus: style("--focus")};
    fillLegend(profile, theme.shades);
    for (const graph of graphs) graph.paintSoon();
    functions.paint();
  }
  const context = {
    font: "12px " + style("--mono"), name: (fn) => profile.name(fn), all: () => weights.total[0],
    color: (fn) => theme.shades[profile.functions.color[fn]], ink: () => theme.ink, mark: () => theme.mark, focus: () => theme.focus,
    hit: (fn) => hits !== null && hits[fn] === 1, faded: (fn) => hits !== null && hits[fn] === 0
  };

  function describe(graph, node) {
    const {tree} = graph, fn = tree.fn[node];
    const parts = [samples(tree.total[node]), percent(tree.total[node], weights.total[0])];
    if (graph.hasSelf) parts.push("self " + percent(tree.self[node], weights.total[0]));
    return {name: profile.name(fn), numbers: parts.join(", "), place: place(fn)};
  }
  function place(fn) {
    const kind = profile.functions.kind[fn];
    return [kind > 0 && kind < 6 ? KINDS[kind] : "", profile.place(fn), profile.module(fn)].filter(Boolean).join(", ");
  }
  const tip = find("tip");
  function showTip(graph, node, event) {
    tip.hidden = node < 0;
    if (node < 0) return;
    const text = describe(graph, node);
    tip.textContent = "";
    element(tip, "b", {}, text.name.length > 600 ? text.name.slice(0, 450) + " … " + text.name.slice(-150) : text.name);
    element(tip, "span", {}, text.numbers);
    if (text.place) element(tip, "span", {class: "soft"}, text.place);
    const {width, height} = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8)) + "px";
    tip.style.top = Math.max(4, event.clientY + 18 + height > innerHeight ? event.clientY - height - 10 : event.clientY + 18) + "px";
  }
  let chosen = null;
  function choose(graph, node) {
    chosen = {graph, node};
    const text = describe(graph, node);
    find("details").textContent = `${text.name} – ${text.numbers}${text.place ? ", " + text.place : ""}`;
    for (const button of document.querySelectorAll(".status button")) button.hidden = false;
  }
  function makeGraph(id, label, onSelect, settle) {
    const graph = new Graph(find(id), label, context, {
      hover: (node, event) => showTip(graph, node, event), focus: (node) => choose(graph, node),
      select: (node) => { choose(graph, node); onSelect(graph, node); }
    }, settle);
    return graph;
  }
  const main = makeGraph("graph", "Flame graph", (_, node) => { state.zoom = node; find("reset").hidden = node === 0; save(); });
  const open = (graph, node) => openSandwich(graph.tree.fn[node]);
  const callers = makeGraph("callers", "Callers", (graph, node) => { if (node > 0) open(graph, node); }, true);
  const callees = makeGraph("callees", "Callees", (graph, node) => { if (node > 0) open(graph, node); });
  const graphs = [main, callers, callees];

  const bar = (cell, part) => {
    const whole = weights.total[0];
    element(cell, "i", {}).style.width = Math.min(part / whole * 100, 100) + "%";
    element(cell, "span", {}, percent(part, whole));
  };
  const functions = new Table(find("functions"), [
    {title: "Self", key: "self", value: (row) => row.self, fill: (cell, row) => bar(cell, row.self)},
    {title: "Total", key: "total", value: (row) => row.total, fill: (cell, row) => bar(cell, row.total)},
    {title: "Function", key: "name", value: (row) => profile.name(row.fn), fill: (cell, row) => {
      element(cell, "em", {}).style.background = theme.shades[profile.functions.color[row.fn]];
      cell.append(profile.name(row.fn).slice(0, 400));
      cell.title = profile.name(row.fn).slice(0, 2000);
    }},
    {title: "Where", key: "where", value: (row) => place(row.fn), fill: (cell, row) => {
      cell.textContent = place(row.fn);
      cell.title = profile.path(row.fn);
    }}
  ], (row) => openSandwich(row.fn));

  function openSandwich(fn) {
    if (fn === profile.boxFunction[0] || fn === profile.narrow) return;
    Object.assign(state, {fn, view: "sandwich"});
    save();
    show();
  }
  function showSandwich() {
    const fn = state.fn < 0 ? (table.length ? table.reduce((a, b) => b.self > a.self ? b : a).fn : -1) : state.fn;
    if (fn < 0) return;
    const row = table.find((one) => one.fn === fn) || {self: 0, total: 0};
    find("chosen").textContent = profile.name(fn);
    find("chosen-numbers").textContent = `total ${percent(row.total, weights.total[0])}, self ${percent(row.self, weights.total[0])}` + (place(fn) ? ", " + place(fn) : "");
    callers.show(callersTree(profile, weights, fn), true);
    callees.show(calleesTree(profile, weights, fn), false);
  }

  function search() {
    const match = matcher(state.search, state.exact);
    hits = match.test && Uint8Array.from(profile.functions.name, (name) => match.test(name) ? 1 : 0);
    let share = 0;
    if (hits) {
      // Time counts once, however often a match stands in one stack.
      const within = new Uint8Array(profile.size);
      for (let box = 1; box < profile.size; box++) {
        const parent = profile.boxParent[box];
        within[box] = within[parent] || hits[profile.boxFunction[box]] ? 1 : 0;
        if (within[box] && !within[parent]) share += weights.total[box];
      }
    }
    find("result").textContent = !hits ? "" : share > 0 ? `matched ${percent(share, weights.total[0])}${match.note}` : "no match" + match.note;
    functions.show(hits ? table.filter((row) => hits[row.fn]) : table.slice());
    for (const graph of graphs) graph.paintSoon();
  }
  // A tree is made again only when what it shows has changed.
  function showGraph() {
    const wanted = [state.thread, state.scope, state.reverse, state.icicle].join("\n");
    if (wanted === shownTree) return;
    shownTree = wanted;
    main.hasSelf = !state.reverse;
    main.show(state.reverse ? leafTree(profile, weights) : rootTree(profile, weights), !state.icicle, state.zoom);
    state.zoom = main.zoomed;
  }
  function show() {
    for (const view of ["graph", "table", "sandwich"]) {
      find(view + "-view").hidden = state.view !== view;
      find("tab-" + view).setAttribute("aria-selected", state.view === view);
      find("tab-" + view).tabIndex = state.view === view ? 0 : -1;
    }
    for (const [id, on] of [["case", state.exact], ["reverse", state.reverse], ["icicle", state.icicle]]) find(id).setAttribute("aria-pressed", on);
    find("orders").hidden = state.view !== "graph";
    tip.hidden = true;
    if (state.view === "graph") showGraph();
    if (state.view === "sandwich") showSandwich();
    find("reset").hidden = state.view !== "graph" || state.zoom === 0;
    search();
  }
  function reckon() {
    weights = profile.weights(state.thread, state.scope);
    table = functionTable(profile, weights);
    find("threads").value = state.thread;
    find("scopes").value = state.scope;
    find("share").textContent = weights.total[0] === profile.all ? "" : `${samples(weights.total[0])} of these, ${percent(weights.total[0], profile.all)}`;
    show();
  }

  fillFacets(profile);
  load();
  readTheme();
  find("loading").remove();
  reckon();
  const change = (values, again = show) => { Object.assign(state, values); again(); save(); };
  find("threads").addEventListener("change", (event) => change({thread: Number(event.target.value), zoom: 0}, reckon));
  find("scopes").addEventListener("change", (event) => change({scope: event.target.value, zoom: 0}, reckon));
  find("search").addEventListener("input", (event) => change({search: event.target.value}, search));
  find("case").addEventListener("click", () => change({exact: !state.exact}));
  find("reverse").addEventListener("click", () => change({reverse: !state.reverse, zoom: 0}));
  find("icicle").addEventListener("click", () => change({icicle: !state.icicle}));
  find("reset").addEventListener("click", () => main.zoom(0));
  for (const view of ["graph", "table", "sandwich"]) find("tab-" + view).addEventListener("click", () => change({view}));
  find("open").addEventListener("click", () => chosen && open(chosen.graph, chosen.node));
  find("copy").addEventListener("click", () => {
    const {graph, node} = chosen;
    copyText(graph.tree.path(node).slice(1).map((at) => profile.name(graph.tree.fn[at])).join("\n"));
  });
  chooseThemes(readTheme);
  addEventListener("hashchange", () => { shownTree = ""; load(); reckon(); });
  addEventListener("keydown", (event) => onKey(event, () => change({search: ""}, () => { find("search").value = ""; search(); })));
}
