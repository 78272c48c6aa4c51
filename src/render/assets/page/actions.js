// What keys and the menu do.
import {SIDES} from "./compare.js";
import {ACTIONS} from "./menu.js";
import {copyText, escapeRegex, find} from "./tools.js";
import {framesTo} from "./lazy_tree.js";

export class Actions {
  constructor(page) { this.page = page; }
  // The kinds of actions that apply to a frame, or to none.
  kindsOf(node) {
    const {profile, compare, source} = this.page, frame = node !== null;
    return {frame, node: frame && node.fn !== profile.all && !node.closed, compare: frame && compare !== null, time: frame && profile.bins > 1, source: frame && source?.has(node.fn) === true, editor: frame && !node.closed && this.page.editor.has(node.fn)};
  }
  // node: the one with the focus, or null where there is no graph.
  key(event, node) {
    const {page} = this, action = ACTIONS.find((one) => one.key === event.key), step = {n: 1, N: -1}[event.key];
    if (step) page.finder.goOn(step);
    else if (event.key === "?") find("keys").showModal();
    else if (!action || action.of && !this.kindsOf(node)[action.of]) return;
    else this.act(action.key, node, page.graphs.find((one) => one.focused === node));
    event.preventDefault();
  }
  act(key, node, graph) {
    const {page} = this, {profile, state} = page, only = () => "^" + escapeRegex(profile.name(node.fn)) + "$";
    const more = (old) => old ? old + "|" + only() : only();
    const path = () => framesTo(node).filter((one) => one.fn !== profile.all).map((one) => profile.name(one.fn));
    const actions = {
      z: () => graph.zoom(node), f: () => page.change({focus: only()}), h: () => page.change({hide: more(state.hide), zoom: ""}), i: () => page.change({ignore: more(state.ignore)}),
      o: () => page.openSandwich(node.fn), c: () => copyText((graph.tree.up ? path().reverse() : path()).join("\n")), C: () => copyText(profile.name(node.fn)),
      g: () => page.change({fold: !state.fold, zoom: ""}), m: () => page.change({merge: !state.merge, zoom: ""}), l: () => page.change({long: !state.long}),
      w: () => page.change({own: !state.own, zoom: ""}),
      p: () => graph.focus(graph.tree.heaviest?.(graph.zoomed)), t: () => page.change({few: !state.few}),
      x: () => { state.opened.clear(); page.change({chains: !state.chains}); }, b: () => page.change({byName: !state.byName}),
      e: () => page.editor.open(node.fn),
      s: () => page.source?.has(node.fn) && page.change({fn: node.fn, view: "source"}),
      y: () => profile.bins > 1 && (state.chart || !node || node.parent === null ? page.change({chart: !state.chart, lane: -1, zoom: ""}) : page.chart.openOf(node)),
      d: () => page.compare && page.change({side: SIDES[(SIDES.findIndex(([side]) => side === state.side) + 1) % SIDES.length][0]}),
      u: () => page.change({focus: "", hide: "", ignore: "", fold: false, own: false, inlined: true, time: "", zoom: ""})
    };
    actions[key]();
  }
}
