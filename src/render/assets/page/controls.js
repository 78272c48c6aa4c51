// The controls that do not depend on the graphs.
import {INLINED, NO_KIND, ROLES, ROLE_LETTERS, SCOPE, WAITS} from "./data.js";
import {element, find, percent} from "./tools.js";

export function fillFacets(profile) {
  const used = new Map(), chosen = ["threads", "scopes"].map((id) => [id, find(id).value]);
  for (const [id] of chosen) find(id).textContent = "";
  for (let at = 0; profile.countThread && at < profile.countBox.length; at++) {
    const thread = profile.countThread[at];
    used.set(thread, (used.get(thread) || 0) + profile.countWeight[at]);
  }
  const threads = profile.threads.map((_, index) => ({index, text: profile.threadName(index), weight: used.get(index) || 0}));
  threads.sort((a, b) => b.weight - a.weight || a.index - b.index);
  element(find("threads"), "option", {value: -1}, "All threads");
  for (const {index, text, weight} of threads) if (weight > 0) element(find("threads"), "option", {value: index}, [text, profile.amount(weight), percent(weight, profile.samples)].filter(Boolean).join(", "));
  find("threads").parentNode.hidden = threads.length < 2;
  const labels = new Set(profile.functions.name.filter((_, fn) => profile.kind(fn) === SCOPE));
  element(find("scopes"), "option", {value: ""}, "All scopes");
  for (const label of labels) element(find("scopes"), "option", {value: label}, label);
  find("scopes").parentNode.hidden = labels.size === 0;
  for (const [id, value] of chosen) if (value) find(id).value = value;
}

// What colours mean: by role, or as `shades` says: [colour, text]. waits: the strips show waiting, boxes or not.
export function fillLegend(profile, colors, shades, waits) {
  const legend = find("legend");
  legend.textContent = "";
  const entry = (color, text) => {
    const made = element(legend, "span", {});
    element(made, "em", {}).style.background = color;
    made.append(text);
  };
  if (shades) return shades.forEach(([color, text]) => entry(color, text));
  const {kind, role} = profile.functions, code = (fn) => kind[fn] <= INLINED;
  ROLES.forEach((text, of) => {
    if (waits && of === WAITS[0] || role.some((one, fn) => one === of && kind[fn] !== NO_KIND && !(profile.byModule && code(fn)))) entry(colors[ROLE_LETTERS[of] + "0"], text);
  });
  if (!profile.byModule && kind.includes(INLINED)) entry(colors.v0, "paler: inlined");
}

// The active focus, hide and ignore, each with a button that removes it.
export function fillChips(state, drop) {
  const chips = find("chips");
  chips.textContent = "";
  for (const [name, text] of [["focus", "only with "], ["hide", "without frames "], ["ignore", "without stacks of "]]) {
    if (!state[name]) continue;
    const plain = state[name].split("|").map((part) => part.replace(/^\^(.*)\$$/, "$1").replace(/\\(.)/g, "$1")).join(", ");
    const chip = element(chips, "button", {type: "button", title: "Remove: " + state[name]}, text + plain.slice(0, 60) + (plain.length > 60 ? "…" : "") + " ×");
    chip.addEventListener("click", () => drop(name));
  }
  chips.hidden = chips.childElementCount === 0;
}

export function chooseThemes(changed) {
  const button = find("theme"), names = ["auto", "light", "dark"];
  const label = () => { button.textContent = "Theme: " + (document.documentElement.dataset.theme || "auto"); };
  button.addEventListener("click", () => {
    const root = document.documentElement, next = names[(names.indexOf(root.dataset.theme || "auto") + 1) % names.length];
    if (next === "auto") delete root.dataset.theme; else root.dataset.theme = next;
    label();
    changed();
  });
  label();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
}

export function onKey(event, clear) {
  const field = find("search"), typing = event.target === field;
  if ((event.ctrlKey || event.metaKey) && event.key === "f" || event.key === "/" && !typing) {
    event.preventDefault();
    field.focus();
    field.select();
  } else if (event.key === "Escape" && typing) {
    clear();
    document.querySelector("#graph canvas").focus();
  } else if (event.target.getAttribute?.("role") === "tab" && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
    const tabs = Array.from(document.querySelectorAll("[role=tab]:not([hidden])")), step = event.key === "ArrowLeft" ? tabs.length - 1 : 1;
    const next = tabs[(tabs.indexOf(event.target) + step) % tabs.length];
    event.preventDefault();
    next.click();
    next.focus();
  }
}
// Each event is a page of its own: CPU time, waiting time, both.
export function offerEvents(profile) {
  if (profile.event !== profile.events[0]) {
    document.title = find("title").textContent = profile.title;
    find("subtitle").textContent = profile.subtitle;
    find("answer").textContent = profile.answer;
  }
  if (profile.events.length < 2) return;
  const select = find("events");
  for (const event of profile.events) element(select, "option", {value: event}, event === "cpu-clock" ? "cpu" : event);
  select.value = profile.event;
  select.parentNode.hidden = false;
  select.addEventListener("change", () => { location.assign("?event=" + encodeURIComponent(select.value)); });
}
