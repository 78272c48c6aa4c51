"use strict";
function element(parent, name, attributes, text) {
  const made = document.createElement(name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  if (text !== undefined) made.textContent = text;
  parent.appendChild(made);
  return made;
}

const grouped = new Intl.NumberFormat("en");
function samples(count) { return grouped.format(count) + (count === 1 ? " sample" : " samples"); }
// A part that is there must not read as nothing, nor one that is not the whole as the whole.
function percent(part, whole) {
  const share = whole > 0 ? part / whole * 100 : 0;
  if (share > 0 && share < 0.005) return "<0.01 %";
  if (share < 100 && share >= 99.995) return ">99.99 %";
  return share.toFixed(2) + " %";
}

const widths = new Map();
function textWidth(pen, text) {
  let width = widths.get(text);
  if (width === undefined) {
    if (widths.size > 50000) widths.clear();
    widths.set(text, width = pen.measureText(text).width);
  }
  return width;
}
// The text, or as many whole letters as leave room for "…".
function fitText(pen, text, room) {
  if (room < 14) return "";
  if (text.length < 400 && textWidth(pen, text) <= room) return text;
  const letters = Array.from(text.slice(0, 800));
  let low = 0, high = letters.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (pen.measureText(letters.slice(0, middle).join("") + "…").width <= room) low = middle; else high = middle - 1;
  }
  return low < 2 ? "" : letters.slice(0, low).join("") + "…";
}
function matcher(term, exact) {
  if (!term) return {test: null, note: ""};
  try {
    const expression = new RegExp(term, exact ? "" : "i");
    return {test: (name) => expression.test(name), note: ""};
  } catch {
    const fold = (text) => exact ? text : text.toLowerCase(), part = fold(term);
    return {test: (name) => fold(name).includes(part), note: " (as text)"};
  }
}
