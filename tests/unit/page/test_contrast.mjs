// Every text of page and SVG against what it may stand on, from the palette (assets/tokens.json); names in boxes are
// tested with the boxes' colours (tests/unit/render/test_palette.cpp).
import assert from "node:assert/strict";
import {readFileSync} from "node:fs";
import test from "node:test";

const read = (name) => readFileSync(new URL("../../../" + name, import.meta.url), "utf8");
const tokens = JSON.parse(read("src/render/assets/tokens.json"));
const channels = (color) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
const luminance = (color) => {
  const [r, g, b] = channels(color).map((value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (a, b) => { const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y); return (high + 0.05) / (low + 0.05); };
const mixed = (color, part, ground) => "#" + channels(color).map((value, at) => Math.round(value * part + channels(ground)[at] * (1 - part)).toString(16).padStart(2, "0")).join("");

for (const side of ["light", "dark"]) {
  const of = tokens[side];
  test(`all texts of ${side} pages have a contrast of 4.5`, () => {
    // [text, ground]: of headings and rows, of what is less important, of fields, menus and the word at the pointer, of pressed
    // buttons, over a table's bars, of the hottest line, and of a row under the pointer.
    const texts = [["ink", of.page], ["soft", of.page], ["faint", of.page], ["ink", of.field], ["soft", of.field], ["page", of.ink], ["ink", of.bar],
      ["ink", mixed(of.bar, 0.35, of.page)], ["soft", mixed(of.bar, 0.35, of.page)], ["ink", mixed(of.line, 0.4, of.page)], ["soft", mixed(of.line, 0.4, of.page)]];
    for (const [text, ground] of texts) assert.ok(contrast(of[text], ground) >= 4.5, `${text} ${of[text]} on ${ground}: ${contrast(of[text], ground).toFixed(2)}`);
  });
}
test("there is no other colour for text", () => {
  for (const name of ["src/render/assets/page/page.css", "src/render/assets/svg/picture.css"]) {
    const used = Array.from(read(name).matchAll(/(?:^|[;{ ])(?:color|fill): *([^;}]+)/gm), ([, value]) => value.trim());
    assert.ok(used.length > 3);
    for (const value of used) assert.match(value, /^(inherit|var\(--(ink|soft|page)\)|\$(light|dark)\.(ink|soft|faint|page|line))$/, `${name}: ${value}`);
  }
});
