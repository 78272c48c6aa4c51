// The actions on a frame, by letters; those of most use also by right click and by the menu key.
import {element} from "./tools.js";

export const ACTIONS = [
  {key: "z", text: "Zoom", of: "frame", listed: true},
  {key: "f", text: "Focus: only stacks with it", of: "node", listed: true},
  {key: "h", text: "Hide this function", of: "node", listed: true},
  {key: "i", text: "Ignore stacks with it", of: "node"},
  {key: "o", text: "Callers and callees", of: "node", listed: true},
  {key: "y", text: "In time order, and back", of: "time", listed: true},
  {key: "e", text: "Open in the editor", of: "editor", listed: true},
  {key: "s", text: "Source", of: "source", listed: true},
  {key: "c", text: "Copy stack", of: "node", listed: true},
  {key: "C", text: "Copy name", of: "node"},
  {key: "p", text: "To the end of the heaviest path", of: "frame"},
  {key: "g", text: "Fold glue and recursion"},
  {key: "w", text: "Own code: a box for each run of others'"},
  {key: "x", text: "Fold frames that only lead on, and the kernel's, or show each", of: "frame"},
  {key: "b", text: "Siblings by name, or the heaviest first", of: "frame"},
  {key: "m", text: "Merge like threads"},
  {key: "l", text: "Whole names"},
  {key: "t", text: "Table beside the graph, or above it, where there is room", of: "frame"},
  {key: "d", text: "Before, after, both, difference", of: "compare"},
  {key: "u", text: "Show everything again", listed: true}
];

const MOST = 7;  // that the menu lists: the first ones that apply

const OTHER_KEYS = [["arrows, Home", "From frame to frame, to the root"], ["Enter", "Zoom, or open a folded box"], ["Escape", "Back"],
  ["/", "Search; Enter and Shift-Enter: next, previous"], ["n, N", "Next and previous match"], ["Ctrl and wheel", "Zoom freely"], ["Shift and wheel", "Move sideways"], ["?", "These keys"]];

// Fills a dialog with all keys.
export function keyList(dialog) {
  // Opened, it begins at its beginning: without this the field at its end would have the focus.
  dialog.tabIndex = -1;
  dialog.autofocus = true;
  const list = element(dialog, "dl", {});
  for (const [key, text] of [...OTHER_KEYS, ...ACTIONS.map((action) => [action.key, action.text])]) {
    element(list, "dt", {}, key);
    element(list, "dd", {}, text);
  }
  dialog.addEventListener("click", (event) => { if (!event.target.closest("label")) dialog.close(); });
  return dialog;
}

export class Menu {
  // act(key, node) does it.
  constructor(act) {
    this.act = act;
    this.box = element(document.body, "div", {id: "menu", role: "menu", "aria-label": "Frame", hidden: ""});
    this.items = ACTIONS.filter(({listed}) => listed).map((action) => {
      const item = element(this.box, "button", {type: "button", role: "menuitem", tabindex: "-1"});
      element(item, "span", {}, action.text);
      element(item, "kbd", {}, action.key);
      item.addEventListener("click", () => { this.close(); act(action.key, this.node); });
      return item;
    });
    this.box.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("pointerdown", (event) => { if (!this.box.contains(event.target)) this.close(false); });
  }
  // kinds: the kinds of actions that apply to the node.
  open(node, kinds, event) {
    Object.assign(this, {node, back: document.activeElement});
    this.letters = ACTIONS.filter(({of}) => of === undefined || kinds[of]).map(({key}) => key);
    const shown = this.items.filter((item) => this.letters.includes(item.lastChild.textContent)).slice(0, MOST);
    for (const item of this.items) item.hidden = !shown.includes(item);
    this.box.hidden = false;
    const {width, height} = this.box.getBoundingClientRect(), area = event.target.getBoundingClientRect();
    const x = event.clientX || area.left + area.width / 2, y = event.clientY || area.top + area.height / 2;
    this.box.style.left = Math.max(4, Math.min(x, innerWidth - width - 4)) + "px";
    this.box.style.top = Math.max(4, Math.min(y, innerHeight - height - 4)) + "px";
    this.items.find((item) => !item.hidden).focus();
  }
  close(refocus = true) {
    if (this.box.hidden) return;
    this.box.hidden = true;
    if (refocus) this.back?.focus();
  }
  key(event) {
    const items = this.items.filter((item) => !item.hidden), at = items.indexOf(document.activeElement);
    const steps = {ArrowDown: 1, ArrowUp: items.length - 1}, letter = event.ctrlKey || event.metaKey || event.altKey ? "" : event.key;
    if (this.letters.includes(letter)) { this.close(); this.act(letter, this.node); }
    else if (event.key === "Escape" || event.key === "Tab") this.close();
    else if (steps[event.key]) items[(at + steps[event.key]) % items.length].focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
