"""Headless Chromium for the tests, with the Debian packages chromium-driver and python3-selenium only."""
import atexit
import base64
import contextlib
import glob
import hashlib
import os
import shutil
import subprocess
import tempfile
import unittest

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-extensions",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
         "--force-device-scale-factor=1", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]


def make_pictures(program):
    """Runs make-pictures; returns the directory of its files, which is removed at the end."""
    directory = tempfile.mkdtemp(prefix="flameprobe-pictures-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    subprocess.run([program, directory], check=True)
    return directory


def strict_policy(elements):
    """A content security policy that allows these inline elements' texts and nothing else: {"style": [...], "script": [...]}."""
    def hashes(texts):
        return " ".join("'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'" for text in texts)
    policy = "default-src 'none'; " + "; ".join(f"{kind}-src {hashes(texts)}" for kind, texts in elements.items())
    return f'<meta http-equiv="Content-Security-Policy" content="{policy}">'


def renderers(mark):
    """Directories in /proc of the renderer processes of the browser that has `mark` in its command line."""
    for directory in glob.glob("/proc/[0-9]*"):
        with contextlib.suppress(OSError), open(directory + "/cmdline", encoding="utf-8", errors="replace") as file:
            command = file.read()
            if "--type=renderer" in command and mark in command:
                yield directory


def private_memory(mark):
    """MiB that only the renderer processes of this browser have."""
    total = 0
    for directory in renderers(mark):
        with contextlib.suppress(OSError), open(directory + "/smaps_rollup", encoding="ascii") as file:
            total += sum(int(line.split()[1]) for line in file if line.startswith("Private_"))
    return total / 1024


def cpu_seconds(mark):
    """CPU time that they have used: what a busy machine does not change much."""
    total = 0
    for directory in renderers(mark):
        with contextlib.suppress(OSError), open(directory + "/stat", encoding="utf-8", errors="replace") as file:
            total += sum(int(ticks) for ticks in file.read().rpartition(")")[2].split()[11:13])
    return total / os.sysconf("SC_CLK_TCK")


class Browser:
    """A browser with a profile of its own; `with Browser() as page: page.open(path)`."""

    def __init__(self, width=1300, height=800):
        self.directory = tempfile.TemporaryDirectory(prefix="flameprobe-browser-")
        options = webdriver.ChromeOptions()
        options.binary_location = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        for flag in FLAGS + [f"--user-data-dir={self.directory.name}", f"--window-size={width},{height}"]:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service(os.environ.get("CHROMEDRIVER", "/usr/bin/chromedriver")), options=options)
        self.is_now = None  # the window's size

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()
        self.directory.cleanup()

    def open(self, path, fragment=""):
        # A change of the fragment alone would not load the file again.
        self.driver.get("about:blank")
        self.driver.get("file://" + os.path.abspath(path) + fragment)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def size(self, width, height):
        if self.is_now == (width, height):
            return
        self.is_now = width, height
        self.driver.set_window_size(width, height)
        # Observers of size run in the frame after the change.
        self.driver.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50)))")

    def dark(self, on):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": "dark" if on else "light"}]})

    def errors(self):
        """What the page complained about since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


class BrowserCase(unittest.TestCase):
    """One browser for all tests of a class; what the page complains about fails the test."""

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
