#!/usr/bin/env python3
"""The page of a running program in a real browser: test_live.py FLAMEPROBE LIBFLAMEPROBE.SO [unittest's options]."""
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from page_test import PageTest

FLAMEPROBE, LIBRARY = os.path.abspath(sys.argv.pop(1)), os.path.abspath(sys.argv.pop(1))
BUSY = "while True: sum(range(1000))"


def seconds(text):
    """Of "520 ms", "12.3 s", "2 min 05 s"."""
    units = {"ms": 1e-3, "s": 1, "min": 60}
    return sum(float(number) * units[unit] for number, unit in re.findall(r"([\d.]+) (ms|s|min)\b", text))


class LiveTest(PageTest):
    def serve(self, program, frequency="499", event="cpu"):
        """Runs Python's `program` under FlameProbe, and the server of its page."""
        holder = tempfile.TemporaryDirectory(prefix="flameprobe-live-")
        self.addCleanup(holder.cleanup)
        self.place = holder.name
        open(os.path.join(holder.name, "go"), "w", encoding="ascii").close()
        env = {name: value for name, value in os.environ.items() if not name.startswith(("FLAMEPROBE_", "LD_"))}
        self.busy = subprocess.Popen([sys.executable, "-c", "open('begun', 'w').close()\n" + program], cwd=holder.name, stdin=subprocess.PIPE,
                                     env=env | {"LD_PRELOAD": LIBRARY, "FLAMEPROBE_FREQ": frequency, "FLAMEPROBE_EVENT": event, "FLAMEPROBE_FORMAT": "none"})
        self.addCleanup(self.busy.stdin.close)
        self.addCleanup(self.end, self.busy)
        # A program whose profile has not begun would be looked at from outside.
        while not os.path.exists(os.path.join(holder.name, "begun")):
            self.assertIsNone(self.busy.poll())
            time.sleep(0.05)
        self.served = subprocess.Popen([FLAMEPROBE, "live", str(self.busy.pid)], stdout=subprocess.PIPE, text=True, env=env)
        self.addCleanup(self.served.stdout.close)
        self.addCleanup(self.end, self.served)
        self.url = self.served.stdout.readline().strip()
        self.page.driver.get(self.url)

    @staticmethod
    def end(process):
        process.kill()
        process.wait()

    def until(self, true, seconds=60):
        return WebDriverWait(self.page.driver, seconds).until(lambda _: true())

    def first_answer(self):
        with urllib.request.urlopen(self.url) as answer:
            return answer.read().decode()

    def samples(self):
        found = re.search(r"([\d,]+) samples?$", self.text("subtitle"))
        return int(found[1].replace(",", "")) if found else 0

    def test_it_waits_for_the_first_sample(self):
        # Its first second of CPU time comes when it is told. That there is none before is no error of the page.
        self.serve("input()\n" + BUSY, frequency="1")
        self.until(lambda: self.text("loading") == "Waiting: no samples yet")
        # Before its script has asked for data the page says what it is about.
        self.assertIn(f'<p id="loading" role="status">Looking for samples of process {self.busy.pid}</p>', self.first_answer())
        self.busy.stdin.write(b"\n")
        self.busy.stdin.flush()
        self.until(lambda: not self.page.driver.find_elements(By.ID, "loading"))
        self.assertGreater(self.samples(), 0)

    def test_of_a_program_that_only_waits_it_shows_where(self):
        self.serve("import time\nwhile not open('go').read(): time.sleep(0.01)\n" + BUSY, frequency="1", event="cpu,offcpu")
        self.until(lambda: not self.page.driver.find_elements(By.ID, "loading"))
        if "of waiting" not in self.text("subtitle"):
            self.skipTest("one in twenty times a sample of CPU time hits Python's start")
        self.assertEqual(self.page.run("return document.getElementById('events').value"), "offcpu")
        # Once it computes, the event that was asked for first has samples.
        with open(os.path.join(self.place, "go"), "w", encoding="ascii") as go:
            go.write("now")
        self.until(lambda: "of CPU time" in self.text("subtitle"))
        self.assertEqual(self.page.run("return document.getElementById('events').value"), "cpu")
        self.page.run("const s = document.getElementById('events'); s.value = 'offcpu'; s.dispatchEvent(new Event('change'))")
        self.until(lambda: "event=offcpu" in self.page.driver.current_url and "of waiting" in self.text("subtitle"))

    def test_it_refreshes_and_keeps_what_the_reader_chose(self):
        self.serve(BUSY)
        self.until(lambda: not self.page.driver.find_elements(By.ID, "loading"))
        self.assertIn(f"pid {self.busy.pid}", self.page.driver.title)
        # Who opens it later has a picture at once.
        answer = self.first_answer()
        self.assertRegex(answer, f'<h1 id="title">[^<]*pid {self.busy.pid}</h1>')
        self.assertRegex(answer, '<div id="preview" aria-hidden="true"><svg [^>]*>\\s*<rect ')
        self.assertEqual(self.page.driver.find_elements(By.ID, "preview"), [])

        def zoomed():  # to a leaf, which is narrower than all once there are several samples
            self.page.run("document.querySelector('#graph canvas').focus()")
            self.keys(*[Keys.ARROW_UP] * 60, Keys.ENTER)
            return self.id("reset").is_displayed()
        self.until(zoomed)
        self.page.run("const s = document.getElementById('search'); s.value = 'main'; s.dispatchEvent(new Event('input'))")
        before = self.samples()
        self.until(lambda: self.samples() > before)
        self.assertTrue(self.id("reset").is_displayed())
        self.assertEqual(self.id("search").get_attribute("value"), "main")
        # The last seconds only, which go on with the program.
        self.page.run("const w = document.getElementById('window'); w.options[1].value = '2'; w.value = '2'; w.dispatchEvent(new Event('change'))")
        self.until(lambda: "time=" in self.page.run("return location.hash"))
        window = lambda: self.text("share").partition("from ")[2]
        before = window()
        self.until(lambda: window() != before)
        begin, end = map(seconds, window().split(" to "))
        self.assertAlmostEqual(end - begin, 2, delta=0.1)
        self.page.run("const w = document.getElementById('window'); w.value = '0'; w.dispatchEvent(new Event('change'))")
        self.assertNotIn("time=", self.page.run("return location.hash"))
        # Rows of the call tree that the reader closed stay closed.
        self.page.run("document.getElementById('tab-tree').click(); document.getElementById('tree').focus()")
        rows = "return Array.from(document.querySelectorAll('#tree .body .line'), (row) => [row.lastChild.textContent, row.getAttribute('aria-expanded')])"
        self.assertGreater(len(self.page.run(rows)), 4)
        def closed():  # all but the root's
            self.keys(*[Keys.ARROW_LEFT] * 80)
            return len(self.page.run(rows)) == 1
        self.until(closed)
        self.keys(Keys.ARROW_RIGHT)
        open_rows, before = self.page.run(rows), self.samples()
        self.until(lambda: self.samples() > before)
        self.assertEqual(self.page.run(rows), open_rows)
        # Stopped by the button, and told when the program has ended.
        self.id("live").click()
        self.assertEqual(self.id("live").get_attribute("aria-pressed"), "false")
        self.id("live").click()
        self.end(self.busy)
        self.until(lambda: self.text("live") == "Ended")


if __name__ == "__main__":
    unittest.main()
