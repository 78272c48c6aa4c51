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
    const page = new Page(profile);
    offerEvents(profile);
    find("preview")?.remove();
    page.main.paint();
    find("loading").remove();
    const waits = await readWaits(profile);
    if (waits) page.timeline.addWaits(waits);
  }).catch((error) => {
    const line = find("loading") || find("details");
    line.textContent = "This page could not read its data (" + error.message + "). It needs a browser from 2023 or later; the .svg needs none.";
  });
}
