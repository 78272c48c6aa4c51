#!/usr/bin/env python3
"""The page of two profiles in a real browser: test_diff.py FLAMEPROBE_RENDER [unittest's options]."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from page_test import PageTest

RENDER = os.path.abspath(sys.argv.pop(1))

BEFORE = """worker-1;main;parse 400
worker-1;main;parse;new_string_[i] 300
worker-1;main;eval;gc 200
worker-1;main;eval 380
worker-1;main;send;sys_send_[k] 120
"""
AFTER = """worker-1;main;parse 780
worker-1;main;parse;new_string_[i] 60
worker-1;main;eval 820
worker-1;main;eval;jit 400
worker-1;main;send;sys_send_[k] 235
"""


class DiffTest(PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.holder = tempfile.TemporaryDirectory(prefix="flameprobe-diff-")
        cls.addClassCleanup(cls.holder.cleanup)
        cls.directory = cls.holder.name
        for name, text in (("before", BEFORE), ("after", AFTER), ("again", BEFORE)):
            with open(os.path.join(cls.directory, name + ".folded"), "w", encoding="utf-8") as file:
                file.write(text)
        cls.table = cls.compare("before.folded", "after.folded", "diff.html")

    @classmethod
    def compare(cls, before, after, page):
        done = subprocess.run([RENDER, "--diff", before, after, "--top", "100", "-o", page], cwd=cls.directory, check=True,
                              capture_output=True, text=True)
        return done.stdout

    def show(self, fragment="", name="diff.html"):
        self.open(os.path.join(self.directory, name), fragment)

    def test_the_table_is_that_of_the_command(self):
        self.show(fragment="#view=table")
        rows = {row[4]: row for row in self.rows()}
        told = 0
        for line in (line for line in self.table.splitlines() if re.match(r"\s+[\d.]+%\s", line)):
            found = re.match(r"\s*([\d.]+)%\s+([\d.]+)%\s+([+-][\d.]+)%\s+([\d.]+)%\s+([\d.]+)%\s+([+-][\d.]+)%\s+(?:(noise|new|gone)\s+)?(\S+)$", line)
            self.assertIsNotNone(found, line)
            name = re.sub(r"_\[k\]$", "", found[8])
            told += 1
            row = " ".join(rows[name])
            for number in (found[4] + " %", found[5] + " %", found[6].replace("-", "−") + " %", found[3].replace("-", "−") + " %"):
                self.assertIn(number, row, name)
            self.assertEqual(found[7] in ("new", "gone"), bool(re.search("new|gone", rows[name][0])), name)
        self.assertEqual(told, len(rows))
        self.assertGreater(told, 6)

    def test_the_title_is_the_answer(self):
        self.show()
        self.assertEqual(self.text("title"), self.table.splitlines()[0])

    def test_it_opens_on_what_calls_a_narrow_change(self):
        for name, much in (("narrow", 100), ("wide", 300)):
            with open(os.path.join(self.directory, name + ".folded"), "w", encoding="utf-8") as file:
                file.write(f"main;rest 9000\nmain;serve;page 500\nmain;serve;search {much}\n")
        self.compare("narrow.folded", "wide.folded", "opens.html")
        self.show(name="opens.html")
        self.page.run("document.querySelector('#graph canvas').focus()")
        self.keys(Keys.ARROW_UP)
        self.assertTrue(self.details().startswith(("page", "search")), self.details())

    def test_the_kernel_is_one_row_and_has_no_time_of_its_own(self):
        deep = "main;write;entry_[k];do_syscall_[k];ksys_write_[k];vfs_write_[k];tcp_sendmsg_[k];ip_output_[k]"
        for name, sent in (("little", 100), ("much", 300)):
            with open(os.path.join(self.directory, name + ".folded"), "w", encoding="utf-8") as file:
                file.write(f"{deep} {sent}\nmain 700\n")
        self.compare("little.folded", "much.folded", "kernel.html")
        self.show(name="kernel.html")
        self.keys(Keys.ARROW_UP, Keys.ARROW_UP, Keys.ARROW_UP)
        self.assertTrue(self.details().startswith("entry › do_syscall › "), self.details())
        self.assertIn("in the kernel, +17.50 %", self.details())
        self.assertNotIn("self", self.details())

    def test_what_came_and_went_can_be_chosen(self):
        self.show(fragment="#view=table")
        names = lambda: {row[4] for row in self.rows()}
        for which, expected in (("new", {"jit"}), ("gone", {"gc"}), ("less", {"gc", "new_string", "parse"})):
            self.page.run("const s = document.getElementById('which'); s.value = arguments[0]; s.dispatchEvent(new Event('change'))", which)
            self.settle()
            self.assertEqual(names(), expected, which)
        # The first row is the largest change beyond noise, with its error.
        self.page.run("const s = document.getElementById('which'); s.value = ''; s.dispatchEvent(new Event('change'))")
        self.settle()
        title = self.page.driver.find_element(By.CSS_SELECTOR, ".body .line .cell.change").get_attribute("title")
        self.assertRegex(title, r"^[−+][\d.]+ % ±[\d.]+ %: before [\d.]+ % \([\d,]+\), after")

    def test_each_side_is_what_it_is_alone(self):
        subprocess.run([RENDER, "before.folded", "-o", "alone.html"], cwd=self.directory, check=True)
        told = []
        for name, fragment in (("alone.html", "#names=1"), ("diff.html", "#side=before")):
            self.show(fragment, name)
            self.page.run("document.querySelector('#graph canvas').focus()")
            lines = []
            for _ in range(4):
                self.keys(Keys.ARROW_UP)
                lines.append(self.details())
            told.append(lines)
        for alone, side in zip(*told):
            name, samples = re.match(r"(\S+) – ([\d,]+) samples", alone).groups()
            self.assertTrue(side.startswith(name + " "), (alone, side))
            self.assertIn(f"({samples})", side.split("after")[0])

    def test_the_sides_can_be_switched_and_both_are_aligned(self):
        self.show()
        self.assertEqual(self.page.run("return document.querySelector('#sides [aria-pressed=true]').textContent"), "Difference")
        difference = self.pixels()
        self.assertGreater(difference, 5)
        self.page.run("document.querySelector('#graph canvas').focus()")
        self.keys(Keys.ARROW_UP, Keys.ARROW_UP, Keys.ARROW_UP)
        self.assertIn("eval – +", self.details())
        self.assertIn("before 41.43 % (580), after 53.16 % (1,220)", self.details())
        self.keys("d")
        self.assertEqual(self.page.run("return document.querySelector('#sides [aria-pressed=true]').textContent"), "Before")
        self.keys("d", "d")
        self.assertTrue(self.id("graph-after").is_displayed())
        self.assertGreater(self.pixels("graph-after"), 3)
        self.page.run("document.querySelector('#graph canvas').focus()")
        self.keys(Keys.ARROW_UP, Keys.ARROW_UP, Keys.ARROW_UP, Keys.ENTER)
        zoomed = self.page.run("return location.hash")
        self.assertIn("z=", zoomed)
        self.page.run("document.querySelector('#graph-after canvas').focus()")
        self.keys(Keys.ARROW_UP)
        self.assertIn("jit – ", self.details())  # what is above eval, to which both have zoomed
        self.assertIn(", new", self.details())

    def test_from_the_leaves_and_callers(self):
        self.show(fragment="#r=1&i=1")
        self.page.run("document.querySelector('#graph canvas').focus()")
        self.keys(Keys.ARROW_DOWN)
        seen = []
        for _ in range(8):
            seen.append(self.details())
            self.keys(Keys.ARROW_RIGHT)
        self.assertTrue(any(text.startswith("jit – +17.43 %") for text in seen), seen)
        self.show(fragment="#view=sandwich")
        self.assertIn("before", self.text("chosen-numbers"))
        self.assertGreater(self.pixels("callers"), 1)

    def test_the_svg_keeps_the_change_in_its_boxes(self):
        self.compare("before.folded", "after.folded", "diff.svg")
        self.page.open(os.path.join(self.directory, "diff.svg"))
        shown = self.page.run("return Array.from(document.querySelectorAll('tspan.pc'), (one) => one.textContent)")
        self.assertTrue(shown)
        self.assertEqual([text for text in shown if text[0] not in "+−"], [])

    def test_equal_profiles_are_all_noise_and_lists_add_up(self):
        self.compare("before.folded,again.folded", "before.folded", "same.html")
        self.show("#view=table", "same.html")
        self.assertTrue(all("noise" in row[0] for row in self.rows()), self.rows())
        self.assertIn("before 2,800 samples", self.text("share"))
        self.id("tab-graph").click()
        self.settle()
        self.assertIn("within noise", self.text("legend"))


if __name__ == "__main__":
    unittest.main()
