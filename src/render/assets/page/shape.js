// Which functions are shown, and as what: {hidden, alias} by function, and whether a function that calls itself is one box.
import {GLUE, INLINED, NO_KIND, THREAD} from "./data.js";
import {matcher} from "./tools.js";

export function shapeOf(profile, {fold, inlined, hide, merge}) {
  const {kind, role} = profile.functions;
  const marked = hide ? profile.matching(matcher(hide, true).test) : null;
  const hidden = Uint8Array.from(kind, (of, fn) => of !== NO_KIND && of !== THREAD &&
    (fold && role[fn] === GLUE || !inlined && of === INLINED || marked !== null && marked[fn] === 1) ? 1 : 0);
  const alias = Uint32Array.from(kind, (_, fn) => fn);
  if (merge) for (const [fn, group] of profile.merged) alias[fn] = group;
  return {hidden, alias, recursion: fold, whole: !fold && !hidden.includes(1)};
}
