"""Names and arguments that hold commands for a terminal: whatever prints them, none reaches it."""

import os
import sys
import unittest

from forged import with_controls
from harness import COMMAND, RENDER, Case, clean_environment, host, profiled, run

# Colour, clear, the window's title ended by BEL, the same of one character (C1), and text backwards.
EVIL = "a\x1b[31mX\nY\x1b[2J\x1b]0;title\x07\u009b31m\u202eb\x7f"
WORK = """
import ctypes, threading, time
def work():
    ctypes.CDLL(None).prctl(15, b"\\x1b[31mX\\nY\\x1b[2J\\xe2\\x80\\xae", 0, 0, 0)
    end = time.thread_time() + 0.3
    while time.thread_time() < end: sum(range(1000))
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


class Escapes(Case):
    def setUp(self):
        super().setUp()
        self.place = self.directory / "\x1b[31mred\x07"
        self.place.mkdir()
        self.program = self.place / "py\x1b]0;t\x07"
        self.program.symlink_to(sys.executable)
        self.argv = [self.program, "-c", WORK, EVIL]

    def assert_harmless(self, *runs, prints=True):
        for done in runs:
            for text in (done.stdout, done.stderr):
                bad = [c for c in text if c != "\n" and (ord(c) < 0x20 or 0x7f <= ord(c) < 0xa0 or c == "\u202e")]
                self.assertEqual(bad, [], text)
            self.assertTrue(done.stdout + done.stderr if prints else True)

    def test_every_table_and_message_of_a_profile(self):
        env = profiled(FREQ=499, OUT=self.place / "x", LABELS="key=a\x1b[31m", FORMAT="folded", LOG="stderr")
        ran = run(self.argv, self.directory, env)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assert_harmless(ran)
        profile = self.place / "x.fprobe"
        render = lambda *options: run([RENDER, *options], self.directory)
        self.assert_harmless(render(profile, "--info"), render(profile, "--top", "20"), render(profile, "--by-scope"),
                             render(profile, "--thread", "nope"), render(profile, "--tree", "-o", self.place / "tree.svg"),
                             render(profile, "--event", EVIL), render(profile, "--scope", EVIL), render(profile, "-o", EVIL),
                             render(profile, "--colors", EVIL), render(profile, "--format", EVIL), render(self.place / "none"),
                             *(render(profile, "--format", form) for form in ("folded", "json", "speedscope", "firefox", "otlp-json")), render("--diff", profile, profile, "--top", "9"))
        bad = self.place / "bad.folded"
        bad.write_text(f"{EVIL[:2]}[2J;b\n")
        self.assert_harmless(render(bad))
        thread = render(profile, "--thread", "nope")
        self.assertEqual(thread.returncode, 1)
        self.assertIn("\ufffd[31mX Y\ufffd[2J", thread.stderr)

    def test_a_profile_that_was_made_to_hold_them(self):
        """In each of its texts: facts and their names, paths, counters, labels, threads, engine."""
        ran = run([host("ends"), "return", "300"], self.directory, profiled(FREQ=499, OUT="good", FORMAT="none", LABELS="release=spring"))
        self.assertEqual(ran.returncode, 6, ran.stderr)
        forged = self.directory / "forged.fprobe"
        forged.write_bytes(with_controls((self.directory / "good.fprobe").read_bytes()))
        cut = self.directory / "cut.fprobe"
        cut.write_bytes(forged.read_bytes()[:-20])
        render = lambda *options: run([RENDER, *options], self.directory)
        told = render(forged, "--info")
        self.assertEqual(told.returncode, 0, told.stderr)
        for text in ("r l  s =spring", "host- nds", "compil\ufffdrs:", "k\ufffdrn\ufffdl:"):
            self.assertIn(text, told.stdout)
        self.assert_harmless(told, render(forged, "--top", "20"), render(forged, "--thread", "nope"), render(forged, "--tree", "--top", "3"),
                             render(forged, "--by-scope"), render(cut, "--info"), render("--diff", forged, cut, "--top", "9"),
                             run([COMMAND, "compare", forged, cut], self.directory, clean_environment()))
        self.assert_harmless(render(forged, "-o", self.directory / "x.svg"), render(cut, "-o", self.directory / "x.html"), prints=False)

    def test_commands(self):
        flameprobe = lambda *options: run([COMMAND, *options], self.directory, clean_environment())
        ran = flameprobe("run", "-o", self.place / "x", "-F", "499", "--", *self.argv)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        profile = self.place / "x.fprobe"
        self.assert_harmless(ran, flameprobe("stat", "--", *self.argv), flameprobe("doctor", self.program),
                             flameprobe("compare", profile, profile), flameprobe("compare", EVIL, profile),
                             flameprobe("run", "-o", "x", "--", EVIL), flameprobe("run", "--event", EVIL, "--", "true"),
                             flameprobe("top", EVIL), flameprobe(EVIL), flameprobe("bench", EVIL),
                             flameprobe("bench", "-o", self.place / "bench", "--repeat", "1", "--", *self.argv),
                             flameprobe("push", "--spool", self.place / "none", "--status"))

    def test_a_program_that_top_shows(self):
        child_env = profiled(FREQ=499, OUT=self.place / "x", FORMAT="none")
        script = '"$0" "$@" & child=$!; for try in $(seq 100); do "$FLAMEPROBE" top --once $child >seen && break; sleep 0.1; done; cat seen; wait'
        child_env["FLAMEPROBE"] = str(COMMAND)
        done = run(["sh", "-c", script, *self.argv[:2], WORK.replace("0.3", "2"), EVIL], self.directory, child_env)
        self.assertIn("THREAD", done.stdout, done.stderr)
        self.assert_harmless(done)


if __name__ == "__main__":
    unittest.main()
