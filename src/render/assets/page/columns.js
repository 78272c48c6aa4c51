// The columns of the table of functions.
import {element, percent} from "./tools.js";

const LONGEST_NAME = 400, LONGEST_TITLE = 2000;

export function functionColumns(page) {
  const share = (cell, part, hits) => {
    const {all} = page.sums;
    element(cell, "i", {}).style.setProperty("--part", Math.min(part / all, 1));
    element(cell, "span", {"data-time": page.profile.time(part)}, percent(part, all));
    cell.title = [page.profile.samplesText(hits), page.profile.time(part)].filter(Boolean).join(", ");
  };
  const shares = page.compare ? page.compare.columns() : ["self", "total"].map((key) => (
    {title: key === "self" ? "Self" : "Total", key, value: (row) => row[key], fill: (cell, row) => share(cell, row[key], page.sums.hitsOf(row)[key])}));
  return [...shares,
    {title: "Function", key: "name", value: (row) => page.name(row.fn), fill: (cell, row) => {
      element(cell, "em", {}).style.background = page.color(row.fn);
      cell.append(page.name(row.fn).slice(0, LONGEST_NAME));
      cell.title = page.profile.name(row.fn).slice(0, LONGEST_TITLE);
    }},
    {title: "Where", key: "where", value: (row) => page.profile.place(row.fn), fill: (cell, row) => {
      cell.textContent = page.profile.place(row.fn);
      cell.title = page.profile.path(row.fn);
    }}
  ];
}
