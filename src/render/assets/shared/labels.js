// Text in boxes; `pen` measures it, in its font.
const byFont = new Map();
export function textWidth(pen, text) {
  let widths = byFont.get(pen.font);
  if (!widths) byFont.set(pen.font, widths = new Map());
  let width = widths.get(text);
  if (width === undefined) {
    if (widths.size > 50000) widths.clear();
    widths.set(text, width = pen.measureText(text).width);
  }
  return width;
}
// The name if there is room, else as much of its end as begins behind a "::" or ": " (the last component tells most), else as many
// letters of the last component as there is room for, from four on. A closure tells nothing without the function that it is in.
// Of "[libfoo.so+0x1a2b]" the address stays.
export function fitName(pen, name, room) {
  if (room < 14) return "";
  if (name.length < 400 && textWidth(pen, name) <= room) return name;
  let last = name;
  if (name.length < 2000) {
    for (const {index} of name.matchAll(/:[: ](?=.)(?!\{|operator\(\))/g)) {
      last = name.slice(index + 2);
      if (last.length * 3 < room && textWidth(pen, "…" + last) <= room) return "…" + last;
    }
  }
  return (name[0] === "[" && fitAround(pen, name, name.lastIndexOf("+0x"), room)) || beginning(pen, last, room);
}
// As much of the text's beginning as there is room for beside its end from `at` on; "" where there is none.
function fitAround(pen, text, at, room) {
  const end = text.slice(at), left = room - textWidth(pen, end);
  return at > 0 && textWidth(pen, "…") <= left ? (beginning(pen, text.slice(0, at), left) || "…") + end : "";
}
// Of "postgres: walwriter 4711", and of "worker (4711)", the number stays.
export const fitNumbered = (pen, text, room) => textWidth(pen, text) <= room ? text : fitAround(pen, text, text.search(/ \(?\d+\)?$/), room) || beginning(pen, text, room);
// The text, or as much of its beginning as there is room for.
export const fit = (pen, text, room) => textWidth(pen, text) <= room ? text : beginning(pen, text, room);
function beginning(pen, text, room) {
  const letters = Array.from(text.slice(0, 800));
  let low = 0, high = letters.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (pen.measureText(letters.slice(0, middle).join("") + "…").width <= room) low = middle; else high = middle - 1;
  }
  return low < 4 ? "" : letters.slice(0, low).join("") + "…";
}
