"""The same profile gives the same bytes wherever it is rendered, and whatever locale the profiled program has chosen."""

import json
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from harness import COMMAND, RENDER, Case, clean_environment, formats, profiled, run

# With decimal commas and grouping points, and with letters whose capitals are others.
LOCALES = ("de_DE", "tr_TR")
HOST = """
import locale, sys
def burn(rounds):
    return sum(i * i % 7 for i in range(rounds))
locale.setlocale(locale.LC_ALL, sys.argv[1])
assert locale.localeconv()["decimal_point"] == ","
burn(3_000_000)
"""


class Locales(Case):
    @classmethod
    def setUpClass(cls):
        if shutil.which("localedef") is None:
            raise unittest.SkipTest("localedef is not installed")
        cls.locales = Path(tempfile.mkdtemp(prefix="flameprobe-locales-"))
        cls.addClassCleanup(shutil.rmtree, cls.locales, ignore_errors=True)
        cls.locales.chmod(0o755)
        for name in LOCALES:
            done = run(["localedef", "--no-archive", "-i", name, "-f", "UTF-8", cls.locales / f"{name}.UTF-8"], cls.locales)
            if done.returncode != 0:
                raise unittest.SkipTest(f"localedef makes no {name}, which is in Debian's package locales: {done.stderr[-200:]}")

    def machine(self, name, **environment):
        """(directory, environment) of a user elsewhere."""
        place = self.fresh_directory(name)
        return place, clean_environment(HOME=place, LOCPATH=self.locales, **environment)

    def machines(self):
        return (self.machine("here", LC_ALL="C", TZ="UTC", COLUMNS="80", TERM="dumb", USER="a"),
                *(self.machine(name, LC_ALL=f"{name}.UTF-8", LANGUAGE=name, TZ="Asia/Kathmandu", COLUMNS="217", TERM="xterm", USER="b")
                  for name in LOCALES))

    def assert_same_files(self, first, other, names):
        for name in names:
            with self.subTest(name=name, place=other.name):
                self.assertTrue((first / name).read_bytes() == (other / name).read_bytes(), f"{name} differs")

    def record(self, **settings):
        (self.directory / "host.py").write_text(HOST)
        env = {**profiled(FREQ=999, OUT=self.directory / "recorded", LOG="quiet", **settings), "LOCPATH": str(self.locales)}
        done = run(["python3", "host.py", "de_DE.UTF-8"], self.directory, env=env)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return self.directory / "recorded.fprobe"

    def test_on_machines_with_other_locales(self):
        profile = self.directory / "archived.fprobe"  # so that names are looked up once
        self.assertEqual(run([RENDER, "--archive", self.record(FORMAT="none"), "-o", profile], self.directory).returncode, 0)
        places = self.machines()
        for place, env in places:
            point = subprocess.run(["locale", "decimal_point"], env=env, capture_output=True, text=True, check=True).stdout
            self.assertEqual(point.strip(), "." if place.name == "here" else ",")
            shutil.copy(profile, place / "x.fprobe")
            for ending in (*formats().values(), "png", "pdf"):
                done = run([RENDER, "x.fprobe", "-o", f"x.{ending}"], place, env=env)
                self.assertEqual(done.returncode, 0, done.stderr)
            for name, options in (("info", ["--info"]), ("top", ["--top", "20"]), ("diff", ["--diff", "x.fprobe", "--top", "9"])):
                told = run([RENDER, *options, "x.fprobe"], place, env=env)
                self.assertEqual(told.returncode, 0, told.stderr)
                (place / name).write_text(told.stdout)
            time.sleep(1.1)  # a time of day in a file would be another
        for place, _ in places[1:]:
            self.assert_same_files(places[0][0], place, ["x.txt", "info", "top", "diff", "x.png", "x.pdf",
                                                         *(f"x.{ending}" for ending in formats().values())])

    def test_a_program_that_chose_a_locale(self):
        """What its own process wrote at exit is what the renderer makes of its profile."""
        profile = self.record(FORMAT=",".join(formats()))
        place, env = self.machine("elsewhere", LC_ALL="C")
        for ending in formats().values():
            done = run([RENDER, profile, "-o", f"recorded.{ending}"], place, env=env)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_same_files(place, self.directory, ["recorded.txt", *(f"recorded.{ending}" for ending in formats().values())])

    def test_reports_and_comparisons(self):
        runs = [{"cpu_ns_per_unit": 1234.5 + i, "work": 1000.5, "seconds": 1.5 + i / 100, "samples": 1000000, "sampled_share": 1} for i in range(5)]
        report = {"format": "flameprobe-bench", "scenarios": [
            {"name": "s", "sweep": {"n": 1.5}, "unit": "requests", "runs": runs,
             "functions": [{"name": "f", "runs": [1000.25 + i for i in range(5)]}]}]}
        places = self.machines()
        for place, env in places:
            (place / "old.json").write_text(json.dumps(report))
            (place / "new.json").write_text(json.dumps(report).replace("1000.25", "1300.25"))
            outputs = [word for ending in ("md", "html", "json") for word in ("-o", f"change.{ending}")]
            done = run([COMMAND, "compare", "old.json", "new.json", "--min-share", "2.5%", *outputs], place, env=env)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("658.2 requests a second", done.stdout)
            (place / "change.txt").write_text(done.stdout)
        for place, _ in places[1:]:
            self.assert_same_files(places[0][0], place, [f"change.{ending}" for ending in ("txt", "md", "html", "json")])


if __name__ == "__main__":
    unittest.main()
