#!/usr/bin/env python3
"""The HTML page in a real browser: test_html.py MAKE_PICTURES [unittest's options]."""
import os
import re
import sys
import unittest

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from browser import Browser, make_pictures, strict_policy

PICTURES = make_pictures(sys.argv.pop(1))


class HtmlTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.page = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.page.__exit__()

    def setUp(self):
        self.page.size(1300, 800)
        self.page.dark(False)

    def tearDown(self):
        self.assertEqual(self.page.errors(), [])

    def open(self, name="demo.html", fragment=""):
        self.page.open(os.path.join(PICTURES, name), fragment)
        WebDriverWait(self.page.driver, 20).until(lambda driver: not driver.find_elements(By.ID, "loading"))
        self.settle()

    def settle(self):
        self.page.driver.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))")

    def id(self, name):
        return self.page.driver.find_element(By.ID, name)

    def text(self, name):
        return self.page.run("return document.getElementById(arguments[0]).textContent", name)

    def keys(self, *keys):
        ActionChains(self.page.driver).send_keys(*keys).perform()
        self.settle()

    def rows(self):
        return [row.text.split("\n") for row in self.page.driver.find_elements(By.CSS_SELECTOR, ".body .line")]

    def details(self):
        return self.text("details")

    def pixels(self, holder="graph"):
        """How many colours the canvas shows, and whether anything at all."""
        return self.page.run("""const canvas = document.querySelector('#' + arguments[0] + ' canvas');
          const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
          const colors = new Set();
          for (let at = 0; at < data.length; at += 4) if (data[at + 3] === 255) colors.add(data[at] << 16 | data[at + 1] << 8 | data[at + 2]);
          return colors.size""", holder)

    def test_the_graph_is_painted_and_told_by_keys(self):
        self.open()
        self.assertGreater(self.pixels(), 15)
        canvas = self.page.driver.find_element(By.CSS_SELECTOR, "#graph canvas")
        self.page.run("arguments[0].focus()", canvas)
        self.keys(Keys.ARROW_UP)
        self.assertIn("[lost] – 14 samples, 0.45 %", self.details())
        self.keys(Keys.ARROW_RIGHT)
        self.assertIn("server – 924 samples, 29.69 %, self 0.00 %, thread", self.details())
        self.keys(Keys.ENTER)
        self.assertTrue(self.id("reset").is_displayed())
        self.keys(Keys.ESCAPE)
        self.assertFalse(self.id("reset").is_displayed())

    def test_a_click_zooms_and_the_tooltip_tells(self):
        self.open()
        canvas = self.page.driver.find_element(By.CSS_SELECTOR, "#graph canvas")
        # The row above the root: worker-1 has the middle. Offsets count from the middle of the element.
        height, visible = self.page.run("return [parseFloat(document.querySelector('#graph .spacer').style.height), arguments[0].clientHeight]", canvas)

        def move():
            return ActionChains(self.page.driver).move_to_element_with_offset(canvas, 0, int(height - 19 * 1.5 - visible / 2))

        move().perform()
        self.settle()
        self.assertIn("worker-1", self.text("tip"))
        self.assertIn("1,448 samples, 46.53 %", self.text("tip"))
        move().click().perform()
        self.settle()
        self.assertIn("worker-1", self.details())
        self.assertRegex(self.page.run("return location.hash"), r"^#z=\d+$")
        hash_ = self.page.run("return location.hash")
        self.open(fragment=hash_)
        self.assertTrue(self.id("reset").is_displayed())

    def test_the_table_has_self_and_total_and_sorts(self):
        self.open()
        self.id("tab-table").click()
        first = self.rows()[0]
        self.assertEqual(first[:2], ["17.99 %", "30.46 %"])
        self.assertTrue(first[2].startswith("std::map<"))
        # Four frames of one recursion: its time counts once.
        walk = next(row for row in self.rows() if row[2] == "Trie::walk(Node const*)")
        self.assertEqual(walk[:2], ["14.49 %", "14.49 %"])
        self.page.driver.find_element(By.XPATH, "//button[text()='Total']").click()
        totals = [float(row[1].split()[0]) for row in self.rows()]
        self.assertEqual(totals, sorted(totals, reverse=True))
        self.assertGreater(totals[0], 60)
        self.keys("/", "json")
        self.assertEqual({row[2] for row in self.rows()}, {"Json::dump(int) const", "Json::escape(std::string const&)"})
        self.assertEqual(self.text("result"), "matched 8.61 %")

    def test_callers_and_callees(self):
        self.open(fragment="#view=table")
        next(row for row in self.page.driver.find_elements(By.CSS_SELECTOR, ".body .line") if "Parser::parse" in row.text).click()
        self.settle()
        self.assertEqual(self.text("chosen"), "Parser::parse(std::string_view)")
        self.assertIn("total 16.13 %, self 10.64 %", self.text("chosen-numbers"))
        self.assertGreater(self.pixels("callers"), 5)
        self.assertGreater(self.pixels("callees"), 3)
        self.page.run("document.querySelector('#callees canvas').focus()")
        self.keys(Keys.ARROW_DOWN)
        self.assertIn("operator new(unsigned long) – 75 samples", self.details())
        self.keys(Keys.ENTER)
        self.assertEqual(self.text("chosen"), "operator new(unsigned long)")
        self.page.run("document.querySelector('#callers canvas').focus()")
        self.keys(Keys.ARROW_UP)
        self.assertIn("Parser::parse(std::string_view) – 75 samples", self.details())

    def test_threads_and_scopes_filter(self):
        self.open()
        Select(self.id("threads")).select_by_value("2")
        self.settle()
        self.assertIn("726 samples of these, 23.33 %", self.text("share"))
        Select(self.id("threads")).select_by_value("-1")
        Select(self.id("scopes")).select_by_visible_text("[checkout]")
        self.settle()
        self.assertIn("1,360 samples of these, 43.70 %", self.text("share"))
        self.id("tab-table").click()
        names = {row[2] for row in self.rows()}
        self.assertIn("Cart::total() const", names)
        self.assertNotIn("Parser::parse(std::string_view)", names)
        hash_ = self.page.run("return location.hash")
        self.open(fragment=hash_)
        self.assertIn("1,360 samples of these", self.text("share"))

    def test_merged_from_the_leaves(self):
        self.open()
        self.id("reverse").click()
        self.id("icicle").click()
        self.settle()
        self.page.run("document.querySelector('#graph canvas').focus()")
        self.keys("/", Keys.ESCAPE)
        seen = []
        self.keys(Keys.ARROW_DOWN)
        for _ in range(30):
            seen.append(self.details())
            self.keys(Keys.ARROW_RIGHT)
        self.assertTrue(any(text.startswith("Trie::walk(Node const*) – 451 samples") for text in seen), seen)

    def test_search_counts_time_once_and_falls_back_to_text(self):
        self.open()
        self.keys("/", "trie::walk")
        self.assertEqual(self.text("result"), "matched 14.49 %")
        self.id("case").click()
        self.assertEqual(self.text("result"), "no match")
        self.id("case").click()
        self.page.run("const s = document.getElementById('search'); s.value = ''; s.focus()")
        self.keys("operator new(")
        self.assertEqual(self.text("result"), "matched 2.41 % (as text)")
        self.keys(Keys.ESCAPE)
        self.assertEqual(self.text("result"), "")

    def test_dark_follows_the_reader_and_the_button(self):
        self.open()
        page = "return getComputedStyle(document.body).backgroundColor"
        self.assertEqual(self.page.run(page), "rgb(253, 252, 250)")
        self.page.dark(True)
        self.assertEqual(self.page.run(page), "rgb(27, 26, 25)")
        self.id("theme").click()
        self.assertEqual(self.page.run(page), "rgb(253, 252, 250)")
        # Text against its background, as WCAG 2.1 reckons contrast, in both themes.
        for theme in ("light", "dark"):
            self.page.run("document.documentElement.dataset.theme = arguments[0]", theme)
            low = self.page.run("""
              const light = (text) => { const [r, g, b] = text.match(/[\\d.]+/g).map((v) => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
              const ground = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\\)$/.test(c)) return c; } };
              const low = [];
              for (const e of document.querySelectorAll('h1, p, span, button, select, input, summary, output')) {
                if (!e.checkVisibility() || !(e.textContent || e.localName === 'input')) continue;
                const a = light(getComputedStyle(e).color), b = light(ground(e));
                const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
                if (ratio < 4.5) low.push([e.outerHTML.slice(0, 80), ratio]);
              }
              return low""")
            self.assertEqual(low, [])

    def test_only_what_is_in_sight_exists(self):
        self.open("large.html", "#view=table")
        self.assertGreater(int(self.page.driver.find_element(By.CSS_SELECTOR, ".body").get_attribute("aria-rowcount")), 20000)
        self.assertLess(len(self.rows()), 80)
        self.id("tab-graph").click()
        self.settle()
        canvas = self.page.driver.find_element(By.CSS_SELECTOR, "#graph canvas")
        self.assertLess(canvas.size["height"], 800)
        self.assertGreater(self.page.run("return document.querySelector('#graph').scrollHeight"), 19 * 5000)
        self.assertGreater(self.pixels(), 3)

    def test_hostile_names_are_text(self):
        self.open("hostile.html")
        self.assertEqual(self.page.run("return window.broken ?? 'intact'"), "intact")
        self.id("tab-table").click()
        names = [row[2] for row in self.rows()]
        self.assertIn("</script><script>window.broken = 1</script>", names)
        self.assertIn("__proto__", names)

    def test_a_strict_policy_allows_all_of_it(self):
        with open(os.path.join(PICTURES, "demo.html"), encoding="utf-8") as file:
            page = file.read()
        policy = strict_policy({"style": re.findall(r"<style>(.*?)</style>", page, re.S), "script": re.findall(r"<script>(.*?)</script>", page, re.S)})
        with open(os.path.join(PICTURES, "policy.html"), "w", encoding="utf-8") as file:
            file.write(page.replace('<meta charset="utf-8">', '<meta charset="utf-8">' + policy))
        self.open("policy.html")
        self.assertGreater(self.pixels(), 15)
        self.id("tab-table").click()
        self.assertGreater(len(self.rows()), 10)

    def test_without_scripts_there_is_a_table(self):
        self.page.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        try:
            self.page.open(os.path.join(PICTURES, "demo.html"))
            text = self.page.driver.find_element(By.CSS_SELECTOR, "noscript").text
        finally:
            self.page.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
        self.assertIn("14.49 % 14.49 % Trie::walk(Node const*)", text)


if __name__ == "__main__":
    unittest.main()
