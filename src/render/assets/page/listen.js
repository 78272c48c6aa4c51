// What the reader does outside the graphs: buttons, lists, keys, the address, paper.
import {chooseThemes, onKey} from "./controls.js";
import {keyList} from "./menu.js";
import {print} from "./paper.js";
import {VIEWS} from "./state.js";
import {Memory} from "./sums.js";
import {find} from "./tools.js";

export function listen(page) {
  const {state, actions, finder} = page, on = (id, event, act) => find(id).addEventListener(event, act);
  on("threads", "change", (event) => page.change({thread: Number(event.target.value), zoom: ""}));
  on("scopes", "change", (event) => page.change({scope: event.target.value, zoom: ""}));
  on("search", "input", (event) => { state.search = event.target.value; finder.search(); state.save(); });
  on("search", "keydown", (event) => { if (event.key === "Enter") finder.goOn(event.shiftKey ? -1 : 1); });
  on("next", "click", () => finder.goOn(1));
  on("previous", "click", () => finder.goOn(-1));
  const keys = keyList(find("keys"));
  on("help", "click", () => keys.showModal());
  on("case", "click", () => page.change({exact: !state.exact}));
  on("reverse", "click", () => page.change({reverse: !state.reverse, zoom: ""}));
  on("icicle", "click", () => page.change({icicle: !state.icicle}));
  on("no-inlined", "click", () => page.change({inlined: !state.inlined, zoom: ""}));
  for (const [id, key] of [["fold", "g"], ["own", "w"], ["merge", "m"], ["long", "l"], ["chart", "y"], ["few", "t"]]) on(id, "click", () => actions.act(key));
  on("reset", "click", () => page.main.zoom(page.main.tree.root));
  for (const view of VIEWS) on("tab-" + view, "click", () => page.change({view}));
  on("open", "click", () => page.chosen && actions.act("o", page.chosen.node, page.chosen.graph));
  on("copy", "click", () => page.chosen && actions.act("c", page.chosen.node, page.chosen.graph));
  find("merge").hidden = page.profile.merged.length === 0;
  find("tab-tree").hidden = page.compare !== null;
  addEventListener("resize", () => page.place());
  chooseThemes(() => page.readTheme());
  for (const [event, on] of [["beforeprint", true], ["afterprint", false]]) addEventListener(event, () => print(page, on));
  addEventListener("hashchange", () => { page.memory = new Memory(); state.load(page.profile); page.show(); });
  addEventListener("keydown", (event) => {
    const {target, key} = event, clear = () => { find("search").value = ""; page.change({search: ""}); };
    onKey(event, clear);
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || target.closest?.("input, select, dialog, #menu")) return;
    if (key === "Escape" && state.search) return clear();
    // Without a click first: what nothing else takes is for the graph, or for the page.
    const pressed = target !== document.body && (key === "Enter" || key === " ");
    if (pressed || key === "Tab" || target.closest?.(".scroll")) return;
    ({graph: page.main, tree: page.callTree}[state.view])?.take(event);
    if (!event.defaultPrevented) actions.key(event, null);
  });
}
