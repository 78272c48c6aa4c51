#!/usr/bin/env python3
"""Large profiles in a real browser: test_large.py MAKE_PICTURES FLAMEPROBE_RENDER [unittest's options].

Numbers are compared with those of `--top` and with those that are added up here; how long things take is printed only, for
150,000 and 1,000,000 stacks in tools/test all, or as many as FLAMEPROBE_PAGE_STACKS says (numbers with commas between). Times
are worth something on a quiet machine only; LargeTest.test_how_long_many_stacks_take is that part alone.
"""
import collections
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import unittest

from selenium.webdriver.common.by import By

from browser import Browser, cpu_seconds, private_memory

PROGRAM, RENDER = sys.argv.pop(1), sys.argv.pop(1)
FULL_SIZE = os.environ.get("FLAMEPROBE_TESTS") == "all"
STACKS, FUNCTIONS = (150_000, 30_000) if FULL_SIZE else (20_000, 5_000)

# Rows of the table from a height on, as the reader sees them when it is scrolled through: [{name: [self, its title, total,
# its title]}, the next height, or null at the end].
NEXT_ROWS = """const body = document.querySelector('#functions .body'), found = {};
let top = arguments[0];
for (const last = top + 20 * body.clientHeight; top < last && top < body.scrollHeight; top += body.clientHeight) {
  body.scrollTop = top;
  body.dispatchEvent(new Event('scroll'));
  for (const line of body.querySelectorAll('.line')) {
    const [self, total, name] = line.children;
    found[name.title] = [self.textContent, self.title, total.textContent, total.title];
  }
}
return [found, top < body.scrollHeight ? top : null]"""

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


def random_stacks():
    """{stack: samples}: a random walk over call trees, the same every time, with recursions."""
    chance, stacks, stack = random.Random(4), {}, ["worker"]
    while len(stacks) < STACKS:
        del stack[5 + chance.randrange(max(1, len(stack) - 4)):]
        while len(stack) < 14 or len(stack) < 26 and chance.random() < 0.5:
            again = len(stack) > 1 and chance.random() < 0.05
            number = int(chance.choice(stack[1:]).rsplit("_", 1)[1]) if again else chance.randrange(FUNCTIONS)
            stack.append(f"shop::module_{number % 97}::Class<int>::method_{number}")
        stacks.setdefault(tuple(stack), 1 + chance.randrange(50))
    return stacks


def samples_text(number):
    return f"{number:,} sample" + ("" if number == 1 else "s")


def share_text(part, whole):
    share = part / whole * 100
    return "<0.01 %" if 0 < share < 0.005 else ">99.99 %" if 99.995 <= share < 100 else f"{share:.2f} %"


def told_text(part, whole):
    return f"{samples_text(part)} ({share_text(part, whole)})"


class LargeTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="flameprobe-large-")
        self.page = Browser()

    def tearDown(self):
        self.assertEqual(self.page.errors(), [])
        self.page.__exit__()
        self.directory.cleanup()

    def open(self, path):
        self.page.open(path)
        while self.page.driver.find_elements(By.ID, "loading"):
            time.sleep(0.01)

    def search(self, term):
        self.page.run("const s = document.getElementById('search'); s.value = arguments[0]; s.dispatchEvent(new Event('input'))", term)
        return self.page.run("return document.getElementById('result').textContent")

    def same(self, found, expected):
        """As assertEqual, but tells what differs only."""
        self.assertEqual([(name, found.get(name), expected.get(name)) for name in found.keys() | expected.keys() if found.get(name) != expected.get(name)][:10], [])

    def details(self):
        return self.page.run("return document.getElementById('details').textContent")

    def press(self, graph, *keys):
        for key in keys:
            self.page.run("""const canvas = document.querySelector(arguments[0] + ' canvas');
              canvas.dispatchEvent(new KeyboardEvent('keydown', {key: arguments[1], bubbles: true}))""", graph, key)
        return self.details()

    def told(self, graph, *keys):
        """Whole name, samples and share of the frame that keys lead to."""
        name, number, share = re.match(r"(\S+) – ([\d,]+) samples? \((\S+ %)\)", self.press(graph, *keys)).groups()
        return name.replace("::Class::", "::Class<int>::"), int(number.replace(",", "")), share

    def test_every_number_is_the_table_s(self):
        stacks = random_stacks()
        samples, self_, total = sum(stacks.values()), collections.Counter(), collections.Counter()
        for stack, weight in stacks.items():
            self_[stack[-1]] += weight
            total.update(dict.fromkeys(stack, weight))
        path = lambda name: os.path.join(self.directory.name, name)
        with open(path("stacks.folded"), "w", encoding="ascii") as file:
            file.writelines(f"{';'.join(stack)} {weight}\n" for stack, weight in stacks.items())
        table = subprocess.run([RENDER, path("stacks.folded"), "--top", str(2 * FUNCTIONS), "--long-names", "--unfold", "-o", path("stacks.html")], check=True, capture_output=True, text=True)
        rows = re.findall(r"^ *([\d,]+) +([\d.]+)% +([\d,]+) +([\d.]+)%  (\S+)$", table.stdout, re.M)
        self.same({row[4]: (int(row[0].replace(",", "")), int(row[2].replace(",", ""))) for row in rows}, {name: (self_[name], total[name]) for name in total})
        self.assertGreater(len(rows), FUNCTIONS * 0.99)

        self.page.size(1300, 2000)
        self.open(path("stacks.html"))
        # Tooltips: on the way up, of each frame, what has that beginning.
        below = dict(stacks)
        for depth in range(12):
            name, number, share = self.told("#graph", "ArrowUp")
            below = {stack: weight for stack, weight in below.items() if len(stack) > depth and stack[depth] == name}
            expected = sum(below.values())
            self.assertEqual((number, share), (expected, share_text(expected, samples)), name)
            own = sum(weight for stack, weight in below.items() if len(stack) == depth + 1)
            self.assertIn(f"self {share_text(own, samples)}" if own else "self 0", self.details())
        # Search: time counts once, however often matches stand in a stack.
        for term in ("method_", "method_3", "module_7::", "method_(12|2999)$", "_17<int>|method_2999[0-9]"):
            found = re.compile(term)
            marked = {name for name in total if found.search(name.replace("<int>", ""))}  # what is shown
            expected = sum(weight for stack, weight in stacks.items() if not marked.isdisjoint(stack))
            self.assertEqual(self.search(term), f"matched {share_text(expected, samples)}" if expected else "no match", term)
        # The whole table.
        self.search("")
        self.page.run("document.getElementById('tab-table').click()")
        shown, top = {}, 0
        while top is not None:
            rows, top = self.page.run(NEXT_ROWS, top)
            shown.update(rows)
        self.same(shown, {name: [share_text(self_[name], samples), samples_text(self_[name]), share_text(total[name], samples), samples_text(total[name])] for name in total})
        # The table is scrolled to its end now; a search shows its row without waiting for a frame.
        name = max(total)
        found = self.page.run("""const field = document.getElementById('search');
          field.value = arguments[0];
          field.dispatchEvent(new Event('input'));
          return [...document.querySelectorAll('#functions .line[id]')].map((line) => line.children[2].title)""", f"^{re.escape(name.replace('<int>', ''))}$")
        self.assertEqual(found, [name])
        # Callers and callees of what has most of them.
        order = total.most_common()
        for name, _ in order[1:3] + order[5:40:9]:
            self.check_callers_and_callees(name, stacks, samples, self_[name], total[name])

    def check_callers_and_callees(self, name, stacks, samples, self_, total):
        self.page.run("document.getElementById('tab-table').click()")
        self.search("^" + re.escape(name.replace("<int>", "")) + "$")
        self.page.run("document.querySelector('#functions .line[id]').click()")  # in one step: a frame may draw the row anew
        numbers = self.page.run("return document.getElementById('chosen-numbers').textContent")
        self.assertTrue(numbers.startswith(f"{told_text(total, samples)}, self {share_text(self_, samples) if self_ else '0'}"), numbers)
        callers, callees = collections.Counter(), collections.Counter()
        for stack, weight in stacks.items():
            if name not in stack:
                continue
            at = stack.index(name)
            callers[stack[at - 1]] += weight
            if at + 1 < len(stack):
                callees[stack[at + 1]] += weight
        for graph, out, expected in (("#callers", "ArrowUp", callers), ("#callees", "ArrowDown", callees)):
            self.assertEqual(self.told(graph, "Home"), (name, total, share_text(total, samples)))
            for step in [out] + ["ArrowRight"] * 4:
                of, number, share = self.told(graph, step)
                self.assertEqual((number, share), (expected[of], share_text(expected[of], samples)), f"{graph} of {name}: {of}")

    def test_a_page_begins_as_it_was_asked_for(self):
        path = lambda name: os.path.join(self.directory.name, name)
        with open(path("few.folded"), "w", encoding="ascii") as file:
            file.write("a;leaf 1\nb;x 1\nb;c1;c2;c3;c4;c5;c6;c7 9\n")
        for options, first in (([], "b"), (["--siblings", "weight"], "b"), (["--siblings", "name"], "a")):
            subprocess.run([RENDER, path("few.folded"), "-o", path("few.html"), *options], check=True)
            self.open(path("few.html"))
            self.assertEqual(self.told("#graph", "ArrowUp")[0], first, options)
        for options in ([], ["--unfold"]):
            subprocess.run([RENDER, path("few.folded"), "-o", path("few.html"), *options], check=True)
            self.open(path("few.html"))
            self.assertTrue(self.press("#graph", "ArrowUp", "ArrowUp").startswith("c1 – " if options else "c1 › c2"), self.details())

    def test_how_long_many_stacks_take(self):
        for stacks in os.environ.get("FLAMEPROBE_PAGE_STACKS", "150000,1000000" if FULL_SIZE else "100000").split(","):
            with self.subTest(stacks=stacks):
                self.open_many(int(stacks))

    def open_many(self, stacks):
        subprocess.run([PROGRAM, self.directory.name, "--stacks", str(stacks)], check=True)
        path = os.path.join(self.directory.name, "stacks.html")
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
              f"({blank:.0f} for an empty page); zooming, {1000 / middle:.0f} frames a second (one every {middle:.1f} ms, 95 %: {most:.1f}, worst: {worst:.1f}); a search {searched * 1000:.0f} ms")


if __name__ == "__main__":
    unittest.main()
