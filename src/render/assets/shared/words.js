// What the SVG and the page say alike: shares, and what a search finds. The page bundles these files as modules; for the
// SVG embed.py takes the words import and export away, since all of its script is one function.
const grouped = new Intl.NumberFormat("en");
export const count = (number) => grouped.format(number);
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
