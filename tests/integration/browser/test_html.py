#!/usr/bin/env python3
"""The HTML page in a real browser: test_html.py MAKE_PICTURES [unittest's options]."""
import os
import re
import sys
import unittest

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.expected_conditions import staleness_of
from selenium.webdriver.support.ui import Select, WebDriverWait

from browser import make_pictures, strict_policy
from page_test import PageTest

PICTURES = make_pictures(sys.argv.pop(1))


class HtmlTest(PageTest):
    def open(self, name="demo.html", fragment=""):
        super().open(os.path.join(PICTURES, name), fragment)

    def test_the_graph_is_painted_and_told_by_keys(self):
        self.open()
        self.assertGreater(self.pixels(), 15)
        canvas = self.page.driver.find_element(By.CSS_SELECTOR, "#graph canvas")
        self.page.run("arguments[0].focus()", canvas)
        self.keys(Keys.ARROW_UP)
        self.assertIn("worker – 14.63 s (46.53 %), self 0, 1,448 samples", self.details())  # the heaviest first
        self.keys(Keys.ARROW_RIGHT)
        self.assertIn("server – 9.33 s (29.69 %), self 0, 924 samples, thread", self.details())
        self.keys(Keys.ENTER)
        self.assertTrue(self.id("reset").is_displayed())
        self.keys(Keys.ESCAPE)
        self.assertFalse(self.id("reset").is_displayed())

    def test_there_is_a_picture_before_the_data_is_read(self):
        # The script waits for ever, as it does for a moment on a busy machine.
        with open(os.path.join(PICTURES, "demo.html"), encoding="utf-8") as file:
            page = re.sub(r"<script>.*</script>", "", file.read(), flags=re.S)
        with open(os.path.join(PICTURES, "early.html"), "w", encoding="utf-8") as file:
            file.write(page)
        for dark in (False, True):
            self.page.dark(dark)
            self.page.open(os.path.join(PICTURES, "early.html"))
            labels = self.page.run("return Array.from(document.querySelectorAll('#preview text'), (one) => one.textContent)")
            self.assertIn("all100.0 %", labels)
            self.assertIn("[parse]16.1 %", labels)
            # The root is in sight, and as wide as the page.
            box = self.page.run("const b = document.querySelector('#preview rect').getBoundingClientRect(); return [b.width, b.bottom, innerHeight]")
            self.assertGreater(box[0], 1200)
            self.assertLess(box[1], box[2])
        self.page.dark(False)
        self.page.size(1440, 900)  # beside the table's place
        wider = self.page.run("""const boxes = Array.from(document.querySelectorAll('#preview rect'), (one) => one.getBoundingClientRect());
          return Array.from(document.querySelectorAll('#preview text')).filter((text) => {
            const at = text.getBoundingClientRect();
            const box = boxes.find((one) => one.left <= at.left && at.left < one.right && one.top <= at.bottom - 5 && at.bottom - 5 < one.bottom);
            return box && at.right > box.right;
          }).map((text) => text.textContent)""")
        self.assertEqual(wider, [])
        self.open()
        self.assertEqual(self.page.run("return document.querySelectorAll('#preview').length"), 0)

    def beside(self):
        """Rows of the table beside the graph: [self, total, name], with their times."""
        return self.page.run("""return Array.from(document.querySelectorAll('#beside .body .line'), (row) => Array.from(row.children, (cell) =>
          cell.querySelector('[data-time]') ? cell.querySelector('span').dataset.time + ' ' + cell.textContent : cell.textContent))""")

    def test_functions_fill_what_a_graph_of_few_rows_leaves_free(self):
        tops = "return ['#beside', '#times', '#graph', '.status'].map((of) => document.querySelector(of).getBoundingClientRect()).map(({top, bottom}) => [top, bottom])"
        for width, height in ((1300, 900), (1500, 900), (500, 1200)):
            self.page.size(width, height)
            self.open("times.html")
            self.page.driver.execute_async_script("setTimeout(arguments[0], 100)")
            self.assertEqual(self.beside()[0][2], "std::map::find")
            table, strips, graph, status = self.page.run(tops)
            self.assertGreater(table[1] - table[0], 180)  # six functions
            # Strips, the graph and the table stand one below the other; the graph has all its rows, and nothing else.
            self.assertLessEqual(strips[1], graph[0] + 1)
            self.assertLessEqual(graph[1], table[0] + 1)
            self.assertLessEqual(table[1], status[0] + 1)
            rows = self.page.run("return document.querySelector('#graph .spacer').clientHeight")
            self.assertAlmostEqual(graph[1] - graph[0], rows, delta=1)
            # A zoom moves nothing.
            self.keys(Keys.ARROW_UP, Keys.ARROW_UP, Keys.ENTER)
            self.page.driver.execute_async_script("setTimeout(arguments[0], 300)")
            self.assertEqual(self.page.run(tops), [table, strips, graph, status])
        # A flame chart's caption takes no row from it.
        self.keys("y")
        self.page.driver.execute_async_script("setTimeout(arguments[0], 100)")
        self.assertTrue(self.id("caption-before").is_displayed())
        self.assertTrue(self.page.run("const {scrollHeight, clientHeight} = document.querySelector('#graph'); return scrollHeight <= clientHeight + 1"))
        self.keys("y")
        # Without it the graph has the room; in a low window there is none.
        self.page.size(1300, 900)
        self.id("few").click()
        self.settle()
        self.assertFalse(self.id("beside").is_displayed())
        self.assertGreater(self.page.run("return document.querySelector('#graph').clientHeight"), rows + 100)
        self.page.size(1300, 560)
        self.open("times.html")
        self.assertFalse(self.id("beside").is_displayed())

    def test_functions_stand_beside_a_high_graph_in_a_wide_window(self):
        self.page.size(1500, 560)
        self.open("times.html")
        self.page.driver.execute_async_script("setTimeout(arguments[0], 100)")
        self.assertEqual(self.beside()[0], ["5.657 s 18.0 %", "9.576 s 30.5 %", "std::map::find"])
        graph, strips = (self.page.driver.find_element(By.CSS_SELECTOR, f"#{of} canvas") for of in ("graph", "times"))
        self.assertEqual((graph.location["x"], graph.size["width"]), (strips.location["x"], strips.size["width"]))
        # A click finds the function's boxes and goes to the widest; another one shows all again.
        walk = next(row for row in self.page.driver.find_elements(By.CSS_SELECTOR, "#beside .body .line") if "Trie::walk" in row.text)
        walk.click()
        self.settle()
        self.assertEqual((self.text("result"), self.text("found")), ("matched 14.49 %", "1 of 5 boxes"))
        self.assertIn(", 442 samples", self.details())
        next(row for row in self.page.driver.find_elements(By.CSS_SELECTOR, "#beside .body .line") if "Trie::walk" in row.text).click()
        self.assertEqual(self.text("result"), "")
        # It goes away by its button or its key, and the graph takes its place.
        wide = graph.size["width"]
        self.id("few").click()
        self.settle()
        self.assertFalse(self.id("beside").is_displayed())
        self.assertGreater(graph.size["width"], wide + 300)
        self.assertIn("few=0", self.page.run("return location.hash"))

    def tree_rows(self):
        """[level, text] of the call tree's rows."""
        return self.page.run("""return Array.from(document.querySelectorAll('#tree .body .line'), (row) =>
          [Number(row.getAttribute('aria-level')), row.lastChild.textContent.replace(/^[▾▸]/, ''), row.getAttribute('aria-selected') === 'true', row.getAttribute('aria-expanded')])""")

    def test_the_call_tree(self):
        self.page.size(1300, 1200)
        self.open()
        self.id("tab-tree").click()
        names = [row[1] for row in self.tree_rows()]
        # Opened along the heaviest path, whose end is chosen; siblings stand below it, the heaviest first.
        self.assertEqual(names[:3], ["all", "worker", "clone3"])
        [chosen] = [row for row in self.tree_rows() if row[2]]
        self.assertEqual(chosen[1], "__memcmp_avx2_movbe")
        totals = self.page.run("""return Array.from(document.querySelectorAll('#tree .body .line'), (row) => [Number(row.getAttribute('aria-level')), parseFloat(row.querySelector('.total').textContent)])""")
        top = [share for level, share in totals if level == 2]
        self.assertEqual(top[0], 46.53)
        self.assertEqual(top, sorted(top, reverse=True))
        self.page.run("document.getElementById('tree').focus()")
        # Left closes, then goes to the caller; right opens; p opens the heaviest path from here.
        self.keys(*[Keys.ARROW_LEFT] * 60)
        self.assertEqual([row[1:] for row in self.tree_rows()], [["all", True, "false"]])
        self.keys(Keys.ARROW_RIGHT)
        self.assertGreater(len(self.tree_rows()), 3)
        self.keys("p")
        self.assertEqual([row[1] for row in self.tree_rows()], names)
        # A search marks rows; Enter shows the chosen frame in the graph.
        self.keys("/", "map::find")
        self.assertEqual(self.page.run("return document.querySelector('#tree .hit').lastChild.textContent").lstrip("▾▸"), "std::map::find")
        self.page.run("document.getElementById('tree').focus()")
        self.keys(Keys.ENTER)
        self.assertTrue(self.id("graph-view").is_displayed())
        self.assertTrue(self.id("reset").is_displayed())
        self.assertIn(chosen[1], [text for text, _ in self.drawn()])

    def test_what_a_box_is_stands_beside_the_pointer(self):
        self.open("times.html")
        self.over_row(1).perform()
        self.settle()
        tip = self.id("tip")
        self.assertEqual(tip.text, "server\n9.33 s (29.69 %), self 0, 924 samples\nthread")
        place = self.page.run("const r = document.getElementById('tip').getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]")
        pointer = self.page.run("return document.getElementById('graph').getBoundingClientRect().left") + 634
        self.assertLess(abs(place[0] - pointer), 40)
        self.assertGreaterEqual(min(place), 0)
        self.assertLessEqual(place[3], 800)
        # The pointer goes through it; it goes with the pointer, and away with it.
        self.assertEqual(self.page.run("return document.elementFromPoint(arguments[0] + 5, arguments[1] + 5).id", *place[:2]) == "tip", False)
        ActionChains(self.page.driver).move_to_element(self.id("search")).perform()
        self.assertFalse(tip.is_displayed())
        self.over_row(1).click().perform()
        self.assertFalse(tip.is_displayed())

    def test_bars_end_before_their_numbers(self):
        for width in (1300, 500):
            self.page.size(width, 800)
            self.open(fragment="#view=table")
            over = self.page.run("""return Array.from(document.querySelectorAll('.body .line .cell i')).filter((bar) => {
              const range = document.createRange();
              range.selectNodeContents(bar.nextSibling);
              return bar.getBoundingClientRect().right > range.getBoundingClientRect().left;
            }).map((bar) => bar.nextSibling.textContent)""")
            self.assertEqual(over, [])
            self.assertGreater(self.page.run("return Math.max(...Array.from(document.querySelectorAll('.body .line .cell i'), (bar) => bar.getBoundingClientRect().width))"), 8)

    def test_a_click_zooms_and_the_tooltip_tells(self):
        self.open()
        canvas = self.page.driver.find_element(By.CSS_SELECTOR, "#graph canvas")
        self.over_row(1).perform()
        self.settle()
        self.assertIn("server – 9.33 s (29.69 %), self 0, 924 samples", self.details())
        # What is told has a place of its own: it covers nothing, and the picture stands still.
        self.assertEqual(self.page.run("const {top, height} = arguments[0].getBoundingClientRect(); return document.elementsFromPoint(650, top + height / 2)[0].localName", canvas), "canvas")
        before = canvas.location["y"], canvas.size["height"]
        ActionChains(self.page.driver).move_to_element(self.id("search")).perform()
        self.assertEqual((canvas.location["y"], canvas.size["height"]), before)
        self.over_row(1).click().perform()
        self.settle()
        self.assertIn("server", self.details())
        self.assertRegex(self.page.run("return location.hash"), r"^#z=\d+$")
        hash_ = self.page.run("return location.hash")
        self.open(fragment=hash_)
        self.assertTrue(self.id("reset").is_displayed())

    def test_the_table_has_self_and_total_and_sorts(self):
        self.open()
        self.id("tab-table").click()
        first = self.rows()[0]
        self.assertEqual(first[:2], ["17.99 %", "30.46 %"])
        self.assertEqual(first[2], "std::map::find")
        # Four frames of one recursion: its time counts once.
        walk = next(row for row in self.rows() if row[2] == "Trie::walk")
        self.assertEqual(walk[:2], ["14.49 %", "14.49 %"])
        self.page.driver.find_element(By.XPATH, "//button[text()='Total']").click()
        totals = [float(row[1].split()[0]) for row in self.rows()]
        self.assertEqual(totals, sorted(totals, reverse=True))
        self.assertGreater(totals[0], 60)
        self.keys("/", "json")
        self.assertEqual({row[2] for row in self.rows()}, {"Json::dump", "Json::escape"})
        self.assertEqual(self.text("result"), "matched 8.61 %")

    def test_what_is_no_function_stands_last(self):
        self.open(fragment="#view=table")
        def names():
            self.page.run("document.querySelector('#functions .body').scrollTop = 1e9")
            self.settle()
            return [row[2] for row in self.rows()]
        for head in ("Self", "Total", "Total"):
            self.assertEqual(set(names()[-3:]), {"[kernel, not permitted]", "[lost]", "[truncated]"}, head)
            self.page.driver.find_element(By.XPATH, f"//div[@id='functions']//button[text()='{head}']").click()
        self.assertEqual(self.page.run("return document.querySelector('#functions .head small').textContent"), "1.6 % in no function: last rows")

    def test_times_of_a_column_have_one_unit_and_no_row_is_cut(self):
        for width, height in ((1500, 560), (1300, 900)):
            self.page.size(width, height)
            self.open("times.html")
            self.page.driver.execute_async_script("setTimeout(arguments[0], 100)")
            self.assertEqual({re.sub("[0-9]", "", cell.split()[0]) + cell.split()[1] for row in self.beside() for cell in row[:2] if cell}, {".s"})
            body, line = self.page.run("return [document.querySelector('#beside .body').clientHeight, document.querySelector('#beside .line').offsetHeight]")
            self.assertEqual((body > 3 * line, body % line), (True, 0))

    def test_callers_and_callees(self):
        self.open(fragment="#view=table")
        next(row for row in self.page.driver.find_elements(By.CSS_SELECTOR, ".body .line") if "Parser::parse" in row.text).click()
        self.settle()
        self.assertEqual(self.text("chosen"), "Parser::parse(std::string_view)")
        self.assertIn("5.07 s (16.13 %), self 3.34 s (10.64 %), 502 samples", self.text("chosen-numbers"))
        self.assertGreater(self.pixels("callers"), 5)
        self.assertGreater(self.pixels("callees"), 3)
        self.page.run("document.querySelector('#callees canvas').focus()")
        self.keys(Keys.ARROW_DOWN)
        self.assertIn("operator new – 757.6 ms (2.41 %), ", self.details())
        self.keys(Keys.ENTER)
        self.assertEqual(self.text("chosen"), "operator new(unsigned long)")
        self.page.run("document.querySelector('#callers canvas').focus()")
        self.keys(Keys.ARROW_UP)
        self.assertIn("Parser::parse – 757.6 ms (2.41 %), ", self.details())

    def test_threads_and_scopes_filter(self):
        self.open()
        # Times and shares are those of the threads' boxes.
        self.assertIn("worker (4712), 14.63 s, 46.53 %", [one.text for one in Select(self.id("threads")).options])
        Select(self.id("threads")).select_by_value("2")
        self.settle()
        self.assertIn("(23.33 %), 726 samples", self.text("share"))
        Select(self.id("threads")).select_by_value("-1")
        Select(self.id("scopes")).select_by_visible_text("[checkout]")
        self.settle()
        self.assertIn("(43.70 %), 1,360 samples", self.text("share"))
        self.id("tab-table").click()
        names = {row[2] for row in self.rows()}
        self.assertIn("Cart::total", names)
        self.assertNotIn("Parser::parse", names)
        hash_ = self.page.run("return location.hash")
        self.open(fragment=hash_)
        self.assertIn(", 1,360 samples", self.text("share"))

    def test_what_selects_stands_in_the_row_of_the_other_buttons(self):
        self.page.size(1440, 900)
        self.open("events.html")
        tops = set(self.page.run("""return [...document.querySelectorAll('.tools > :is([role], .group, label)')].filter((one) => one.offsetWidth)
          .map((one) => Math.round(one.getBoundingClientRect().top + one.offsetHeight / 2))"""))
        self.assertEqual(len(self.page.run("return [...document.querySelectorAll('.tools > label')].filter((one) => one.offsetWidth)")), 3)
        self.assertLess(max(tops) - min(tops), 10)

    def test_a_switch_between_cpu_time_waiting_time_and_both(self):
        self.open("events.html")
        titles = {}
        for event, row, told in (("cpu-clock", "worker", "14.63 s (46.53 %), self 0, 1,448 samples"), ("offcpu", "server", "6.25 s (62.50 %)"),
                                 ("wall", "server", "10 s (50.00 %)"), ("page-faults", "server", "700 page-faults (35.00 %)"),
                                 ("cpu-clock", "worker", "14.63 s (46.53 %), self 0, 1,448 samples")):
            with self.subTest(event=event):
                select = Select(self.id("events"))
                self.assertEqual([option.text for option in select.options], ["cpu", "offcpu", "wall", "page-faults"])
                before = self.page.driver.find_element(By.TAG_NAME, "html")
                if self.page.run("return document.getElementById('events').value") != event:
                    select.select_by_value(event)
                    WebDriverWait(self.page.driver, 60).until(staleness_of(before))
                self.loaded()
                self.assertEqual(self.page.run("return document.getElementById('events').value"), event)
                titles[event] = self.text("title")
                self.assertGreater(self.pixels(), 2)
                self.id("tab-table").click()
                self.id("tab-graph").click()
                self.page.run("document.querySelector('#graph canvas').focus()")
                self.keys(Keys.HOME, Keys.ARROW_UP)
                for _ in range(5):
                    if self.details().startswith(row + " "):
                        break
                    self.keys(Keys.ARROW_RIGHT)
                self.assertIn(f"{row} – ", self.details())
                self.assertIn(told, self.details())
        self.assertEqual([titles[event].split(" flame graph")[0] for event in ("cpu-clock", "offcpu", "wall", "page-faults")],
                         ["CPU", "Off-CPU", "Wall-clock", "page-faults"])

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
        self.assertTrue(any(re.match(r"Trie::walk – .*, 451 samples", text) for text in seen), seen)

    def test_search_counts_time_once_and_falls_back_to_text(self):
        self.open()
        self.keys("/", "trie::walk")
        self.assertEqual(self.text("result"), "matched 14.49 %")
        self.id("case").click()
        self.assertEqual(self.text("result"), "no match")
        self.id("case").click()
        self.page.run("const s = document.getElementById('search'); s.value = ''; s.focus()")
        self.keys("[checkout")
        self.assertEqual(self.text("result"), "matched 43.70 % (as text)")
        self.keys(Keys.ESCAPE)
        self.assertEqual(self.text("result"), "")

    def test_search_finds_what_is_shown_and_goes_from_match_to_match(self):
        self.open()
        self.keys("/", "string_view")  # stands in template arguments and parameters alone
        self.assertEqual(self.text("result"), "no match")
        self.assertEqual(self.text("found"), "")
        self.page.run("const s = document.getElementById('search'); s.value = ''; s.focus()")
        self.keys("trie::walk")
        self.assertEqual((self.text("result"), self.text("found")), ("matched 14.49 %", "5 boxes"))
        for keys, place in ((Keys.ENTER, "1"), (Keys.ENTER, "2"), ("n", "3"), ("N", "2")):
            if keys == "n":
                self.page.run("document.querySelector('#graph canvas').focus()")
            self.keys(keys)
            self.assertEqual(self.text("found"), f"{place} of 5 boxes")
            self.assertIn("Trie::walk", self.details())
        self.id("next").click()
        self.assertEqual(self.text("found"), "3 of 5 boxes")

    def test_keys_work_without_a_click_and_are_listed(self):
        self.open()
        self.keys(Keys.ARROW_UP)
        self.assertIn("worker – ", self.details())
        self.open()
        self.keys("?")
        self.assertIn("Next and previous match", self.id("keys").text)
        self.assertIn("Fold glue", self.id("keys").text)
        self.keys(Keys.ESCAPE)
        self.assertFalse(self.id("keys").is_displayed())
        # From the graph Escape ends a search, too.
        self.open(fragment="#s=map::find")
        self.keys(Keys.ARROW_UP, Keys.ESCAPE)
        self.assertEqual(self.text("result"), "")

    def test_keys_work_behind_a_button_and_in_every_view(self):
        self.open()
        pressed = lambda name: self.id(name).get_attribute("aria-pressed")
        self.id("own").click()
        self.keys(Keys.SHIFT)
        self.assertEqual(self.page.run("return document.activeElement.id"), "own")  # as Shift-Tab needs it
        self.keys("g")
        self.assertEqual(pressed("fold"), "true")
        self.id("own").click()
        self.keys(Keys.ARROW_UP)
        self.assertIn("worker – ", self.details())
        for view in ("tree", "table", "sandwich"):
            self.open(fragment="#view=" + view)
            self.keys("w")
            self.assertEqual(pressed("own"), "true", view)
            self.keys("u")
            self.assertEqual(pressed("own"), "false", view)
            self.keys("?")
            self.assertTrue(self.id("keys").is_displayed(), view)
            self.keys(Keys.ESCAPE)

    def test_the_end_of_the_heaviest_path_is_in_sight(self):
        self.page.size(1300, 420)
        self.open()
        texts = [text for text, _ in self.drawn()]
        self.assertIn("std::map::find", texts)  # of worker, which has most of the time
        self.assertIn("all", texts)
        scrolled = lambda: self.page.run("const g = document.getElementById('graph'); return g.scrollHeight - g.clientHeight - g.scrollTop")
        # By whole rows: the root's would cut the name of the row beside it.
        for height in (390, 400):
            self.page.size(1300, height)
            self.open("branches.html")
            self.assertEqual(scrolled() % 19, 0, height)
        # Where that has room already, nothing is scrolled.
        self.page.size(1300, 800)
        self.open()
        self.assertEqual(scrolled(), 0)

    def test_rows_of_threads_stay_in_sight(self):
        self.page.size(1300, 520)
        for fragment, edge in (("", -1), ("#i=1", 1)):
            self.open("branches.html", fragment)
            self.page.run("const g = document.getElementById('graph'); g.scrollTop = arguments[0] < 0 ? 0 : 1e9", edge)
            texts = [text for text, _ in self.drawn()]
            self.assertIn("main", texts)
            self.assertNotIn("level_2", texts)
            canvas = self.page.driver.find_element(By.CSS_SELECTOR, "#graph canvas")
            far = canvas.size["height"] // 2
            for row, name in ((0, "all"), (1, "main")):
                ActionChains(self.page.driver).move_to_element_with_offset(canvas, 0, -edge * int(far - 19 * (row + .5))).perform()
                self.assertTrue(self.details().startswith(name + " – "), (fragment, row, self.details()))
        # What the keys lead to does not stop below them.
        self.open("branches.html")
        self.page.run("document.getElementById('graph').scrollTop = 0")
        self.keys(Keys.HOME, Keys.ARROW_UP, Keys.ARROW_UP)
        self.assertIn("level_0", [text for text, _ in self.drawn()])

    def test_a_process_with_threads_of_its_name_is_one_row(self):
        self.open("processes.html")
        texts = [text for text, _ in self.drawn()]
        self.assertEqual([text for text in texts if re.match("cc1|make", text)], ["cc1 × 2"])
        self.over_row(1).perform()
        self.settle()
        self.assertEqual(self.id("tip").text.split("\n")[-1], "process")

    def test_nothing_jumps(self):
        self.open()
        place = "const r = document.querySelector('#graph canvas').getBoundingClientRect(); return [r.top, r.height]"
        before = self.page.run(place)
        self.keys(Keys.ARROW_UP, Keys.ENTER)
        self.assertTrue(self.id("reset").is_displayed())
        self.assertEqual(self.page.run(place), before)
        # A search's words stand beside the title.
        for width in (1300, 1000, 700):
            self.page.size(width, 800)
            self.open()
            before = self.page.run(place)
            self.keys("/", "e")
            self.assertEqual(self.page.run(place), before, width)
        # What is opened below takes rows from the graph's far end.
        self.page.size(1300, 500)
        self.page.driver.find_element(By.CSS_SELECTOR, ".facts summary").click()
        self.settle()
        self.over_row(0).perform()
        self.assertIn("all – ", self.details())

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
        self.assertGreater(int(self.page.driver.find_element(By.ID, "functions").get_attribute("aria-rowcount")), 20000)
        self.assertLess(len(self.rows()), 80)
        self.open("large.html", "#chains=0")
        canvas = self.page.driver.find_element(By.CSS_SELECTOR, "#graph canvas")
        self.assertLess(canvas.size["height"], 800)
        self.assertGreater(self.page.run("return document.querySelector('#graph').scrollHeight"), 19 * 5000)
        self.assertGreater(self.pixels(), 3)

    def test_paper_shows_all_rows_in_ink_on_white(self):
        self.page.size(1300, 420)
        self.page.dark(True)
        self.open()
        canvas = self.page.driver.find_element(By.CSS_SELECTOR, "#graph canvas")
        rows = self.page.run("return parseFloat(document.querySelector('#graph .spacer').style.height)")
        self.assertLess(canvas.size["height"], rows)
        self.page.run("dispatchEvent(new Event('beforeprint'))")
        self.assertEqual(canvas.size["height"], rows)
        self.assertEqual(self.page.run("return getComputedStyle(document.body).backgroundColor"), "rgb(253, 252, 250)")
        self.assertFalse(self.id("tab-table").is_displayed())
        self.page.run("dispatchEvent(new Event('afterprint'))")
        self.assertLess(canvas.size["height"], rows)
        self.assertEqual(self.page.run("return getComputedStyle(document.body).backgroundColor"), "rgb(27, 26, 25)")
        pdf = self.page.driver.execute_cdp_cmd("Page.printToPDF", {})
        self.assertGreater(len(pdf["data"]), 10_000)

    def test_a_screen_reader_is_told(self):
        self.open("times.html")
        tree = self.page.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        told = [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in tree if not node.get("ignored")]
        for role, name in told:
            if role in ("button", "tab", "combobox", "textbox", "application", "menuitem", "table", "grid"):
                self.assertTrue(name, role)
        names = {name for _, name in told}
        self.assertLessEqual({"Flame graph", "Functions", "Callers and callees", "Search functions, regular expression", "Thread"}, names)
        self.assertEqual(len([name for role, name in told if role == "application" and ". Arrow keys " in name]), 2)
        # All that is read stands in a landmark, and a table's heads belong to its rows.
        outside = self.page.run("""return Array.from(document.querySelectorAll('body *')).filter((one) => one.checkVisibility() && one.childElementCount === 0 && one.textContent.trim() &&
          !one.closest('script, style, header, main, footer, aside, [role=region][aria-label], #menu')).map((one) => one.outerHTML.slice(0, 100))""")
        self.assertEqual(outside, [])
        self.id("tab-table").click()
        parent = lambda role: "return Array.from(document.querySelectorAll('#table-view [role=" + role + "]'), (one) => one.parentElement.closest('[role]:not([role=presentation])').getAttribute('role'))"
        self.assertEqual(set(self.page.run(parent("columnheader"))), {"row"})
        self.assertEqual(self.page.run(parent("row"))[:2], ["grid", "rowgroup"])
        self.assertEqual(set(self.page.run(parent("rowgroup"))), {"grid"})
        self.id("tab-graph").click()
        self.settle()
        # What the keys come to is announced, and all controls can be reached by them.
        self.assertEqual(self.id("details").get_attribute("aria-live"), "polite")
        self.assertEqual(self.id("result").get_attribute("aria-live"), "polite")
        self.page.run("document.body.focus(); document.activeElement.blur()")
        reached = set()
        for _ in range(30):
            self.keys(Keys.TAB)
            reached.add(self.page.run("const e = document.activeElement; return e.id || e.parentNode.parentNode.id || e.localName"))
        self.assertLessEqual({"search", "case", "theme", "tab-graph", "icicle", "reverse", "chart", "fold", "threads", "graph"}, reached)

    def test_the_root_row_stays_in_sight(self):
        self.page.size(900, 420)
        self.open()
        self.page.run("document.querySelector('#graph').scrollTop = 0")
        self.settle()
        # The last row of the canvas is the root's: pale, over the whole width.
        self.assertEqual(self.page.run("""const c = document.querySelector('#graph canvas'), p = c.getContext('2d');
          const row = p.getImageData(0, c.height - 6, c.width, 1).data, at = (x) => row.slice(x * 4, x * 4 + 4).join();
          return [at(c.width - 20) === at(c.width / 2 | 0), at(c.width - 20)]"""), [True, "230,227,222,255"])

    def test_a_thread_in_the_order_of_time(self):
        self.open("times.html")
        self.page.run("document.querySelector('#graph canvas').focus()")
        self.keys("y")
        self.assertEqual(self.id("chart").get_attribute("aria-pressed"), "true")
        self.assertIn("In time order: worker (4712)", self.text("caption-before"))
        self.assertGreater(self.pixels(), 5)
        self.page.run("document.querySelector('#graph canvas').focus()")
        self.keys(*[Keys.ARROW_UP] * 6)
        # Each stack is in one step of ten; by name Cart::total would come first, but it is the last.
        seen = [self.details().split(" – ")[0]]
        for _ in range(2):
            self.keys(Keys.ARROW_RIGHT)
            seen.append(self.details().split(" – ")[0])
        self.assertEqual(seen, ["Json::dump", "entry_SYSCALL_64", "Cart::total"])
        self.assertIn("y=1", self.page.run("return location.hash"))
        # Drawn over, a stretch fills the view, and its detail is that of its length; Escape shows all again.
        column = lambda: re.search(r"each (column of [\d.]+ \w+|box)", self.text("caption-before"))[1]
        whole, canvas = column(), self.page.driver.find_element(By.CSS_SELECTOR, "#graph canvas")
        ActionChains(self.page.driver).move_to_element_with_offset(canvas, -200, 0).click_and_hold().move_by_offset(60, 0).release().perform()
        self.settle()
        self.assertTrue(self.id("reset").is_displayed())
        # The address has it, as that of a link.
        hash_ = self.page.run("return location.hash")
        self.assertRegex(hash_, r"z=\d+\.\d+")
        self.open("times.html", hash_)
        self.assertTrue(self.id("reset").is_displayed())
        self.assertIn(whole, ("box", column()) if whole == "box" else (whole,))
        self.keys(Keys.ESCAPE)
        self.assertFalse(self.id("reset").is_displayed())
        self.keys("y")
        self.assertEqual(self.id("chart").get_attribute("aria-pressed"), "false")

    def test_a_strip_leads_to_its_thread_in_the_order_of_time(self):
        self.open("times.html")
        strips = self.page.driver.find_element(By.CSS_SELECTOR, "#times canvas")
        ActionChains(self.page.driver).move_to_element_with_offset(strips, 10 - strips.size["width"] // 2, 8 + 22 - strips.size["height"] // 2).click().perform()
        self.settle()
        second = self.text("caption-before")
        self.assertRegex(second, r"^In time order: \w+")
        self.keys("y")
        self.page.run("document.querySelector('#times canvas').focus()")
        self.keys(Keys.ARROW_DOWN, Keys.ENTER)
        first = self.text("caption-before")
        self.assertRegex(first, r"^In time order: \w+")
        self.assertNotEqual(first, second)
        # Of a scope the thread that has most of it, and only what is in it.
        self.keys("y")
        Select(self.id("scopes")).select_by_visible_text("[checkout]")
        self.id("chart").click()
        self.settle()
        self.assertRegex(self.text("caption-before"), r"^In time order: worker \(4712\), in \[checkout\]; ")
        Select(self.id("scopes")).select_by_value("")
        # From a box: the thread that has most of it.
        self.id("chart").click()
        self.settle()
        self.page.run("document.querySelector('#graph canvas').focus()")
        self.keys(Keys.ARROW_UP, "y")
        self.assertEqual(self.id("chart").get_attribute("aria-pressed"), "true")
        self.assertIn("lane=", self.page.run("return location.hash"))

    def test_waits_stand_in_the_order_of_time_too(self):
        self.open("waits.html", "#y=1")
        self.page.driver.execute_async_script("setTimeout(arguments[0], 300)")
        self.assertIn("CPU time and waiting", self.text("times"))
        thread = next(one for one in Select(self.id("threads")).options if one.text.startswith("server"))
        Select(self.id("threads")).select_by_value(thread.get_attribute("value"))
        self.settle()
        self.over_row(0).perform()
        waits = self.page.run("return document.querySelector('#threads').selectedOptions[0].text")
        self.assertNotEqual(self.details().split(" – ")[1].split(" (")[0], waits.split(", ")[1], "the chart's whole has the waiting as well")

    def test_a_recursion_is_one_box_until_it_is_opened(self):
        self.open("recursion.html")
        self.over_row(4).perform()
        self.settle()
        self.assertIn("Parser::value, Parser::array × 300", self.details())
        self.assertIn("599 levels of a recursion", self.details())
        self.over_row(5).perform()
        self.settle()
        self.assertIn("strtod – 1,198 samples", self.details())
        # Opened, its beginning is in sight.
        self.over_row(4).click().perform()
        self.settle()
        canvas = self.page.driver.find_element(By.CSS_SELECTOR, "#graph canvas")
        for row, name in ((3, "parse"), (4, "Parser::value"), (5, "Parser::array"), (6, "Parser::value")):
            ActionChains(self.page.driver).move_to_element_with_offset(canvas, 0, int(canvas.size["height"] / 2 - 19 * (row + .5))).perform()
            self.assertTrue(self.details().startswith(name + " – "), self.details())

    def test_names_in_the_answer_lead_to_their_boxes(self):
        self.open("demo.html")
        links = self.page.driver.find_elements(By.CSS_SELECTOR, "#answer a")
        self.assertEqual([one.text for one in links], ["Worker::loop", "Cart::total", "Index::lookup", "EventLoop::run"])
        links[1].click()
        self.settle()
        self.assertTrue(self.id("reset").is_displayed())
        self.assertTrue(self.details().startswith("Cart::total – "), self.details())
        self.assertEqual(self.page.run("return document.activeElement.parentNode.parentNode.id"), "graph")

    def test_a_high_graph_opens_where_the_answer_begins(self):
        # Main is named, and calls what is too high for the window.
        self.page.size(900, 480)
        self.open("kernel.html", "#chains=0")
        hidden, scrolled = self.page.run("const {scrollHeight, clientHeight, scrollTop} = document.querySelector('#graph'); return [scrollHeight - clientHeight, scrollHeight - clientHeight - scrollTop]")
        self.assertGreater(hidden, 100)
        self.assertLess(scrolled, 1)

    def test_a_function_opens_in_the_editor_that_the_reader_chose(self):
        self.open("editor.html")
        self.page.run("localStorage.clear(); document.querySelector('#graph canvas').focus()")
        self.keys(Keys.ARROW_UP, Keys.ARROW_UP)
        self.keys("e")  # none is chosen yet
        self.assertEqual(self.page.run("return document.activeElement.id"), "editor")
        self.keys("kate -l {line} {file}", Keys.ENTER, Keys.ESCAPE)
        self.open("editor.html")
        self.page.run("document.querySelector('#graph canvas').focus()")
        self.keys(Keys.ARROW_UP, Keys.ARROW_UP)
        self.keys("e")
        self.assertRegex(self.details(), r"^copied: kate -l 7 /.*make-pictures$")
        self.page.run("localStorage.clear()")

    def test_samples_are_counted_and_weights_are_time(self):
        # A sample is four periods: samples are a quarter, shares and times are the same. All of it in the views that count.
        self.open("weighted.html")
        self.over_row(0).perform()
        self.assertIn("all – 31.43 s (100.00 %), ", self.details())
        self.over_row(1).perform()
        self.assertIn("server – 9.33 s (29.69 %), self 0, 232 samples", self.details())
        self.page.run("document.getElementById('tab-table').click()")
        title = self.page.run("return document.querySelector('.body .line .cell').title")
        self.assertRegex(title, r"^5\.66 s, 140 samples$")
        self.assertEqual(self.page.run("return document.querySelector('.body .line .cell span').dataset.time"), "5.657 s")
        self.page.run("document.querySelector('.body .line').click()")
        self.assertIn(", 237 samples, ", self.text("chosen-numbers"))
        self.open("weighted-times.html", "#y=1&t=1")
        self.over_row(0).perform()
        self.assertIn(" 364 samples", self.details())

    def test_source_lines_and_instructions_have_their_samples(self):
        self.open("demo.html")
        self.assertFalse(self.id("tab-source").is_displayed())
        self.open("source.html")
        self.id("tab-source").click()
        self.settle()
        row = lambda text: next(one.text for one in self.page.driver.find_elements(By.CSS_SELECTOR, "#source-body .row") if text in one.text)
        lines = self.id("source-body").text
        self.assertIn('if (text == "</script><b>") return 1;', lines)
        self.assertRegex(row("</script>"), r"^10\.64 %\s+10\.64 %\s+42\s+if")
        self.assertRegex(row("done"), r"^3\.08 %\s+44\s")
        self.assertIn("↳ std::char_traits::compare", lines)
        self.assertRegex(row("memcmp"), r"^3\.08 %\s+3\.08 %\s+388\s+return")
        # A sample may stand for several periods: the number is that of the samples.
        titles = self.page.run("return Array.from(document.querySelectorAll('#source-body .row'), (row) => row.title)")
        self.assertTrue(any(re.search(r"\), 110 samples$", title) for title in titles), titles)
        self.assertTrue(any(re.search(r"::compare.*, 32 samples$", title) for title in titles), titles)
        self.assertIn("⋯", lines)
        self.assertIn("the last note", self.text("source-place"))
        self.id("source-code").click()
        self.settle()
        self.assertRegex(row("cmp eax"), r"^13\.72 %\s+1001\s+cmp eax, 0x3c$")
        self.assertIn("code=1", self.page.run("return location.hash"))
        # From a frame, by its key.
        self.open("source.html", "#s=Parser")
        self.page.run("document.querySelector('#graph canvas').focus()")
        self.keys("s")
        self.assertTrue(self.id("graph-view").is_displayed())  # of all there is no source

    def test_hostile_names_are_text(self):
        self.open("hostile.html")
        self.assertEqual(self.page.run("return window.broken ?? 'intact'"), "intact")
        self.id("tab-table").click()
        self.id("long").click()
        names = [row[2] for row in self.rows()]
        self.assertIn("</script><script>window.broken = 1</script>", names)
        self.assertIn("__proto__", names)

    def test_a_strict_policy_allows_all_of_it(self):
        with open(os.path.join(PICTURES, "demo.html"), encoding="utf-8") as file:
            page = file.read()
        own = re.search(r'<meta http-equiv="Content-Security-Policy" content="(.*?)">', page)
        self.assertIn("default-src 'none'", own[1])
        self.assertNotIn("unsafe", own[1])
        page = page.replace(own[0], "")
        policy = strict_policy({"style": re.findall(r"<style>(.*?)</style>", page, re.S), "script": re.findall(r"<script>(.*?)</script>", page, re.S)})
        with open(os.path.join(PICTURES, "policy.html"), "w", encoding="utf-8") as file:
            file.write(page.replace('<meta charset="utf-8">', '<meta charset="utf-8">' + policy))
        self.open("policy.html")
        self.assertGreater(self.pixels(), 15)
        self.id("tab-table").click()
        self.assertGreater(len(self.rows()), 10)

    def test_names_are_short_and_whole_on_demand(self):
        self.open(fragment="#view=table")
        self.assertIn("std::map::find", {row[2] for row in self.rows()})
        for switch in (lambda: self.id("long").click(), lambda: self.keys("l")):
            self.assertFalse(any(row[2].startswith("std::map<") for row in self.rows()))
            switch()
            self.assertTrue(any(row[2].startswith("std::map<std::string, Item, std::less<std::string>") for row in self.rows()))
            self.assertIn("long=1", self.page.run("return location.hash"))
            self.keys("l")

    def drawn(self):
        """What the graph writes: every label."""
        self.page.run("""window.drawn = [], window.tops = []; const prototype = CanvasRenderingContext2D.prototype;
          window.fillText ??= prototype.fillText;
          prototype.fillText = function (text, x, y) { window.drawn.push([text, x]); window.tops.push(y - 13.5); window.fillText.call(this, text, x, y); };
          document.querySelector('#graph canvas').dispatchEvent(new MouseEvent('mouseleave'));""")
        self.settle()
        return self.page.run("return window.drawn")

    def test_no_row_is_cut_by_the_edge(self):
        for height in range(560, 580, 3):
            self.page.size(1300, height)
            self.open("large.html", "#chains=0")
            self.drawn()
            tops = self.page.run("return window.tops")
            self.assertGreater(len(tops), 10)
            self.assertGreaterEqual(min(tops), 0)

    def test_a_box_that_begins_outside_has_its_label_where_it_comes_into_sight(self):
        self.open()
        canvas = self.page.driver.find_element(By.CSS_SELECTOR, "#graph canvas")
        # Ctrl and the wheel zoom about the pointer.
        self.page.run("""const area = arguments[0].getBoundingClientRect();
          for (let turn = 0; turn < 3; turn++) arguments[0].dispatchEvent(new WheelEvent('wheel', {clientX: area.left + area.width / 2, clientY: area.top + 9, deltaY: -300, ctrlKey: true, bubbles: true, cancelable: true}))""", canvas)
        self.assertIn(["worker", 4], self.drawn())
        self.assertTrue(self.id("reset").is_displayed())

    def test_cutting_away(self):
        self.page.size(1300, 1600)
        self.open(fragment="#view=table&chains=0")
        whole = {row[2]: row[:2] for row in self.rows()}
        self.open(fragment="#focus=Cart")
        self.assertIn("(35.09 %), 1,092 samples", self.text("share"))
        self.id("tab-table").click()
        self.assertEqual({row[2]: row[1] for row in self.rows()}["Cart::total"], "100.00 %")
        self.open(fragment="#view=table&ignore=^Cart")
        self.assertIn("(64.91 %), 2,020 samples", self.text("share"))
        self.assertNotIn("Cart::total", {row[2] for row in self.rows()})
        # What is hidden is its caller's own: malloc's and _int_malloc's time becomes operator new's.
        self.open(fragment="#view=table&chains=0&hide=malloc")
        rows = {row[2]: row[:2] for row in self.rows()}
        self.assertNotIn("malloc", rows)
        self.assertEqual(rows["operator new"], [whole["_int_malloc"][0], whole["operator new"][1]])
        self.page.driver.find_element(By.CSS_SELECTOR, "#chips button").click()
        self.settle()
        self.assertEqual({row[2]: row[:2] for row in self.rows()}, whole)
        # The kernel's functions, by the end of their names in folded text.
        self.open(fragment="#view=table&chains=0&hide=_%5C%5Bk%5C%5D$")
        rows = {row[2]: row[:2] for row in self.rows()}
        self.assertEqual(set(whole) - set(rows), {"entry_SYSCALL_64", "do_syscall_64", "do_epoll_wait", "tcp_recvmsg", "futex_wait"})
        self.assertEqual(rows["recv"], [whole["recv"][1]] * 2)
        self.open(fragment="#view=table&inlined=0")
        rows = {row[2]: row[:2] for row in self.rows()}
        self.assertNotIn("Json::escape", rows)
        self.assertEqual(rows["Json::dump"], ["8.55 %", "8.61 %"])

    def test_what_the_picture_folds_is_one_row(self):
        self.page.size(1300, 1600)
        self.open(fragment="#view=table&chains=0")
        every = {row[2]: row[:2] for row in self.rows()}
        self.open(fragment="#view=table")
        rows = {row[2]: row[:2] for row in self.rows()}
        self.assertEqual(rows["[malloc and free]"][1], every["operator new"][1])
        self.assertEqual(rows["[kernel]"], [every["entry_SYSCALL_64"][1]] * 2)
        self.assertFalse({"operator new", "malloc", "entry_SYSCALL_64", "do_epoll_wait"} & set(rows))
        # It has callers, as a function has; a search finds what it contains.
        self.page.driver.find_element(By.XPATH, "//*[@id='functions']//*[@role='row'][contains(., '[malloc and free]')]").click()
        self.settle()
        self.assertEqual(self.text("chosen"), "[malloc and free]")
        self.assertIn(rows["[malloc and free]"][1], self.text("chosen-numbers"))
        self.open(fragment="#view=table&s=_int_malloc")
        self.assertEqual({row[2] for row in self.rows()}, {"_int_malloc"})

    def test_the_menu_does_what_its_letters_do(self):
        self.open(fragment="#names=1")
        self.over_row(1).context_click().perform()
        self.assertEqual(self.page.run("return document.activeElement.getAttribute('role')"), "menuitem")
        listed = self.page.run("return Array.from(document.querySelectorAll('#menu button'), (one) => one.hidden ? '' : one.firstChild.textContent).filter(Boolean)")
        self.assertEqual(listed[0], "Zoom")
        self.assertLessEqual(len(listed), 7)
        self.keys(Keys.ESCAPE)
        self.assertTrue(self.page.run("return document.getElementById('menu').hidden"))
        # All letters work in it; in a low window it scrolls.
        self.over_row(1).context_click().perform()
        self.keys("w")
        self.assertEqual(self.id("own").get_attribute("aria-pressed"), "true")
        self.assertTrue(self.page.run("return document.getElementById('menu').hidden"))
        self.keys("w")
        self.page.size(1300, 420)
        canvas = self.page.driver.find_element(By.CSS_SELECTOR, "#graph canvas")
        self.page.driver.execute_script("arguments[0].scrollIntoView({block: 'end'})", canvas)  # the answer stands above it
        ActionChains(self.page.driver).move_to_element_with_offset(canvas, 0, canvas.size["height"] // 2 - 28).context_click().perform()
        self.assertLessEqual(self.page.run("return document.getElementById('menu').getBoundingClientRect().bottom"), 420)
        self.keys(Keys.ARROW_UP)  # to the last
        last = self.page.run("const {bottom} = document.activeElement.getBoundingClientRect(); return [document.activeElement.textContent, bottom]")
        self.assertIn("Show everything again", last[0])
        self.assertLessEqual(last[1], 420)
        self.keys(Keys.ESCAPE)
        self.page.size(1300, 800)
        self.page.driver.execute_script("scrollTo(0, 0)")
        self.over_row(5).context_click().perform()
        self.page.driver.find_element(By.XPATH, "//*[@role='menuitem']/span[starts-with(text(), 'Focus')]").click()
        self.settle()
        self.assertIn("[checkout]", self.text("chips"))
        self.assertIn(", 1,360 samples", self.text("share"))
        self.page.run("document.querySelector('#graph canvas').focus()")
        self.keys("u")
        self.assertEqual(self.text("share"), "")
        self.keys("g")
        self.assertEqual(self.id("fold").get_attribute("aria-pressed"), "true")
        texts = [text for text, _ in self.drawn()]
        self.assertNotIn("start_thread", texts)
        self.assertIn("Worker::loop", texts)
        # Four frames of one recursion are one box.
        self.assertEqual(texts.count("Trie::walk"), 1)

    def test_frames_that_only_lead_on_are_one_row(self):
        self.open("large.html")
        texts = [text for text, _ in self.drawn()]
        self.assertIn("recursion0, … × 2,000", texts)
        self.assertNotIn("recursion0", texts)
        self.assertLess(self.page.run("return document.querySelector('#graph').scrollHeight"), 700)
        # A click shows them, and a search finds them before that.
        self.keys("/", "recursion0")
        self.assertEqual(self.text("result"), "matched 54.55 %")
        self.keys(Keys.ESCAPE)
        canvas = self.page.driver.find_element(By.CSS_SELECTOR, "#graph canvas")
        self.over_row_of_folded_frames(canvas).click().perform()
        self.settle()
        self.assertIn("recursion0", [text for text, _ in self.drawn()])
        self.assertGreater(self.page.run("return document.querySelector('#graph').scrollHeight"), 19 * 5000)
        # The table that was above the graph is gone, and no word of it lies over what takes its place.
        self.assertFalse(self.page.run("""const button = document.querySelector('#beside .head button'), {x, y, width, height} = button.getBoundingClientRect();
          return document.elementsFromPoint(x + width / 2, y + height / 2).includes(button)"""))
        # By a key all at once, in the address too.
        self.keys("x")
        self.assertIn("chains=0", self.page.run("return location.hash"))

    def test_the_kernel_is_one_row_until_asked_for(self):
        self.open("kernel.html")
        texts = lambda: [text for text, _ in self.drawn()]
        self.assertIn("… kernel: write", texts())
        self.assertNotIn("entry_SYSCALL_64", texts())
        self.over_row(6).perform()
        self.settle()
        self.assertEqual(self.id("tip").text.split("\n"), ["entry_SYSCALL_64 › do_syscall_64 › ksys_write › vfs_write › tcp_sendmsg", "in the kernel, 900 samples (89.55 %)",
                                                           "click or Enter shows its frames"])
        self.keys("/", "net_rx")
        self.assertEqual((self.text("result"), self.text("found")), ("matched 59.70 %", "1 box"))
        self.keys(Keys.ESCAPE)
        self.over_row(6).click().perform()
        self.settle()
        self.assertIn("net_rx", texts())
        self.assertIn("entry_SYSCALL_64", texts())
        # It stays open when the boxes are made anew, and the key of chains folds it again.
        self.id("no-inlined").click()
        self.settle()
        self.assertIn("net_rx", texts())
        self.keys("x", "x")
        self.assertIn("… kernel: write", texts())

    def over_row_of_folded_frames(self, canvas):
        size = canvas.size
        return ActionChains(self.page.driver).move_to_element_with_offset(canvas, -size["width"] // 4, size["height"] // 2 - int(19 * 2.5))

    def test_own_code_alone(self):
        self.open()
        self.id("own").click()
        self.settle()
        texts = [text for text, _ in self.drawn()]
        self.assertIn("Cart::total", texts)
        self.assertIn("std::map::find", texts)
        for inner in ("…less::operator()", "start_thread", "clone3"):
            self.assertNotIn(inner, texts)
        # What a library's function calls in libraries is its own time.
        self.id("tab-table").click()
        rows = {row[2]: row[:2] for row in self.rows()}
        self.assertNotIn("std::less::operator()", rows)
        self.assertIn("own=1", self.page.run("return location.hash"))

    def test_roots_stand_at_the_bottom_of_the_page(self):
        self.page.size(1300, 1200)
        self.open(fragment="#few=0")
        ActionChains(self.page.driver).move_to_element_with_offset(self.page.driver.find_element(By.CSS_SELECTOR, "#graph canvas"), 0, 0).perform()
        self.assertIn("Point at a box", self.details())
        self.over_row(0).perform()
        self.assertIn("all – ", self.details())

    def test_the_root_stays_in_sight(self):
        self.open("large.html")
        self.page.run("document.getElementById('graph').scrollTop = 0")
        self.settle()
        height = self.page.run("return document.querySelector('#graph canvas').clientHeight")
        canvas = self.page.driver.find_element(By.CSS_SELECTOR, "#graph canvas")
        ActionChains(self.page.driver).move_to_element_with_offset(canvas, 0, height // 2 - 9).perform()
        self.assertIn("all – 55,000 samples", self.details())

    def test_narrow_frames_are_found_by_zooming_in(self):
        self.open("large.html", "#chains=0&names=1")
        self.page.run("document.getElementById('graph').scrollTop = 1e9")  # down to the roots
        self.settle()
        self.over_row_of_flat_frames().perform()
        self.assertRegex(self.details(), r"^[\d,]+ frames too narrow to draw")
        self.over_row_of_flat_frames().click().perform()
        for _ in range(6):
            self.page.driver.execute_async_script("setTimeout(arguments[0], 250)")
            self.over_row_of_flat_frames().perform()
            if self.details().startswith("function"):
                break
            self.over_row_of_flat_frames().click().perform()
        self.assertRegex(self.details(), r"^function\d+ – 1 sample \(<0.01 %\)")

    def over_row_of_flat_frames(self):
        canvas = self.page.driver.find_element(By.CSS_SELECTOR, "#graph canvas")
        size = canvas.size
        return ActionChains(self.page.driver).move_to_element_with_offset(canvas, -size["width"] // 4, size["height"] // 2 - int(19 * 2.5))

    def test_numbers_beside_the_graph_are_whole(self):
        self.page.size(1500, 900)
        self.open()
        cut = self.page.run("""const cell = document.querySelector('#beside .body .cell.total');
          Object.assign(cell.querySelector('span').dataset, {time: '12 min 17 s'});
          cell.querySelector('span').textContent = '35.9 %';
          return cell.scrollWidth - cell.clientWidth""")
        self.assertEqual(cut, 0)

    def test_names_of_a_deep_call_tree_are_in_sight_on_a_phone(self):
        self.page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 390, "height": 760, "deviceScaleFactor": 1, "mobile": True})
        try:
            self.open("branches.html", "#view=tree")
            self.assertIn("▸level_19", [row[-1].replace("…", "") for row in self.rows()])
            self.assertEqual(self.page.run("const body = document.querySelector('#tree .body'); return body.scrollWidth - body.clientWidth"), 0)
        finally:
            self.page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def test_what_fingers_touch_is_large(self):
        cdp = self.page.driver.execute_cdp_cmd
        cdp("Emulation.setDeviceMetricsOverride", {"width": 390, "height": 760, "deviceScaleFactor": 1, "mobile": True})
        cdp("Emulation.setTouchEmulationEnabled", {"enabled": True})
        try:
            for view in ("graph", "tree", "table", "sandwich"):
                self.open("times.html", "#view=" + view)
                self.assertEqual(self.page.run("""return [...document.querySelectorAll('button, select, input, .body .line')]
                  .filter((one) => one.checkVisibility() && !one.closest('.head') && one.offsetHeight < 40).map((one) => one.id || one.className)"""), [])
            self.open("times.html", "#view=table")
            tops = self.page.run("return [...document.querySelectorAll('#functions .body .line')].map((one) => one.offsetTop)")
            self.assertEqual(tops[:3], [0, 40, 80])
        finally:
            cdp("Emulation.setTouchEmulationEnabled", {"enabled": False})
            cdp("Emulation.clearDeviceMetricsOverride", {})

    def test_a_phone_can_read_it(self):
        for view in ("graph", "tree", "table", "sandwich"):
            self.page.size(500, 800)
            self.page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 380, "height": 720, "deviceScaleFactor": 1, "mobile": False})
            try:
                self.open(fragment="#view=" + view)
                self.assertLessEqual(self.page.run("return document.documentElement.scrollWidth"), 380)
                self.assertGreater(self.page.run("return document.querySelector('main').clientHeight"), 250)
                # The buttons of a chosen box stand where the legend was, so that no room is kept for both.
                legend, facts = self.page.run("return ['#legend', '.facts'].map((of) => document.querySelector(of).getBoundingClientRect())")
                self.assertLess(facts["top"] - legend["bottom"], 30)
                if view == "graph":
                    self.assertEqual(self.page.run("return document.querySelector('.actions').getBoundingClientRect().top"), legend["top"])
                    self.keys(Keys.ARROW_UP)
                    self.assertEqual([self.id(one).is_displayed() for one in ("open", "legend")], [True, False])
                if view in ("tree", "table"):  # names are in sight
                    name = self.page.run("const r = document.querySelector(arguments[0] + ' .body .name').getBoundingClientRect(); return [r.left, r.width]", f"#{view}-view")
                    self.assertLess(name[0], 200)
                    self.assertGreater(name[1], 150)
            finally:
                self.page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def test_a_stretch_of_time_can_be_chosen(self):
        self.open()
        self.assertFalse(self.id("times").is_displayed())  # nothing is known of times
        self.open("times.html")
        self.assertTrue(self.id("times").is_displayed())
        canvas = self.page.driver.find_element(By.CSS_SELECTOR, "#times canvas")
        self.assertEqual(self.text("share"), "")
        # The first tenth. Offsets count from the middle.
        start, width = self.axis(canvas)
        tenth = width / 10
        drag = ActionChains(self.page.driver).move_to_element_with_offset(canvas, int(start + 3), -10).click_and_hold()
        drag.move_by_offset(int(tenth / 2), 0).release().perform()
        self.settle()
        self.assertIn("selected: 4.81 s (15.30 %), 476 samples, from 0 s to 1.23 s", self.text("share"))
        self.id("tab-table").click()
        self.assertEqual(self.rows()[0][:3], ["55.88 %", "55.88 %", "Json::escape"])
        self.page.run("arguments[0].focus()", canvas)
        self.keys(Keys.ARROW_RIGHT)
        self.assertIn(" 13 samples,", self.text("share"))
        self.assertIn("time=1-2", self.page.run("return location.hash"))
        self.keys(Keys.ESCAPE)
        self.assertEqual(self.text("share"), "")
        # A finger that begins to scroll the page selects nothing.
        self.page.run("""const canvas = arguments[0], {left, top} = canvas.getBoundingClientRect();
          const send = (type, x) => canvas.dispatchEvent(new PointerEvent(type, {pointerId: 1, clientX: left + x, clientY: top + 9, bubbles: true}));
          canvas.setPointerCapture = () => {};
          send('pointerdown', 20); send('pointermove', 200); send('pointercancel', 200); send('pointerup', 400);""", canvas)
        self.assertEqual(self.text("share"), "")

    def test_strips_take_a_sixth_of_the_window_at_most(self):
        # Of three threads; where two strips have room the second is of the other two.
        for height, strips in ((800, 3), (560, 2)):
            self.page.size(1300, height)
            self.open("times.html")
            used, window = self.page.run("return [document.querySelector('#times canvas').clientHeight, innerHeight]")
            self.assertEqual((used - 18) / 22, strips)
            self.assertLessEqual(used, window / 6)

    def axis(self, canvas):
        """Where the axis of the strips begins, from the middle of their element, and how wide it is."""
        start, width = map(float, canvas.get_attribute("data-axis").split(","))
        return start - canvas.size["width"] / 2, width

    def test_a_strip_tells_of_its_thread_and_of_its_waits(self):
        self.open("waits.html")
        canvas = self.page.driver.find_element(By.CSS_SELECTOR, "#times canvas")
        self.page.driver.execute_async_script("setTimeout(arguments[0], 300)")  # waits are read when the page has been shown
        # No box is a wait, but the strips have its colour.
        self.assertIn("waiting", self.page.run("return Array.from(document.querySelectorAll('#legend span'), (entry) => entry.textContent)"))
        (start, width), height = self.axis(canvas), canvas.size["height"]
        tenth = width / 10

        def told(step, row):
            x, y = start + tenth * (step + .5), 22 * (row + .5) - height / 2
            ActionChains(self.page.driver).move_to_element_with_offset(canvas, int(x), int(y)).perform()
            return self.details()
        first = [told(0, row) for row in range(2)]
        self.assertTrue(first[0].startswith("worker (4712), 0 s to 1.23 s: CPU "), first)
        self.assertTrue(first[1].startswith("server (4711), 0 s to 1.23 s: "), first)
        # A tenth of the run has 1.23 s, so half a second is two fifths of it.
        server = [told(step, 1) for step in range(10)]
        waited = [text for text in server if "waiting" in text]
        self.assertEqual(len(waited), 1, server)
        self.assertRegex(waited[0], r"no CPU time, waiting 40\.\d\d %$")
        # What is told goes with the pointer.
        ActionChains(self.page.driver).move_to_element(self.id("search")).perform()
        self.assertTrue(self.details().startswith("Point at a box"))

    def test_numbers_of_locks_are_whole_beside_long_stacks(self):
        # As page_tables.cpp writes it.
        self.open()
        self.page.run("""document.querySelector('main').insertAdjacentHTML('afterend', '<details class="facts locks" open><summary>Locks</summary><table>' +
          '<tr><th>lock</th><th>waited for</th><th>waits</th><th>longest</th><th>held by, the longest first; what the holder did</th></tr>' +
          '<tr><td>0x7ffc5a86fdb8</td><td>1.07 s</td><td>1,044</td><td>451.6 µs</td><td>' + 'shop::Server::answer < '.repeat(30) + '</td></tr></table></details>')""")
        for width in (1300, 500):
            self.page.size(width, 800)
            heights = self.page.run("return Array.from(document.querySelectorAll('.locks :is(td, th)'), (cell) => cell.firstChild).map((text) => "
                                    "{ const range = document.createRange(); range.selectNode(text); return range.getClientRects().length; })")
            self.assertEqual(heights[:4] + heights[5:9], [1] * 8, width)
            self.assertGreater(heights[9], 1)

    def test_a_heap_says_how_much_was_alive_when(self):
        self.open(os.path.join(PICTURES, "heap.html"))
        canvas = self.page.driver.find_element(By.CSS_SELECTOR, "#alive canvas")
        self.assertEqual(canvas.get_attribute("aria-label"), "Alive over time: at most 2.9 KiB after 1 s, at the end 2 KiB")
        self.assertFalse(self.id("times").is_displayed())
        ActionChains(self.page.driver).move_to_element(canvas).perform()
        self.settle()
        self.assertIn("alive: 2.9 KiB after 1 s; flameprobe-render --event heap-end --to 2s", self.page.run("return document.body.innerText"))
        self.open(os.path.join(PICTURES, "demo.html"))
        self.assertFalse(self.id("alive").is_displayed())

    def test_a_heap_shows_what_was_alive_at_a_moment(self):
        self.open(os.path.join(PICTURES, "heap-steps.html"))
        canvas = self.page.driver.find_element(By.CSS_SELECTOR, "#alive canvas")
        width = canvas.size["width"]

        def pick(second):
            ActionChains(self.page.driver).move_to_element_with_offset(canvas, int(width * (second + .5) / 3 - width / 2), 0).click().perform()
            self.settle()

        self.assertEqual(self.text("share"), "")
        pick(0)
        self.assertEqual(self.text("share"), "alive after 1 s: 64 KiB, 1 sample")
        self.id("search").send_keys("gone")
        self.settle()
        self.assertIn("100.00 %", self.text("result"))
        pick(1)
        self.assertEqual(self.text("share"), "alive after 2 s: 100 KiB, 1 sample")
        self.assertEqual(self.text("result"), "no match")
        canvas.send_keys(Keys.ARROW_LEFT)
        self.settle()
        self.assertEqual(self.text("share"), "alive after 1 s: 64 KiB, 1 sample")
        canvas.send_keys(Keys.ESCAPE)
        self.settle()
        self.assertEqual(self.text("share"), "")
        with self.subTest("how old what is alive at the end is"):
            self.open(os.path.join(PICTURES, "heap-steps.html"))
            self.id("tab-table").click()
            self.settle()
            rows = {row.find_element(By.CSS_SELECTOR, ".name").text: row.find_element(By.CSS_SELECTOR, ".age")
                    for row in self.page.driver.find_elements(By.CSS_SELECTOR, "#functions .body .line")}
            self.assertEqual({name: cell.text for name, cell in rows.items()}, {"stays": "2 s", "late": "500 ms", "comes": "500 ms"})
            self.assertEqual(rows["comes"].get_attribute("title"), "allocated 500 ms before the end in the mean, the oldest 1 s")

    def test_processes_of_a_run_have_one_time_axis(self):
        self.open("processes.html")
        canvas = self.page.driver.find_element(By.CSS_SELECTOR, "#times canvas")
        (start, width), height = self.axis(canvas), canvas.size["height"]

        def told(step, row):
            ActionChains(self.page.driver).move_to_element_with_offset(canvas, int(start + width / 10 * (step + .5)), int(22 * (row + .5) - height / 2)).perform()
            return self.details()
        # The busiest process first, each when it ran.
        self.assertEqual([told(step, 0) for step in (4, 5)], ["cc1 9, 4 s to 5 s: no CPU time", "cc1 9, 5 s to 6 s: CPU 100.00 %"])
        self.assertEqual([told(step, 1) for step in (4, 5)], ["cc1 8, 4 s to 5 s: CPU 75.00 %", "cc1 8, 5 s to 6 s: no CPU time"])
        self.assertEqual(told(0, 2), "make 7, 0 s to 1 s: CPU 10.00 %")
        # A stretch of it is the run's; the flame chart is that of the process that is busiest then.
        self.page.run("document.querySelector('#times canvas').focus()")
        self.keys(Keys.ARROW_RIGHT)
        self.assertIn("selected: 750 ms (10.42 %), 75 samples, from 1 s to 2 s", self.text("share"))
        self.id("chart").click()
        self.assertTrue(self.text("caption-before").startswith("In time order: cc1 8;"), self.text("caption-before"))
        self.page.run("document.querySelector('#times canvas').focus()")
        self.keys(Keys.ESCAPE)
        self.assertTrue(self.text("caption-before").startswith("In time order: cc1 9;"), self.text("caption-before"))

    def test_everything_is_reached_by_keys(self):
        self.open()
        self.id("tab-graph").send_keys(Keys.ARROW_RIGHT)
        self.assertEqual(self.page.run("return document.activeElement.id"), "tab-tree")
        self.id("tab-tree").send_keys(Keys.ARROW_RIGHT)
        self.assertEqual(self.page.run("return document.activeElement.id"), "tab-table")
        self.id("tab-graph").send_keys(Keys.ARROW_LEFT)  # past the tab of what this page has not: source
        self.assertEqual(self.page.run("return document.activeElement.id"), "tab-sandwich")
        self.id("tab-table").click()
        self.id("functions").send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
        chosen = self.page.driver.find_element(By.CSS_SELECTOR, ".body [aria-selected=true]")
        self.assertEqual(self.id("functions").get_attribute("aria-activedescendant"), chosen.get_attribute("id"))
        name = self.rows()[2][2]
        self.assertIn(name, chosen.text)
        self.keys(Keys.ENTER)
        self.assertTrue(self.id("sandwich-view").is_displayed())
        self.assertIn(name.split("::")[-1], self.text("chosen"))
        # The menu of a frame, and what is chosen in it, without a pointer.
        self.open()
        canvas = self.page.driver.find_element(By.CSS_SELECTOR, "#graph canvas")
        self.page.run("arguments[0].focus()", canvas)
        self.keys(Keys.ARROW_UP, Keys.ARROW_RIGHT)
        self.page.run("arguments[0].dispatchEvent(new MouseEvent('contextmenu', {bubbles: true, cancelable: true, button: -1}))", canvas)
        self.keys(Keys.ARROW_DOWN, Keys.ENTER)
        self.assertIn("only with server", self.text("chips"))
        self.assertIn(", 924 samples", self.text("share"))

    def test_licences_of_what_the_script_holds_are_in_it(self):
        with open(os.path.join(PICTURES, "demo.html"), encoding="utf-8") as file:
            script = re.search(r"<script>(.*)</script>", file.read(), re.S)[1]
        comments = re.findall(r"/\*! (\S+) [\d.]+\n(.*?)\*/", script, re.S)
        self.assertEqual([name for name, _ in comments], ["d3-array"])
        self.assertIn("Copyright", comments[0][1])
        self.assertIn("copyright notice and this permission notice appear in all copies", " ".join(comments[0][1].split()))

    def test_without_scripts_there_is_a_table(self):
        self.page.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        try:
            self.page.open(os.path.join(PICTURES, "demo.html"))
            text = self.page.driver.find_element(By.CSS_SELECTOR, "noscript").text
            heights = [self.page.driver.find_element(By.CSS_SELECTOR, of).size["height"] for of in ("noscript", "#preview")]
            colours, shown = self.page.driver.find_element(By.CSS_SELECTOR, "#colours p").text, self.page.driver.find_element(By.CSS_SELECTOR, "#colours rect").is_displayed()
        finally:
            self.page.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
        self.assertIn("4.56 s 14.49 % 4.56 s 14.49 % Trie::walk", text)
        self.assertGreater(min(heights), 200)  # the functions, and the picture
        self.assertTrue(shown)
        self.assertIn("own code", colours)


if __name__ == "__main__":
    unittest.main()
