// A recursion as one box: the levels of functions that call themselves or each other, with all that they call beside, by name.
export const LONGEST_CYCLE = 20;
const LEAST = 24, TIMES = 4, MOST = 50000;

const heaviestOf = (kids) => kids.reduce((a, b) => a && a.total >= b.total ? a : b, null);

// The frames from `first` on along the heaviest path, as far as its function comes again; null where these are too few.
export function levelsOf(first, kidsOf) {
  const path = [first];
  let last = 0;
  for (let node = first; path.length - last <= LONGEST_CYCLE && path.length < MOST;) {
    node = heaviestOf(kidsOf(node));
    if (!node) break;
    if (node.fn === first.fn) last = path.length;
    path.push(node);
  }
  path.length = last + 1;
  return path.length >= LEAST && path.length >= TIMES * new Set(path.map(({fn}) => fn)).size ? path : null;
}

// What the levels call beside each other, by function: [{fn, nodes, behind}]; behind: after how many levels it comes first.
export function besides(levels, kidsOf) {
  const groups = new Map();
  levels.forEach((level, at) => {
    for (const kid of kidsOf(level)) {
      if (kid === levels[at + 1]) continue;
      if (!groups.has(kid.fn)) groups.set(kid.fn, {fn: kid.fn, nodes: [], behind: at + 1});
      groups.get(kid.fn).nodes.push(kid);
    }
  });
  return Array.from(groups.values());
}

// "Parser::value, Parser::array × 300"; of more functions than `most` the others are dots.
export function cycleName(folded, name, most = 5) {
  const functions = Array.from(new Set(folded.map(({fn}) => fn))), times = folded.filter(({fn}) => fn === functions[0]).length;
  return `${functions.slice(0, most).map(name).join(", ")}${functions.length > most ? ", …" : ""} × ${times.toLocaleString("en")}`;
}
