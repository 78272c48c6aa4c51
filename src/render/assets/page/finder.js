// The search: what matches, how much of the time that is, and the way from match to match.
import {boxesText, escapeRegex, find, matchText, matcher, nextMatch} from "./tools.js";
import {shareOf} from "./walk.js";

export class Finder {
  // hits: marks of functions, or null where nothing is searched for.
  constructor(page) { Object.assign(this, {page, hits: null}); }
  isHit(node) { return this.hits !== null && (node.closed ?? [node]).some(({fn}) => this.hits[fn] === 1); }
  search() {
    const {page} = this, {profile, state, sums} = page, match = matcher(state.search, state.exact);
    this.hits = match.test && profile.showing(match.test, state.long);
    find("result").textContent = this.hits ? matchText(shareOf(profile, sums.total, this.hits), sums.all, match.note, profile.gathered > 0) : "";
    if (state.view === "table") page.showTable();
    if (state.view === "tree") page.callTree.paint();
    for (const graph of page.graphs) graph.paintSoon();
    this.tell();
  }
  // The boxes in sight that match, and which of them has the focus.
  tell() {
    const {main, state} = this.page, found = this.hits && state.view === "graph" ? main.matching() : [];
    find("found").textContent = boxesText(found.length, found.indexOf(main.focused) + 1);
    for (const id of ["previous", "next"]) find(id).hidden = found.length === 0;
  }
  goOn(step) {
    const {main} = this.page, found = main.matching();
    if (!this.hits || found.length === 0) return;
    main.focus(nextMatch(found, main.focused, step));
    this.tell();
  }
  // Finds a function's boxes in the graph, the widest first; again: shows all.
  pick(fn) {
    const {page} = this, {main, state} = page, search = "^" + escapeRegex(page.name(fn)) + "$", again = state.search === search;
    page.change({search: again ? "" : search, exact: !again});
    const found = again ? [] : main.matching();
    if (found.length) main.focus(found.reduce((a, b) => b.total > a.total ? b : a));
    this.tell();
  }
}
