import {count} from "../shared/words.js";

export * from "../shared/words.js";
export const find = (id) => document.getElementById(id);
export function element(parent, name, attributes, text) {
  const made = document.createElement(name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  if (text !== undefined) made.textContent = text;
  parent.appendChild(made);
  return made;
}

export const samples = (number) => count(number) + (number === 1 ? " sample" : " samples");
// "1.23 s", "4 min 05 s": as text.cpp writes them.
export function duration(ns) {
  const seconds = ns / 1e9, whole = Math.floor(seconds), two = (number) => String(Math.floor(number)).padStart(2, "0");
  if (ns === 0) return "0 s";
  if (seconds < 1e-3) return Number((ns / 1e3).toFixed(1)) + " µs";
  if (seconds < 1) return Number((ns / 1e6).toFixed(1)) + " ms";
  if (seconds < 120) return Number(seconds.toFixed(2)) + " s";
  return whole < 7200 ? `${Math.floor(whole / 60)} min ${two(whole % 60)} s` : `${Math.floor(whole / 3600)} h ${two(whole / 60 % 60)} min`;
}

// In a column: "0.004 s" below "1.680 s", so that they can be compared at a glance.
export function durationIn(ns, longest) {
  const [unit, name, digits] = longest < 1e6 ? [1e3, " µs", 1] : longest < 1e9 ? [1e6, " ms", 1] : [1e9, " s", longest < 1e11 ? 3 : longest < 1e12 ? 2 : 0];
  const least = 10 ** -digits, value = ns / unit;
  return (value > 0 && value < least / 2 ? "<" + least : value.toFixed(digits)) + name;
}

// "4.5 MiB", as text.cpp writes them; in a column in the unit of the largest.
export function bytes(number, largest = number) {
  let value = number, unit = 0;
  for (let size = largest; size >= 1024 && unit < 3; unit++) { size /= 1024; value /= 1024; }
  return Number(value.toFixed(unit === 0 ? 0 : unit < 3 ? 1 : 2)) + [" bytes", " KiB", " MiB", " GiB"][unit];
}

// A part of one colour, "#rrggbb", in another.
export function mixed(one, other, part) {
  const channel = (color, at) => parseInt(color.slice(at, at + 2), 16), mix = (at) => Math.round(channel(one, at) * part + channel(other, at) * (1 - part));
  return "#" + [1, 3, 5].map((at) => mix(at).toString(16).padStart(2, "0")).join("");
}

export const escapeRegex = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

export function copyText(text) {
  const area = element(document.body, "textarea", {});
  area.value = text;
  area.select();
  // Not the Clipboard API: a page opened as a file may not have it.
  document.execCommand("copy");
  area.remove();
}
