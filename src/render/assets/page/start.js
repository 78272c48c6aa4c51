if ("live" in document.body.dataset) {
  new Live().run();
} else {
  readChosenEvent().then((profile) => {
    new Page(profile);
    offerEvents(profile);
    find("loading").remove();
  }).catch((error) => {
    find("loading").textContent = "This page could not read its data (" + error.message + "). It needs a browser from 2023 or later; the .svg needs none.";
  });
}
