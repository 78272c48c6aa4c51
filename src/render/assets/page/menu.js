// What can be done with a frame: the same by right click, by the menu key and by letters.
const ACTIONS = [
  {key: "f", text: "Focus: only stacks with it", node: true},
  {key: "h", text: "Hide this function", node: true},
  {key: "i", text: "Ignore stacks with it", node: true},
  {key: "o", text: "Callers and callees", node: true},
  {key: "c", text: "Copy stack", node: true},
  {key: "C", text: "Copy name", node: true},
  {key: "g", text: "Fold glue and recursion"},
  {key: "m", text: "Merge like threads"},
  {key: "l", text: "Whole names"},
  {key: "d", text: "Before, after, both, difference", compare: true},
  {key: "u", text: "Show everything again"}
];

class Menu {
  // act(key, node) does it; `compares`: the page is of two profiles.
  constructor(act, compares) {
    this.compares = compares;
    this.box = element(document.body, "div", {id: "menu", role: "menu", "aria-label": "Frame", hidden: ""});
    this.items = ACTIONS.map((action) => {
      const item = element(this.box, "button", {type: "button", role: "menuitem", tabindex: "-1"});
      element(item, "span", {}, action.text);
      element(item, "kbd", {}, action.key);
      item.addEventListener("click", () => { this.close(); act(action.key, this.node); });
      return item;
    });
    this.box.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("pointerdown", (event) => { if (!this.box.contains(event.target)) this.close(false); });
  }
  open(node, isFunction, event) {
    Object.assign(this, {node, back: document.activeElement});
    this.items.forEach((item, at) => { item.hidden = ACTIONS[at].node === true && !isFunction || ACTIONS[at].compare === true && !this.compares; });
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
    const steps = {ArrowDown: 1, ArrowUp: items.length - 1};
    if (event.key === "Escape" || event.key === "Tab") this.close();
    else if (steps[event.key]) items[(at + steps[event.key]) % items.length].focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
