import {offerEvents} from "./controls.js";
import {readChosenEvent, readWaits} from "./data.js";
import {Live} from "./live.js";
import {Page} from "./page.js";
import {find} from "./tools.js";

if ("live" in document.body.dataset) {
  new Live().run();
} else {
  // The picture in the file is of the first event.
  if (new URLSearchParams(location.search).has("event")) find("preview").remove();
  readChosenEvent().then(async (profile) => {
    // They give the graph their room before it is laid out; nothing is painted in between.
    const before = [find("preview"), find("loading")].filter(Boolean);
    for (const one of before) one.hidden = true;
    let page;
    try { page = new Page(profile); } catch (error) {
      for (const one of before) one.hidden = false;
      throw error;
    }
    offerEvents(profile);
    page.main.paint();
    for (const one of before) one.remove();
    const waits = await readWaits(profile);
    if (waits) page.addWaits(waits);
  }).catch((error) => {
    const line = find("loading") || find("details");
    line.textContent = "This page could not read its data (" + error.message + "). It needs a browser from 2023 or later; the .svg needs none.";
  });
}
