"""What tests of the HTML page share: one browser for a class of them."""

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from browser import BrowserCase


class PageTest(BrowserCase):
    def open(self, path, fragment=""):
        self.page.open(path, fragment)
        self.loaded()

    def loaded(self):
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

    def over_row(self, level):
        """Moves to the middle of a row, counted from the root's. Offsets count from the middle of the element."""
        canvas = self.page.driver.find_element(By.CSS_SELECTOR, "#graph canvas")
        height, visible = self.page.run("return [parseFloat(document.querySelector('#graph .spacer').style.height), arguments[0].clientHeight]", canvas)
        return ActionChains(self.page.driver).move_to_element_with_offset(canvas, 0, int(max(height, visible) - 19 * (level + .5) - visible / 2))

    def rows(self):
        """Read in one step, since the page may draw its table again in between."""
        return self.page.run("""return [...document.querySelectorAll(".body .line")].map((row) => row.innerText.split("\\n"))""")

    def details(self):
        return self.text("details")

    def pixels(self, holder="graph"):
        """How many colours the canvas shows, and whether anything at all."""
        return self.page.run("""const canvas = document.querySelector('#' + arguments[0] + ' canvas');
          const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
          const colors = new Set();
          for (let at = 0; at < data.length; at += 4) if (data[at + 3] === 255) colors.add(data[at] << 16 | data[at + 1] << 8 | data[at + 2]);
          return colors.size""", holder)
