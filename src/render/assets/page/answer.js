// The functions that the answer names lead to their boxes.
import {THREAD} from "./data.js";
import {element, escapeRegex, find} from "./tools.js";
import {outermost} from "./walk.js";

// Returns them.
export function linkAnswer(page) {
  const {named = {}, answer, functions: {kind}} = page.profile, line = find("answer"), names = Object.keys(named).sort((a, b) => b.length - a.length);
  const of = new Set(Object.values(named).flat().filter((fn) => kind[fn] !== THREAD));
  if (!answer || !names.length) return of;
  const parts = answer.split(new RegExp(`(?<!\\w)(${names.map(escapeRegex).join("|")})(?!\\w)`));
  line.textContent = "";
  parts.forEach((text, at) => {
    if (at % 2 === 0) return line.append(text);
    const link = element(line, "a", {href: "#", title: "Its widest box"}, text);
    link.addEventListener("click", (event) => {
      event.preventDefault();
      leadTo(page, named[text]);
    });
  });
  return of;
}

// Zooms to the widest box of these functions.
function leadTo(page, functions) {
  page.change({view: "graph", chart: false, reverse: false, zoom: ""});
  const {profile, main, sums: {total, shape}} = page, {alias, hidden, inner} = shape, address = [];
  const boxes = functions.flatMap((fn) => outermost(profile, total, shape, alias[fn]));
  if (!boxes.length) return;
  for (let at = boxes.reduce((a, b) => total[b] > total[a] ? b : a); at > 0; at = profile.parents[at]) {
    const of = alias[profile.fn[at]];
    if (!hidden[of] && !inner?.[at]) address.unshift(of);
  }
  const box = main.tree.at(address.join("."));
  main.zoom(box);
  main.focus(box);
  main.canvas.focus({preventScroll: true});  // which outlines it
}
