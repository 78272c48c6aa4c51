// Which functions are shown, and as what: {hidden, alias} by function, `inner` by box or null, and whether a function that
// calls itself is one box. `rows`: by box, the function in whose row of the table its own time is.
import {GLUE, INLINED, KERNEL, LIBRARY, NO_KIND, THREAD} from "./data.js";
import {matcher} from "./tools.js";

// Code of others that was called by code of others: of each such run the first frame stays.
function innerOf(profile) {
  const {size, parents, fn, functions: {role}} = profile, foreign = Uint8Array.from(role, (of) => [LIBRARY, GLUE, KERNEL].includes(of) ? 1 : 0);
  const inner = new Uint8Array(size);
  for (let box = 1; box < size; box++) inner[box] = foreign[fn[box]] && (role[fn[box]] === GLUE || foreign[fn[parents[box]]]) ? 1 : 0;
  return inner;
}

export function shapeOf(profile, {fold, inlined, hide, merge, own, chains}) {
  const {kind, role} = profile.functions;
  const marked = hide ? profile.matching(matcher(hide, true).test) : null;
  const hidden = Uint8Array.from(kind, (of, fn) => of !== NO_KIND && of !== THREAD &&
    (fold && role[fn] === GLUE || !inlined && of === INLINED || marked !== null && marked[fn] === 1) ? 1 : 0);
  const alias = Uint32Array.from(kind, (_, fn) => fn);
  if (merge) for (const [fn, group] of profile.merged) alias[fn] = group;
  return {hidden, alias, inner: own ? innerOf(profile) : null, recursion: fold, rows: chains && profile.rowOf || profile.fn};
}
