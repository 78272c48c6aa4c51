// The functions in rows; only those in sight exist as elements.
import {element} from "./tools.js";

const LINE = 26;

export class Table {
  // columns: {title, key, value(row) for sorting, fill(cell, row)}; `on(row)` opens one.
  constructor(holder, columns, on) {
    Object.assign(this, {holder, columns, on, rows: [], key: columns[0].key, down: true, selected: 0});
    for (const [name, value] of [["role", "grid"], ["tabindex", "0"], ["aria-label", "Functions. Arrow keys choose, Enter opens callers and callees."]]) holder.setAttribute(name, value);
    this.head = element(holder, "div", {class: "line head", role: "row", "aria-rowindex": 1});
    for (const column of columns) {
      const cell = element(this.head, "span", {class: `cell ${column.key} ${column.class || ""}`, role: "columnheader"});
      const button = element(cell, "button", {type: "button"}, column.title);
      button.addEventListener("click", () => this.sort(column.key, this.key === column.key ? !this.down : column.key !== "name"));
    }
    this.body = element(holder, "div", {class: "body", role: "rowgroup", tabindex: "-1"});
    this.spacer = element(this.body, "div", {class: "spacer", role: "presentation"});
    this.body.addEventListener("scroll", () => this.paint());
    // A click would focus the scrolling element, but the grid handles keys and the selection.
    this.body.addEventListener("focus", () => holder.focus());
    holder.addEventListener("keydown", (event) => { if (event.target === holder) this.press(event); });
    new ResizeObserver(() => this.paint()).observe(this.body);
  }
  show(rows) {
    this.rows = rows;
    this.selected = 0;
    this.sort(this.key, this.down);
  }
  sort(key, down) {
    Object.assign(this, {key, down});
    const column = this.columns.find((one) => one.key === key);
    const order = (a, b) => { const x = column.value(a), y = column.value(b); return x < y ? -1 : x > y ? 1 : 0; };
    this.rows.sort((a, b) => (down ? -order(a, b) : order(a, b)) || (b.total - a.total || 0) || a.fn - b.fn);
    this.columns.forEach((one, at) => this.head.children[at].setAttribute("aria-sort", one.key !== key ? "none" : down ? "descending" : "ascending"));
    this.holder.setAttribute("aria-rowcount", this.rows.length + 1);
    this.spacer.style.height = this.rows.length * LINE + "px";
    this.paint();
  }
  paint() {
    this.spacer.textContent = "";  // rows of a longer table would keep the place to which it was scrolled
    const first = Math.max(Math.floor(this.body.scrollTop / LINE) - 4, 0);
    const last = Math.min(first + Math.ceil(this.body.clientHeight / LINE) + 8, this.rows.length);
    for (let at = first; at < last; at++) {
      const row = this.rows[at];
      const line = element(this.spacer, "div", {class: "line", role: "row", "aria-rowindex": at + 2, id: "row" + at, "aria-selected": at === this.selected});
      line.style.top = at * LINE + "px";
      for (const column of this.columns) column.fill(element(line, "span", {class: `cell ${column.key} ${column.class || ""}`, role: "gridcell"}), row);
      line.addEventListener("click", () => { this.selected = at; this.on(row); });
    }
    this.holder.setAttribute("aria-activedescendant", "row" + this.selected);
  }
  press(event) {
    const page = Math.max(Math.floor(this.body.clientHeight / LINE) - 1, 1);
    const steps = {ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page, Home: -this.rows.length, End: this.rows.length};
    if (event.key === "Enter" && this.rows.length) this.on(this.rows[this.selected]);
    else if (steps[event.key]) this.select(this.selected + steps[event.key]);
    else return;
    event.preventDefault();
  }
  select(at) {
    this.selected = Math.max(0, Math.min(at, this.rows.length - 1));
    const top = this.selected * LINE, bottom = top + LINE - this.body.clientHeight;
    if (this.body.scrollTop > top) this.body.scrollTop = top;
    if (this.body.scrollTop < bottom) this.body.scrollTop = bottom;
    this.paint();
  }
}
