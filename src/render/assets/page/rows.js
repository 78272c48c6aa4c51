// Rows that scroll; only those in sight exist as elements. What a row is, and what it does, is its maker's.
import {element} from "./tools.js";

export class Rows {
  // fill(line, at) makes a row's cells; choose(at) is what a click or Enter does.
  constructor(holder, role, label, {fill, choose}) {
    Object.assign(this, {holder, fill, choose, many: 0, selected: 0});
    for (const [name, value] of [["role", role], ["tabindex", "0"], ["aria-label", label]]) holder.setAttribute(name, value);
    this.head = element(holder, "div", {class: "line head", role: "row", "aria-rowindex": 1});
    this.body = element(holder, "div", {class: "body", role: "rowgroup", tabindex: "-1"});
    this.spacer = element(this.body, "div", {class: "spacer", role: "presentation"});
    this.body.addEventListener("scroll", () => this.paint());
    // A click would focus the scrolling element, but the holder handles keys and the selection.
    this.body.addEventListener("focus", () => holder.focus());
    holder.addEventListener("keydown", (event) => { if (event.target === holder) this.press(event); });
    new ResizeObserver(() => this.paint()).observe(this.body);
    new ResizeObserver(() => this.cutAtRow()).observe(holder);
    this.line = parseFloat(getComputedStyle(holder).getPropertyValue("--row"));
  }
  get high() { return (this.many + 1) * this.line + 8; }  // with its head
  get inSight() { return this.body.clientHeight > 0; }
  // No row is cut by the edge.
  cutAtRow() {
    const room = this.holder.clientHeight - this.body.offsetTop + this.holder.offsetTop;
    if (room >= this.line) this.body.style.maxHeight = room - room % this.line + "px";
  }
  show(many) {
    this.many = many;
    this.holder.setAttribute("aria-rowcount", many + 1);
    this.spacer.style.height = many * this.line + "px";
    this.paint();
  }
  paint() {
    this.rooms = Array.from(this.head.children, ({clientWidth}) => clientWidth);  // of the columns
    this.spacer.textContent = "";  // rows of a longer table would keep the place to which it was scrolled
    const first = Math.max(Math.floor(this.body.scrollTop / this.line) - 4, 0);
    const last = Math.min(first + Math.ceil(this.body.clientHeight / this.line) + 8, this.inSight ? this.many : 0);
    for (let at = first; at < last; at++) {
      const line = element(this.spacer, "div", {class: "line", role: "row", "aria-rowindex": at + 2, id: this.holder.id + at, "aria-selected": at === this.selected});
      line.style.top = at * this.line + "px";
      this.fill(line, at);
      line.addEventListener("click", () => { this.selected = at; this.choose(at); });
    }
    this.holder.setAttribute("aria-activedescendant", this.holder.id + this.selected);
  }
  press(event) {
    const page = Math.max(Math.floor(this.body.clientHeight / this.line) - 1, 1);
    const steps = {ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page, Home: -this.many, End: this.many};
    if (event.key === "Enter" && this.many) this.choose(this.selected);
    else if (steps[event.key]) this.select(this.selected + steps[event.key]);
    else return;
    event.preventDefault();
  }
  select(at) {
    this.selected = Math.max(0, Math.min(at, this.many - 1));
    const top = this.selected * this.line, bottom = top + this.line - this.body.clientHeight;
    if (this.body.scrollTop > top) this.body.scrollTop = top;
    if (this.body.scrollTop < bottom) this.body.scrollTop = bottom;
    this.paint();
  }
}
