// The columns of the tables of functions.
import {duration, element, percent, roundShare} from "./tools.js";

// Beside a name: its colour and the cell's edges.
export const NAME_ROOM = 36;
const LONGEST_TITLE = 2000;

// Time, share and a bar. `of`: how the share is written.
export function shareCell(page, cell, part, hits, of = percent) {
  const {all} = page.sums, {profile} = page;
  element(cell, "i", {}).style.setProperty("--part", Math.min(part / all, 1));
  element(cell, "span", {"data-time": profile.amount(part, all)}, of(part, all));
  cell.title = [profile.amount(part), profile.samplesText(hits)].filter(Boolean).join(", ");
}
function nameColumn(page, title) {
  return {title: "Function", key: "name", value: (row) => page.name(row.fn), fill: (cell, row, room) => {
    element(cell, "em", {}).style.background = page.color(row.fn);
    cell.append(page.fitted(row.fn, room - NAME_ROOM));
    cell.title = title(page.profile.name(row.fn).slice(0, LONGEST_TITLE), row.fn);
  }};
}
function shareColumns(page, of = percent) {
  return ["self", "total"].map((key) => (
    {title: key === "self" ? "Self" : "Total", key, value: (row) => row[key], fill: (cell, row) => (row[key] > 0 || of === percent) && shareCell(page, cell, row[key], page.sums.hitsOf(row)[key], of)}));
}

function ageColumns(page) {
  return !page.profile.countAge ? [] : [{title: "Age", key: "age", value: (row) => page.sums.ageOf(row)?.mean ?? 0, fill: (cell, row) => {
    const {mean, oldest} = page.sums.ageOf(row) ?? {};
    if (!mean) return;
    cell.textContent = duration(mean);
    cell.title = `allocated ${duration(mean)} before the end in the mean, the oldest ${duration(oldest)}`;
  }}];
}

export function functionColumns(page) {
  return [...(page.compare ? page.compare.columns() : shareColumns(page)), ...ageColumns(page), nameColumn(page, (name) => name),
    {title: "Where", key: "where", value: (row) => page.profile.place(row.fn), fill: (cell, row) => {
      cell.textContent = page.profile.place(row.fn);
      cell.title = page.profile.path(row.fn);
    }}
  ];
}
// Beside the graph.
export function fewColumns(page) {
  return [...(page.compare ? page.compare.fewColumns() : shareColumns(page, roundShare)),
    nameColumn(page, (name, fn) => `${name}\nClick: ${page.profile.isGathered(fn) ? "its callers" : "find it in the graph, and again: no longer"}`)];
}
