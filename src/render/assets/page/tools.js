export const find = (id) => document.getElementById(id);
export function element(parent, name, attributes, text) {
  const made = document.createElement(name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  if (text !== undefined) made.textContent = text;
  parent.appendChild(made);
  return made;
}

const grouped = new Intl.NumberFormat("en");
export const count = (number) => grouped.format(number);
export const samples = (number) => count(number) + (number === 1 ? " sample" : " samples");
// A part above 0 must not read as 0 %, nor one below the whole as 100 %.
export function percent(part, whole) {
  const share = whole > 0 ? part / whole * 100 : 0;
  if (share > 0 && share < 0.005) return "<0.01 %";
  if (share < 100 && share >= 99.995) return ">99.99 %";
  return share.toFixed(2) + " %";
}
// In boxes: "12.3 %".
export function roundShare(part, whole) {
  const share = whole > 0 ? part / whole * 100 : 0;
  return share > 0 && share < 0.05 ? "<0.1 %" : share < 100 && share >= 99.95 ? ">99.9 %" : share.toFixed(1) + " %";
}
// "1.23 s", "4 min 05 s": as numbers.cpp writes them.
export function duration(ns) {
  const seconds = ns / 1e9, whole = Math.floor(seconds), two = (number) => String(Math.floor(number)).padStart(2, "0");
  if (ns === 0) return "0 s";
  if (seconds < 1e-3) return Number((ns / 1e3).toFixed(1)) + " µs";
  if (seconds < 1) return Number((ns / 1e6).toFixed(1)) + " ms";
  if (seconds < 120) return Number(seconds.toFixed(2)) + " s";
  return whole < 7200 ? `${Math.floor(whole / 60)} min ${two(whole % 60)} s` : `${Math.floor(whole / 3600)} h ${two(whole / 60 % 60)} min`;
}

export function matcher(term, exact) {
  if (!term) return {test: null, note: ""};
  try {
    const expression = new RegExp(term, exact ? "" : "i");
    return {test: (name) => expression.test(name), note: ""};
  } catch {
    const fold = (text) => exact ? text : text.toLowerCase(), part = fold(term);
    return {test: (name) => fold(name).includes(part), note: " (as text)"};
  }
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
