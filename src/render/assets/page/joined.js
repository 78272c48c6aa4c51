// The functions of another profile of the same run, by the numbers of this one. Those that only the other has get numbers behind.
export function joinFunctions(profile, other) {
  const numbers = new Map(profile.functions.name.map((_, fn) => [profile.key(fn), fn])), added = [];
  const place = (list, text) => { const at = list.indexOf(text); return at < 0 ? list.push(text) - 1 : at; };
  const now = other.functions.name.map((_, fn) => {
    const known = numbers.get(other.key(fn));
    if (known !== undefined) return known;
    const {functions} = profile, number = functions.name.length;
    for (const column of Object.keys(functions)) functions[column].push(other.functions[column][fn]);
    functions.file[number] = place(profile.files, other.path(fn));
    functions.module[number] = place(profile.modules, other.module(fn));
    numbers.set(other.key(fn), number);
    added.push(number);
    return number;
  });
  profile.functionCount = profile.functions.name.length;
  profile.order = Uint32Array.from([...profile.order, ...added]);
  for (const process of other.processes) profile.processes.add(now[process]);
  return now;
}
