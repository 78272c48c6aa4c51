// For printing: all rows, and light colours; afterwards as it was.
export function print(page, on) {
  const {dataset, classList} = document.documentElement;
  if (on) page.themeBefore = dataset.theme;
  classList.toggle("printing", on);
  if (on) dataset.theme = "light"; else if (page.themeBefore) dataset.theme = page.themeBefore; else delete dataset.theme;
  page.readTheme();
  for (const graph of page.graphs) graph.print(on);
}
