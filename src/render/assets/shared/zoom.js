// What the SVG and the page do alike with boxes: where a zoom puts one, what it says, and where keys lead from it.
import {fitName, textWidth} from "./labels.js";

// Beginning and width, as parts of the view, of a box whose stretch is x to x + w.
export const placed = (x, w, from, span) => [(x - from) / span, w / span];
// The name as far as there is room, and its share where that is not its caller's.
export function labelOf(pen, name, room, share, callers, gap) {
  const text = fitName(pen, name, room);
  return [text, text === name && share !== callers && textWidth(pen, text) + gap + textWidth(pen, share) <= room ? share : ""];
}
// From the root to a box.
export function pathTo(box) {
  const boxes = [];
  for (let one = box; one; one = one.parent) boxes.push(one);
  return boxes.reverse();
}
// The box that a key leads to. graph: {rootBelow, root, neighbour(step), child(), caller()}, of the focused box.
export function led(key, graph) {
  const child = () => graph.child(), caller = () => graph.caller();
  return {ArrowLeft: () => graph.neighbour(-1), ArrowRight: () => graph.neighbour(1), Home: () => graph.root,
    ArrowUp: graph.rootBelow ? child : caller, ArrowDown: graph.rootBelow ? caller : child}[key];
}
