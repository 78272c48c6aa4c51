#!/usr/bin/env python3
"""The SVG in a real browser: test_svg.py MAKE_PICTURES [unittest's options]."""
import base64
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from browser import FLAGS, BrowserCase, make_pictures, strict_policy

PICTURES = make_pictures(sys.argv.pop(1))

SHOWN = """return Array.from(document.querySelectorAll('.frames > g')).filter(g => g.style.display !== 'none')
  .map(g => g.querySelector('title').textContent.split('\\n')[0])"""
OVERFLOW = """const bad = [];
for (const g of document.querySelectorAll('.frames > g')) {
  const text = g.querySelector('text');
  if (g.style.display === 'none' || !text || !text.textContent) continue;
  const box = g.querySelector('rect').getBoundingClientRect(), label = text.getBoundingClientRect();
  if (label.right > box.right + 1 || label.left < box.left - 1) bad.push(text.textContent);
}
return bad"""


class SvgTest(BrowserCase):
    def open(self, name="hot.svg", fragment=""):
        self.page.open(os.path.join(PICTURES, name), fragment)

    def frame(self, name):
        """The index of the first frame of that name."""
        return self.page.run("""return Array.from(document.querySelectorAll('.frames > g'))
          .findIndex(g => g.querySelector('title').textContent.split('\\n')[0] === arguments[0])""", name)

    def click(self, name):
        rect = self.page.driver.find_elements(By.CSS_SELECTOR, ".frames > g > rect")[self.frame(name)]
        ActionChains(self.page.driver).move_to_element(rect).click().perform()

    def width(self, name):
        return self.page.run("return document.querySelectorAll('.frames > g')[arguments[0]].querySelector('rect').getBoundingClientRect().width", self.frame(name))

    def graph_width(self):
        return self.page.run("return document.querySelector('.frames').width.baseVal.value")

    def keys(self, *keys):
        ActionChains(self.page.driver).send_keys(*keys).perform()

    def focused(self):
        return self.page.run("return document.activeElement.querySelector?.('title')?.textContent.split('\\n')[0] ?? document.activeElement.localName")

    def status(self):
        return self.page.driver.find_element(By.CSS_SELECTOR, "output").text

    def hash(self):
        return self.page.run("return location.hash")

    def test_click_zooms_and_the_button_resets(self):
        self.open()
        before = self.page.run(SHOWN)
        small = self.width("Parser::parse(std::string_view)")
        self.click("Parser::parse(std::string_view)")
        self.assertAlmostEqual(self.width("Parser::parse(std::string_view)"), self.graph_width(), delta=2)
        self.assertLess(small * 3, self.graph_width())
        shown = self.page.run(SHOWN)
        self.assertIn("main", shown)
        self.assertNotIn("Worker::loop()", shown)
        self.page.driver.find_element(By.XPATH, "//*[text()='Reset zoom']").click()
        self.assertEqual(self.page.run(SHOWN), before)
        self.assertAlmostEqual(self.width("Parser::parse(std::string_view)"), small, delta=1)

    def test_labels_stay_in_their_boxes_at_every_width(self):
        for name in ("hot.svg", "icicle.svg", "reverse.svg"):
            self.open(name)
            for width in (1900, 1300, 700, 400):
                self.page.size(width, 700)
                self.assertEqual(self.page.run(OVERFLOW), [], f"{name} at {width}")
                self.assertAlmostEqual(self.graph_width(), self.page.run("return document.documentElement.clientWidth") - 24, delta=1)

    def test_a_phone_can_read_it(self):
        self.page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 390, "height": 600, "deviceScaleFactor": 1, "mobile": True})
        try:
            self.open()
            # As wide as the phone: letters have their size. The search box stands below the title, the legend breaks.
            self.assertEqual(self.page.run("return [innerWidth, document.documentElement.getBoundingClientRect().width]"), [390, 390])
            boxes = self.page.run("""return ['.title', '.subtitle', '.bar input', '.legend', '.frames'].map((one) => document.querySelector(one).getBoundingClientRect())
              .map(({left, right, top, bottom}) => [left, right, top, bottom])""")
            for left, right, _, _ in boxes:
                self.assertGreaterEqual(left, 0, boxes)
                self.assertLessEqual(right, 390, boxes)
            for above, below in zip(boxes, boxes[1:]):
                self.assertLessEqual(above[3], below[2] + 1, boxes)
            self.assertEqual(self.page.run(OVERFLOW), [])
            root = "return document.querySelector('.frames > g > rect').getBoundingClientRect().bottom"
            self.assertLessEqual(self.page.run(root), 600)
            # A title that is longer than a line breaks; what stands below it goes down.
            self.page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 300, "height": 600, "deviceScaleFactor": 1, "mobile": True})
            self.open()
            title, below = self.page.run("""return [Array.from(document.querySelectorAll('.title tspan'), (line) => line.textContent),
              ['.title', '.subtitle', '.bar input', '.legend', '.frames'].map((one) => document.querySelector(one).getBoundingClientRect()).map(({right, top, bottom}) => [right, top, bottom])]""")
            self.assertEqual(" ".join(title), "CPU flame graph of server, pid 4711")
            self.assertGreater(len(title), 1)
            for above, low in zip(below, below[1:]):
                self.assertLessEqual(above[2], low[1] + 1, below)
            self.assertLessEqual(max(right for right, _, _ in below), 300)
            self.assertLessEqual(self.page.run(root), 600)
        finally:
            self.page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def test_a_wider_window_shows_more_of_a_name(self):
        self.open()
        label = "return Array.from(document.querySelectorAll('.frames text')).map(t => t.textContent).join('').length"
        self.page.size(600, 700)
        narrow = self.page.run(label)
        self.page.size(1900, 700)
        self.assertGreater(self.page.run(label), narrow * 1.5)

    def test_search_marks_matches_and_counts_time_once(self):
        self.open()
        self.keys("/")
        self.assertEqual(self.focused(), "input")
        self.keys("trie::walk")
        hits = self.page.run("return document.querySelectorAll('.hit').length")
        self.assertEqual(hits, 5)  # one of them is below [truncated]
        # 312 + 130 samples in a recursion, and 9: of 3,112
        self.assertEqual(self.status(), "matched at least 14.49 %")
        self.page.driver.find_element(By.XPATH, "//*[text()='Aa']").click()
        self.assertEqual(self.status(), "no match in the frames drawn")

    def test_a_search_that_is_no_regular_expression_is_text(self):
        self.open()
        self.keys("/", "[checkout")
        self.assertEqual(self.status(), "matched 43.70 % (as text)")
        self.keys(Keys.ESCAPE)
        self.assertEqual(self.status(), "")
        self.assertEqual(self.page.run("return document.querySelectorAll('.hit').length"), 0)
        self.keys("/", "^ma(in|lloc)$")
        self.assertEqual(self.page.run("return document.querySelectorAll('.hit').length"), 2)

    def test_search_finds_what_is_shown_and_keys_work_from_the_start(self):
        self.open()
        self.keys(Keys.ARROW_UP)
        self.assertEqual(self.focused(), "worker")
        self.keys("?")
        self.assertIn("next and previous match", self.page.run("return document.querySelector('.details').textContent"))
        self.page.size(640, 700)
        self.keys("?")
        self.assertLessEqual(self.page.run("return document.querySelector('.details').getBoundingClientRect().right"), 640)
        self.page.size(1300, 800)
        self.keys("/", "string_view")
        self.assertTrue(self.status().startswith("no match"), self.status())
        self.keys(Keys.ESCAPE, "/", "trie::walk")
        self.assertEqual(self.page.run("return document.querySelector('.found').textContent"), "5 boxes")

    def test_everything_is_reached_by_keys(self):
        self.open()
        self.page.run("document.querySelector('.frames > g[tabindex=\"0\"]').focus()")
        self.assertEqual(self.focused(), "all")
        self.keys(Keys.ARROW_UP)
        self.assertEqual(self.focused(), "worker")  # the heaviest comes first
        self.keys(Keys.ARROW_RIGHT)
        self.assertEqual(self.focused(), "server")
        self.keys(Keys.ARROW_UP, Keys.ARROW_UP, Keys.ARROW_UP)
        self.assertEqual(self.focused(), "main")
        self.keys(Keys.ENTER)
        self.assertAlmostEqual(self.width("main"), self.graph_width(), delta=2)
        self.keys(Keys.ARROW_DOWN)
        self.assertEqual(self.focused(), "__libc_start_main_impl")
        self.keys(Keys.ESCAPE)
        self.assertLess(self.width("main"), self.graph_width() / 2)
        ActionChains(self.page.driver).key_down(Keys.CONTROL).send_keys("f").key_up(Keys.CONTROL).perform()
        self.assertEqual(self.focused(), "input")
        self.keys("futex", Keys.ENTER)
        self.assertEqual(self.focused(), "futex_wait")

    def test_an_icicle_is_walked_downwards(self):
        self.open("icicle.svg")
        self.page.run("document.querySelector('.frames > g').focus()")
        self.keys(Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
        self.assertEqual(self.focused(), "server")
        self.keys(Keys.ARROW_UP)
        self.assertEqual(self.focused(), "all")

    def test_the_address_keeps_the_view(self):
        self.open()
        self.click("Cart::total() const")
        self.keys("/", "std::less")
        self.assertEqual(self.hash(), f"#z={self.frame('Cart::total() const')}&s=std%3A%3Aless")
        status, shown = self.status(), self.page.run(SHOWN)
        self.open(fragment=self.hash())
        self.assertEqual(self.status(), status)
        self.assertEqual(self.page.run(SHOWN), shown)
        for nonsense in ("#z=99999", "#z=-1", "#z=x", "#s=%", "#%%%"):
            self.open(fragment=nonsense)
            self.assertIn("Worker::loop()", self.page.run(SHOWN))

    def test_hovering_tells_the_details(self):
        self.open()
        rect = self.page.driver.find_elements(By.CSS_SELECTOR, ".frames > g > rect")[self.frame("Cart::total() const")]
        ActionChains(self.page.driver).move_to_element(rect).perform()
        details = self.page.run("return document.querySelector('.details').textContent")
        self.assertRegex(details, r"11.03 s \(35.09 %\), self 0, 1,092 samples, .*Cart::total\(\) const")

    def test_dark_and_light(self):
        self.open()
        fill = "return getComputedStyle(document.querySelector(arguments[0])).fill"
        light = self.page.run(fill, ".page"), self.page.run(fill, ".frames > .u0 rect")
        self.page.dark(True)
        dark = self.page.run(fill, ".page"), self.page.run(fill, ".frames > .u0 rect")
        self.assertEqual(light, ("rgb(253, 252, 250)", "rgb(246, 155, 90)"))
        self.assertEqual(dark, ("rgb(27, 26, 25)", "rgb(130, 65, 4)"))

    def test_a_tall_picture_opens_at_its_roots_under_its_header(self):
        self.open("large.svg")
        top = "return document.querySelector(arguments[0]).getBoundingClientRect().top"
        root = self.page.run(top, ".frames > g > rect")
        self.assertLess(root, self.page.run("return innerHeight"))
        self.assertEqual(self.page.run("return scrollY"), 0)
        self.assertRegex(self.page.run("return document.querySelector('.above').textContent"), r"▲ 2\d\d more rows")
        # The reader moves: all of it is there, and what was seen stays where it was.
        self.keys("/")
        self.assertEqual(self.focused(), "input")
        self.keys("function")
        self.assertGreater(self.page.run("return scrollY"), 1000)
        self.assertAlmostEqual(self.page.run(top, ".frames > g > rect"), root, delta=1)
        self.assertEqual(self.page.run("return document.querySelectorAll('.above').length"), 0)
        self.assertAlmostEqual(self.page.run(top, ".head > .page"), 0, delta=1)
        self.assertLess(self.page.run("return document.querySelectorAll('.frames > g').length"), 300)
        self.assertIn("[frames left out: the deepest stack has 6,001]", self.page.run(SHOWN))

    def test_letters_typed_before_the_next_frame_do_not_scroll_a_tall_picture(self):
        self.open("large.svg")
        # Events of scrolling come with a frame, so what is read within one script is what the next letter meets.
        scrolled, header = self.page.run("""document.documentElement.dispatchEvent(new KeyboardEvent('keydown', {key: '/', bubbles: true, cancelable: true}));
          return [scrollY, document.querySelector('.head > .page').getBoundingClientRect().top]""")
        self.assertGreater(scrolled, 1000)
        self.assertAlmostEqual(header, 0, delta=1)

    def test_frames_that_only_lead_on_are_one_row_until_asked_for(self):
        self.open("folded.svg")
        labels = "return Array.from(document.querySelectorAll('.frames text'), t => t.firstChild?.data ?? '')"
        folded = next(label for label in self.page.run(labels) if label.startswith("… "))
        self.assertEqual(folded, "… 126 frames of demo")
        # In the colour of what it stands for: grey is what is not known.
        self.assertRegex(self.page.run("return document.querySelector('.frames > g[data-f]').getAttribute('class')"), r"^[ul]\d$")
        before = len(self.page.run(SHOWN))
        self.assertLess(self.page.run("return document.documentElement.height.baseVal.value"), 400)
        root = "return document.querySelector('.frames > g > rect').getBoundingClientRect().top"
        top = self.page.run(root)
        self.keys("/", "recursion0")
        self.assertEqual(self.status(), "matched at least 54.55 %")
        self.keys(Keys.ESCAPE)
        rects = self.page.driver.find_elements(By.CSS_SELECTOR, ".frames > g[data-f] > rect")
        ActionChains(self.page.driver).move_to_element(rects[0]).click().perform()
        self.assertEqual(len(self.page.run(SHOWN)), before + 125)
        self.assertEqual(self.focused(), "recursion0")
        self.assertIn("recursion2", self.page.run(labels))
        self.assertGreater(top, 0)
        self.assertLess(self.page.run(root), self.page.run("return innerHeight"))
        self.assertEqual(self.page.run(OVERFLOW), [])
        # Its frames are frames: they can be zoomed into, and the stack can be copied.
        self.keys(Keys.ARROW_UP, Keys.ENTER)
        self.assertEqual(self.focused(), "recursion1")
        self.assertAlmostEqual(self.width("recursion1"), self.graph_width(), delta=2)

    def test_the_kernel_is_one_row_and_what_leaves_a_chain_stands_on_it(self):
        self.open("kernel.svg")
        closed = ["all", "server", "main", "… 7 frames of std", "handle", "write", "… kernel: write", "parse", "log"]
        self.assertEqual(self.page.run(SHOWN), closed)
        # A search sees into it, and counts what it finds there.
        self.keys("/", "net_rx")
        self.assertEqual(self.status(), "matched 59.70 %")
        self.assertEqual(self.page.run("return document.querySelector('.hit title').textContent.split('\\n')[0]"), "… kernel: write")
        self.keys(Keys.ESCAPE)
        self.click("… kernel: write")
        inside = ["entry_SYSCALL_64", "do_syscall_64", "ksys_write", "vfs_write", "tcp_sendmsg", "ip_output", "net_rx", "copy"]
        self.assertEqual(self.page.run(SHOWN), [*closed[:6], *inside, *closed[7:]])
        self.click("… 7 frames of std")
        self.assertEqual(self.page.run(SHOWN), ["all", "server", "main", *(f"std::{one}" for one in "abcdefg"), *closed[4:6], *inside, *closed[7:]])
        # Each is where it is without folding: what leaves stands beside what goes on.
        self.assertGreater(self.width("std::b"), self.width("std::c"))
        tops = {name: self.page.run("return document.querySelectorAll('.frames > g > rect')[arguments[0]].getBoundingClientRect().top", self.frame(name)) for name in ("std::b", "std::c", "log", "net_rx")}
        self.assertEqual((tops["log"], tops["std::b"] - tops["net_rx"]), (tops["std::c"], 18 * 14))
        self.assertEqual(self.page.run(OVERFLOW), [])
        # A link into it opens it.
        self.click("net_rx")
        self.open("kernel.svg", self.hash())
        self.assertIn("net_rx", self.page.run(SHOWN))

    def test_search_says_that_there_may_be_more(self):
        self.open("large.svg")
        self.keys("/", "function17")
        self.assertEqual(self.status(), "no match in the frames drawn")
        self.open()
        self.keys("/", "all")
        self.assertEqual(self.status(), "matched 100.00 %")  # what is gathered is in it, too

    def test_a_screenshot_of_a_tall_picture_has_its_title_and_its_roots(self):
        for agent in ([], ["--user-agent=Mozilla/5.0"]):
            with tempfile.TemporaryDirectory(prefix="flameprobe-screenshot-") as directory:
                shot = os.path.join(directory, "shot.png")
                command = [os.environ.get("CHROMIUM", "/usr/bin/chromium"), *FLAGS, *agent, f"--user-data-dir={directory}/user", "--window-size=1300,800",
                           f"--screenshot={shot}", "--hide-scrollbars", "--virtual-time-budget=3000",  # so that all timers of the page have run
                           "file://" + os.path.join(PICTURES, "large.svg")]
                subprocess.run(command, check=True, capture_output=True, timeout=120)
                with open(shot, "rb") as file:
                    data = base64.b64encode(file.read()).decode()
            self.open()
            first, roots = self.page.driver.execute_async_script("""
              const [url, done] = arguments, image = document.createElementNS('http://www.w3.org/1999/xhtml', 'img');
              image.onload = () => {
                const canvas = document.createElementNS('http://www.w3.org/1999/xhtml', 'canvas'), pen = canvas.getContext('2d', {willReadFrequently: true});
                canvas.width = image.naturalWidth; canvas.height = image.naturalHeight;
                pen.drawImage(image, 0, 0);
                const row = (y) => new Uint32Array(pen.getImageData(0, y, canvas.width, 1).data.buffer), blank = row(0)[0];
                let first = 0;
                while (first < canvas.height && row(first).every((pixel) => pixel === blank)) first++;
                const root = Array.from({length: 60}, (_, y) => row(canvas.height - 1 - y)).some((one) => one.filter((pixel) => pixel !== blank).length > canvas.width * .9);
                done([first, root]);
              };
              image.src = url;""", "data:image/png;base64," + data)
            self.assertLess(first, 40, agent)
            self.assertTrue(roots, agent)

    def test_labels_are_short_and_keep_their_last_component(self):
        self.open()
        labels = "return Array.from(document.querySelectorAll('.frames text'), t => t.firstChild?.data ?? '')"
        self.assertIn("std::map::find", self.page.run(labels))
        self.page.size(1000, 700)
        self.assertTrue(any(label.startswith("…") for label in self.page.run(labels)))

    def test_a_stack_can_be_copied(self):
        self.open()
        self.page.run("document.querySelectorAll('.frames > g')[arguments[0]].focus()", self.frame("server"))
        self.click("Parser::parse(std::string_view)")
        copied = self.page.run("""const data = new DataTransfer();
          document.activeElement.dispatchEvent(new ClipboardEvent('copy', {clipboardData: data, bubbles: true, cancelable: true}));
          return data.getData('text/plain')""")
        self.assertEqual(copied.split("\n"), ["server", "_start", "__libc_start_main_impl", "main", "EventLoop::run()",
                                              "Connection::read()", "[parse]", "Parser::parse(std::string_view)"])

    def test_images_have_text_and_colours_in_chromium_and_in_librsvg(self):
        with open(os.path.join(PICTURES, "hot.svg"), "rb") as svg:
            picture = svg.read()
        sources = {"image/svg+xml": picture}
        if shutil.which("rsvg-convert"):
            sources["image/png"] = subprocess.run(["rsvg-convert", os.path.join(PICTURES, "hot.svg")], check=True, capture_output=True).stdout
        self.open("two.html" if os.path.exists(os.path.join(PICTURES, "two.html")) else "hot.svg")
        for kind, data in sources.items():
            colors = self.page.driver.execute_async_script("""
              const [url, done] = arguments, image = document.createElementNS('http://www.w3.org/1999/xhtml', 'img');
              image.onload = () => {
                const canvas = document.createElementNS('http://www.w3.org/1999/xhtml', 'canvas');
                canvas.width = image.naturalWidth; canvas.height = image.naturalHeight;
                const pen = canvas.getContext('2d');
                pen.drawImage(image, 0, 0);
                const data = pen.getImageData(0, 0, canvas.width, canvas.height).data, found = {};
                for (let at = 0; at < data.length; at += 4) {
                  const color = '#' + (1 << 24 | data[at] << 16 | data[at + 1] << 8 | data[at + 2]).toString(16).slice(1);
                  found[color] = (found[color] || 0) + 1;
                }
                done(found);
              };
              image.onerror = () => done(null);
              image.src = url;""", f"data:{kind};base64,{base64.b64encode(data).decode()}")
            self.assertIsNotNone(colors, kind)
            # Page, text, thread, own code, kernel and scope.
            for color, least in (("#fdfcfa", 50000), ("#1c1b1a", 500), ("#f3db84", 3000), ("#ffa16d", 3000), ("#5cbe96", 500), ("#c493e8", 3000)):
                self.assertGreater(colors.get(color, 0), least, f"{color} in {kind}")

    def test_two_pictures_in_one_page_do_not_meddle(self):
        with open(os.path.join(PICTURES, "two.html"), "w", encoding="utf-8") as page:
            page.write("<!doctype html><meta charset=utf-8><input id=other>")
            for div, name in (("a", "hot.svg"), ("b", "module.svg")):
                with open(os.path.join(PICTURES, name), encoding="utf-8") as svg:
                    page.write(f"<div id={div}>" + re.sub(r"^<\?xml.*?\?>", "", svg.read()) + "</div>")
        self.open("two.html")
        fill = "return getComputedStyle(document.querySelector(arguments[0] + ' .frames > g:nth-of-type(7) rect')).fill"
        self.assertNotEqual(self.page.run(fill, "#a"), self.page.run(fill, "#b"))
        ids = self.page.run("return Array.from(document.querySelectorAll('[id]'), e => e.id)")
        self.assertEqual(len(ids), len(set(ids)))
        self.page.driver.find_elements(By.CSS_SELECTOR, "#b .frames > g > rect")[5].click()
        hidden = "return document.querySelectorAll(arguments[0] + ' .frames > g[style*=none]').length"
        self.assertEqual(self.page.run(hidden, "#a"), 0)
        self.assertGreater(self.page.run(hidden, "#b"), 0)
        # A slash typed into the page's own field stays there.
        other = self.page.driver.find_element(By.ID, "other")
        other.send_keys("a/b")
        self.assertEqual(other.get_attribute("value"), "a/b")

    def test_a_strict_policy_allows_all_of_it(self):
        with open(os.path.join(PICTURES, "hot.svg"), encoding="utf-8") as file:
            picture = re.sub(r"^<\?xml.*?\?>", "", file.read())
        policy = strict_policy({"style": re.findall(r"<style>(.*?)</style>", picture, re.S),
                                "script": re.findall(r"<script><!\[CDATA\[(.*?)\]\]></script>", picture, re.S)})
        with open(os.path.join(PICTURES, "policy.html"), "w", encoding="utf-8") as file:
            file.write("<!doctype html><meta charset=utf-8>" + policy + picture)
        self.open("policy.html")
        self.click("Parser::parse(std::string_view)")
        self.assertNotIn("Worker::loop()", self.page.run(SHOWN))

    def test_an_image_needs_no_script(self):
        with open(os.path.join(PICTURES, "image.html"), "w", encoding="utf-8") as page:
            page.write("<!doctype html><img src=hot.svg>")
        self.open("image.html")
        self.assertEqual(self.page.run("const i = document.images[0]; return [i.naturalWidth, i.naturalHeight > 300]"), [1200, True])

    def test_hostile_names_run_nothing(self):
        self.open("hostile.svg")
        self.assertEqual(self.page.run("return window.broken ?? 'intact'"), "intact")
        names = self.page.run(SHOWN)
        self.assertIn("</script><script>window.broken = 1</script>", names)
        self.keys("/", "]]>")
        self.assertTrue(self.status().startswith("matched"))


if __name__ == "__main__":
    unittest.main()
