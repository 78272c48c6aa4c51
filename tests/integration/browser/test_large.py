#!/usr/bin/env python3
"""Large profiles in a real browser: test_large.py MAKE_PICTURES [unittest's options].

Numbers are compared with the tables'; how long things take is printed only. FLAMEPROBE_PAGE_STACKS chooses how many
stacks are measured.
"""
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

from selenium.webdriver.common.by import By

from browser import Browser, cpu_seconds, private_memory

PROGRAM = sys.argv.pop(1)

# Clicks into the graph every 15 frames; gives the time from frame to frame, in milliseconds.
ZOOM = """const done = arguments[0], canvas = document.querySelector('#graph canvas'), area = canvas.getBoundingClientRect();
const times = [];
let frame = 0, last = 0;
const step = (now) => {
  if (last) times.push(now - last);
  last = now;
  if (frame % 15 === 0) canvas.dispatchEvent(new MouseEvent('click', {bubbles: true,
    clientX: area.left + (frame * 7919 % 1000) / 1000 * area.width, clientY: area.bottom - 19 * (1 + frame / 15 % 8) - 5}));
  if (frame % 120 === 119) document.getElementById('reset').click();
  if (++frame < 240) return requestAnimationFrame(step);
  times.sort((a, b) => a - b);
  done([.5, .95, .999].map((part) => times[Math.floor(times.length * part)]));
};
requestAnimationFrame(step)"""


class LargeTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="flameprobe-large-")
        self.page = Browser()

    def tearDown(self):
        self.assertEqual(self.page.errors(), [])
        self.page.__exit__()
        self.directory.cleanup()

    def make(self, stacks):
        subprocess.run([PROGRAM, self.directory.name, "--stacks", str(stacks)], check=True)
        with open(os.path.join(self.directory.name, "stacks.json"), encoding="utf-8") as file:
            return os.path.join(self.directory.name, "stacks.html"), json.load(file)

    def open(self, path):
        self.page.open(path)
        while self.page.driver.find_elements(By.ID, "loading"):
            time.sleep(0.01)

    def search(self, term):
        self.page.run("const s = document.getElementById('search'); s.value = arguments[0]; s.dispatchEvent(new Event('input'))", term)
        return self.page.run("return document.getElementById('result').textContent")

    def rows(self):
        return [row.text.split("\n") for row in self.page.driver.find_elements(By.CSS_SELECTOR, ".body .line")]

    def test_every_number_is_the_table_s(self):
        path, truth = self.make(150_000)
        self.open(path)
        self.assertEqual(self.search("method_"), "matched 100.00 %")
        self.page.run("document.getElementById('tab-table').click()")
        functions, samples = truth["functions"], truth["samples"]
        order = sorted(functions, key=lambda name: -functions[name][0])
        # Beginning, middle and end of the table; and callers and callees of some.
        for name in order[:3] + order[14_000:14_003] + order[-3:]:
            self.search("^" + name.replace("<int>", "") + "$")
            self_, total = functions[name]
            self.assertEqual(self.rows()[0][:2], [self.share(self_, samples), self.share(total, samples)], name)
            self.page.driver.find_elements(By.CSS_SELECTOR, ".body .line")[0].click()
            numbers = self.page.run("return document.getElementById('chosen-numbers').textContent")
            self.assertTrue(numbers.startswith(f"total {self.share(total, samples)}, self {self.share(self_, samples)}, {total:,} sample"), numbers)
            self.page.run("document.querySelector('#callers canvas').focus()")
            self.page.run("document.querySelector('#callers canvas').dispatchEvent(new KeyboardEvent('keydown', {key: 'Home', bubbles: true}))")
            self.assertIn(f"{total:,} sample", self.page.run("return document.getElementById('details').textContent"))
            self.page.run("document.getElementById('tab-table').click()")

    @staticmethod
    def share(part, whole):
        share = part / whole * 100
        return "<0.01 %" if 0 < share < 0.005 else f"{share:.2f} %"

    def test_how_long_a_million_stacks_take(self):
        stacks = int(os.environ.get("FLAMEPROBE_PAGE_STACKS", "1000000"))
        path, _ = self.make(stacks)
        blank = private_memory(self.page.directory.name)
        used, begin = cpu_seconds(self.page.directory.name), time.monotonic()
        self.open(path)
        opened, used = time.monotonic() - begin, cpu_seconds(self.page.directory.name) - used
        memory = private_memory(self.page.directory.name)
        middle, most, worst = self.page.driver.execute_async_script(ZOOM)
        begin = time.monotonic()
        self.assertEqual(self.search("method_"), "matched 100.00 %")
        searched = time.monotonic() - begin
        print(f"{stacks:,} stacks: {os.path.getsize(path) / 2**20:.1f} MiB of HTML, open after {opened:.2f} s ({used:.2f} s of CPU time), {memory:.0f} MiB of memory "
              f"({blank:.0f} for an empty page); zooming, a frame every {middle:.1f} ms (95 %: {most:.1f}, worst: {worst:.1f}); a search {searched * 1000:.0f} ms")


if __name__ == "__main__":
    unittest.main()
