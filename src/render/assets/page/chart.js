// The flame chart of a page: of which thread, and in how much detail.
import {joinFunctions} from "./joined.js";
import {shapeOf} from "./shape.js";
import {keptIn} from "./sums.js";
import {timeOrder} from "./time_order.js";
import {TimeTree, busiestThread} from "./time_tree.js";
import {duration, find} from "./tools.js";

const COLUMN = 2;  // pixels: narrower ones show chance

// The shown functions from the root to a box, by the numbers of the page's profile. Of one thread the name is its own, whatever
// others it is merged with elsewhere.
function chains({parents, fn}, {hidden, inner, recursion}, number) {
  const made = new Map();
  return (box) => {
    let chain = made.get(box);
    if (!chain) {
      chain = [];
      for (let at = box; at > 0; at = parents[at]) {
        const of = number(fn[at]);
        if (!hidden[of] && !inner?.[at]) chain.push(of);
      }
      chain.reverse();
      if (recursion) chain = chain.filter((one, at) => at === 0 || chain[at - 1] !== one);
      made.set(box, chain);
    }
    return chain;
  };
}

export class Chart {
  constructor(page) { Object.assign(this, {page, waits: null}); }
  // Another profile of the run, or its waiting time, is known now.
  use(waits = null) {
    this.waits = waits && {profile: waits, numbers: null};
  }
  // Shows a thread, by its number in the profile, or the busiest (-1), in the order of time; time: "from-to" in bins, or "".
  open(thread, time = this.page.state.time) {
    const {state} = this.page;
    this.page.change({view: "graph", chart: true, lane: thread, thread: state.thread < 0 ? -1 : thread, time, zoom: ""});
  }
  // That with most of a box.
  openOf({boxes}) {
    const {profile, state, sums: {kept}} = this.page, within = new Uint8Array(profile.size);
    for (const box of boxes ?? []) within.fill(1, box, profile.end[box]);
    this.open(boxes ? busiestThread(profile, state.range, kept.map((one, box) => one & within[box])) : state.lane);
  }
  thread() {
    const {profile, state, sums} = this.page;
    return [state.thread, state.lane].find((thread) => thread >= 0) ?? busiestThread(profile, state.range, sums.kept);
  }
  tree(width) {
    const {page} = this, {profile, state} = page, thread = this.thread(), [from, to] = state.range || [0, profile.bins], range = [from * profile.bin, to * profile.bin];
    const waits = this.waitsOf(thread), chain = chains(profile, page.sums.shape, (fn) => fn);
    const tree = new TimeTree(profile, timeOrder(profile, thread, page.sums.kept, chain, waits), range, (range[1] - range[0]) / Math.max(width, 1) * COLUMN);
    this.tell(tree);
    return tree;
  }
  // Functions that only the waiting time has get numbers when a chart first needs them.
  waitsOf(thread) {
    if (!this.waits) return null;
    const {page} = this, {profile: other} = this.waits;
    if (!this.waits.numbers) {
      this.waits.numbers = joinFunctions(page.profile, other);
      page.sums.forgetShape();
      page.legend();
    }
    const {numbers} = this.waits, shape = {...page.sums.shape, inner: shapeOf(other, page.state).inner};
    return {profile: other, thread: other.threadKeys.indexOf(page.profile.threadKeys[thread]), kept: keptIn(other, page.state), chain: chains(other, shape, (fn) => numbers[fn])};
  }
  // As much detail as what is in sight has room for.
  refine(graph) {
    this.mark(graph);
    const {tree, goal: [from, to], holder} = graph, wide = (to - from) / Math.max(holder.clientWidth, 1) * COLUMN;
    if (!tree.timed || wide < tree.wide * 1.5 && wide * 1.5 > tree.wide) return;
    graph.exchange(tree.finer(wide));
    this.tell(graph.tree);
  }
  // Where in the strips what is in sight lies.
  mark({tree, goal: [from, to]}) {
    const {profile: {bin}, timeline} = this.page;
    timeline.showView(tree.timed ? [(tree.range[0] + from) / bin, (tree.range[0] + to) / bin] : null);
  }
  tell({wide, pieces}) {
    const {profile, state} = this.page, scope = state.scope && `, in ${state.scope}`, alone = pieces.every(({from, to, waits}) => waits || to - from >= wide);
    const column = alone ? "each box is as wide as the time that its samples stand for" : `each column of ${duration(Math.round(wide))} shows the stack with most of it`;
    find("caption-before").textContent = `In time order: ${profile.threadName(this.thread())}${scope}; ${column}; blank: nothing was seen`;
  }
}
