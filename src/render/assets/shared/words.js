// What the SVG and the page say alike: shares, and what a search finds. The page bundles these files as modules; for the
// SVG embed.py takes the words import and export away, since all of its script is one function.
const grouped = new Intl.NumberFormat("en");
export const count = (number) => grouped.format(number);
// A part above 0 must not read as 0 %, nor one below the whole as 100 %.
export function percent(part, whole, digits = 2) {
  const share = whole > 0 ? part / whole * 100 : 0, step = 10 ** -digits;
  if (share > 0 && share < step / 2) return `<${step} %`;
  return (share < 100 && share >= 100 - step / 2 ? ">" + (100 - step) : share.toFixed(digits)) + " %";
}
// In boxes: "12.3 %".
export const roundShare = (part, whole) => percent(part, whole, 1);

// A regular expression, or the text itself where it is none.
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
// share: of the time below matches. hidden: there are boxes that the search cannot look into.
export function matchText(share, whole, note, hidden, nothing = "no match") {
  return (share > 0 ? `matched ${hidden ? "at least " : ""}${percent(share, whole)}` : nothing) + note;
}
export const boxesText = (many, at = 0) => many === 0 ? "" : `${at > 0 ? count(at) + " of " : ""}${count(many)} ${many === 1 ? "box" : "boxes"}`;
// The match after the focused one, or with a step of -1 the one before.
export function nextMatch(found, focused, step) {
  const at = found.indexOf(focused);
  return found[at < 0 ? (step > 0 ? 0 : found.length - 1) : (at + step + found.length) % found.length];
}
