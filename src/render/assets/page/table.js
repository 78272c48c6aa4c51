// The functions in rows that can be sorted.
import {Rows} from "./rows.js";
import {element} from "./tools.js";

export class Table {
  // columns: {title, key, value(row) for sorting, fill(cell, row)}; `on(row)` is what a click or Enter does. isNone: of a
  // row that is no function; these stand last, and the head has what sum(rows) says of them.
  constructor(holder, label, columns, on, isNone = () => false, sum = () => "") {
    Object.assign(this, {columns, rows: [], key: columns[0].key, down: true, isNone, sum});
    this.list = new Rows(holder, "grid", label, {fill: (line, at) => this.fill(line, this.rows[at]), choose: (at) => on(this.rows[at])});
    for (const column of columns) {
      const cell = element(this.list.head, "span", {class: `cell ${column.key} ${column.class || ""}`, role: "columnheader"});
      const button = element(cell, "button", {type: "button"}, column.title);
      button.addEventListener("click", () => this.sort(column.key, this.key === column.key ? !this.down : column.key !== "name"));
      if (column.key === "name") this.none = element(cell, "small", {});
    }
  }
  get inSight() { return this.list.inSight; }
  get high() { return this.list.high; }
  paint() { this.list.paint(); }
  show(rows) {
    this.rows = rows;
    this.list.selected = 0;
    const none = rows.filter(this.isNone);
    this.none.textContent = none.length ? this.sum(none) : "";
    this.none.title = "Time that no function has: these rows stand last";
    this.sort(this.key, this.down);
  }
  sort(key, down) {
    Object.assign(this, {key, down});
    const column = this.columns.find((one) => one.key === key);
    const order = (a, b) => { const x = column.value(a), y = column.value(b); return x < y ? -1 : x > y ? 1 : 0; };
    this.rows.sort((a, b) => this.isNone(a) - this.isNone(b) || (down ? -order(a, b) : order(a, b)) || (b.total - a.total || 0) || a.fn - b.fn);
    this.columns.forEach((one, at) => this.list.head.children[at].setAttribute("aria-sort", one.key !== key ? "none" : down ? "descending" : "ascending"));
    this.list.show(this.rows.length);
  }
  fill(line, row) {
    this.columns.forEach((column, at) => column.fill(element(line, "span", {class: `cell ${column.key} ${column.class || ""}`, role: "gridcell"}), row, this.list.rooms[at]));
  }
}
