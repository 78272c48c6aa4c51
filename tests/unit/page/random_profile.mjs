// A small profile as data.js's Profile holds it: a random tree of twelve functions, three threads, eight steps of time.
const FUNCTIONS = 12, BOXES = 400, COUNTS = 600;

export function randomProfile(seed) {
  let state = seed * 7919;
  const random = (limit) => { state = (state * 1103515245 + 12345) % 2147483648; return Math.floor(state / 65536) % limit; };
  const fn = [FUNCTIONS], parent = [0], open = [0];
  while (fn.length < BOXES) {
    open.length = 1 + random(open.length);
    const above = open[open.length - 1], of = random(FUNCTIONS);
    // Children are merged by function, as in every page: where there is one, the path goes on there.
    const there = fn.findIndex((one, box) => box > 0 && parent[box] === above && one === of);
    if (there > 0) { open.push(there); continue; }
    parent.push(above);
    fn.push(of);
    open.push(fn.length - 1);
  }
  return arrange(fn, parent, random);
}

// Boxes were made in an order that need not be depth first.
function arrange(fn, parent, random) {
  const kids = fn.map(() => []), order = [];
  for (let box = 1; box < fn.length; box++) kids[parent[box]].push(box);
  const todo = [0];
  while (todo.length) {
    const box = todo.pop();
    order.push(box);
    todo.push(...kids[box].sort((a, b) => fn[b] - fn[a]));
  }
  const at = new Map(order.map((box, index) => [box, index])), size = fn.length;
  const parents = order.map((box) => at.get(parent[box])), end = Int32Array.from(order, (_, index) => index + 1);
  for (let index = size - 1; index > 0; index--) end[parents[index]] = Math.max(end[parents[index]], end[index]);
  const counts = Array.from({length: COUNTS}, () => ({box: random(size), thread: random(3), bin: random(8), weight: 1 + random(9)})).sort((a, b) => a.box - b.box);
  const column = (name) => Float64Array.from(counts, (one) => one[name]);
  const depths = [];
  parents.forEach((above, index) => { depths[index] = index ? depths[above] + 1 : 0; });
  return {
    size, end, parents, fn: Uint16Array.from(order, (box) => fn[box]), functionCount: FUNCTIONS + 1, functions: {kind: new Array(FUNCTIONS).fill(0).concat(6)},
    depth: Math.max(...depths), samples: counts.reduce((sum, one) => sum + one.weight, 0),
    countBox: column("box"), countThread: column("thread"), countBin: column("bin"), countWeight: column("weight"),
    stackOf(box) { const stack = []; for (; box > 0; box = parents[box]) stack.unshift(this.fn[box]); return stack; }
  };
}
