// The controls that know nothing of the profile's trees.
function fillFacets(profile) {
  const used = new Map();
  for (let at = 0; at < profile.countBox.length; at++) {
    const thread = profile.countThread[at];
    used.set(thread, (used.get(thread) || 0) + profile.countWeight[at]);
  }
  const threads = profile.threads.map(([tid, name], index) => ({index, text: `${name || "thread"} (${tid})`, weight: used.get(index) || 0}));
  threads.sort((a, b) => b.weight - a.weight || a.index - b.index);
  element(find("threads"), "option", {value: -1}, "All threads");
  for (const {index, text, weight} of threads) if (weight > 0) element(find("threads"), "option", {value: index}, `${text}, ${percent(weight, profile.all)}`);
  find("threads").parentNode.hidden = threads.length < 2;
  const labels = new Set(profile.functions.name.filter((_, fn) => profile.kind(fn) === SCOPE));
  element(find("scopes"), "option", {value: ""}, "In and out of scopes");
  for (const label of labels) element(find("scopes"), "option", {value: label}, label);
  find("scopes").parentNode.hidden = labels.size === 0;
}

function fillLegend(profile, shades) {
  const legend = find("legend");
  legend.textContent = "";
  if (profile.byModule) return;
  KINDS.forEach((text, kind) => {
    const fn = profile.functions.kind.indexOf(kind);
    if (fn < 0) return;
    const entry = element(legend, "span", {});
    element(entry, "em", {}).style.background = shades[profile.functions.color[fn]];
    entry.append(text);
  });
}

function copyText(text) {
  const area = element(document.body, "textarea", {});
  area.value = text;
  area.select();
  // Not the Clipboard API: a page opened as a file may not have it.
  document.execCommand("copy");
  area.remove();
}

function chooseThemes(changed) {
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

function onKey(event, clear) {
  const field = find("search"), typing = event.target === field;
  if ((event.ctrlKey || event.metaKey) && event.key === "f" || event.key === "/" && !typing) {
    event.preventDefault();
    field.focus();
    field.select();
  } else if (event.key === "Escape" && typing) {
    clear();
    document.querySelector("#graph canvas").focus();
  } else if (event.target.getAttribute?.("role") === "tab" && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
    const tabs = Array.from(document.querySelectorAll("[role=tab]")), step = event.key === "ArrowLeft" ? tabs.length - 1 : 1;
    const next = tabs[(tabs.indexOf(event.target) + step) % tabs.length];
    next.click();
    next.focus();
  }
}

start().catch((error) => {
  find("loading").textContent = "This page could not read its data (" + error.message + "). It needs a browser from 2023 or later; the .svg needs none.";
});
