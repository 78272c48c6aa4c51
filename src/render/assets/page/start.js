import {offerEvents} from "./controls.js";
import {readChosenEvent, readWaits} from "./data.js";
import {Live} from "./live.js";
import {Page} from "./page.js";
import {find} from "./tools.js";

// The picture in the file is of the first event.
if (new URLSearchParams(location.search).has("event")) find("preview")?.remove();
if ("live" in document.body.dataset) {
  new Live().run();
} else {
  readChosenEvent().then(async (profile) => {
    offerEvents(profile);
    const page = Page.instead(profile), waits = await readWaits(profile);
    if (waits) page.addWaits(waits);
  }).catch((error) => {
    const line = find("loading") || find("details");
    line.textContent = "This page could not read its data (" + error.message + "). It needs a browser from 2023 or later; the .svg needs none.";
  });
}
