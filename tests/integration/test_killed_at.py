"""The collector and flameprobe-draw, killed at each of their system calls in turn: the host ends as alone, what was recorded can be
drawn as the message says, and no process is left."""

import os
import platform
import re
import unittest

from harness import LIBRARY, Case, host, render, run, sized, target

STEP = sized(67, 10)  # every call takes ten minutes
WORK = ["/usr/bin/env", f"LD_PRELOAD={LIBRARY}", "FLAMEPROBE_FREQ=499", "FLAMEPROBE_KERNEL=off", host("ends"), "return", "150"]


@unittest.skipUnless(platform.machine() == "x86_64", "targets/kill_at.c writes registers of x86-64")
class KilledAt(Case):
    def killed_at(self, who, number):
        """(the run, system calls of `who`, whether one was killed)."""
        place = self.fresh_directory(f"{who}-{number}")
        reading, writing = os.pipe()
        with open(reading, encoding="ascii") as answer:
            try:
                ran = run([target("kill_at"), writing, who, number, "/usr/bin/env", f"FLAMEPROBE_OUT={place}/x", *WORK], place, pass_fds=(writing,))
            finally:
                os.close(writing)
            status, calls, killed, _, left = map(int, answer.read().split())
        self.assertEqual((ran.returncode, ran.timed_out, os.waitstatus_to_exitcode(status), left), (0, False, 6, 0), ran.stderr)
        self.assertEqual(ran.stdout, "ending by return\n")
        return ran, calls, killed

    def check_result(self, ran):
        """A message names what can be drawn; without one there is a result, or nothing had been recorded yet, which a message says."""
        hidden = [path.name for path in ran.directory.iterdir() if path.name.startswith(".flameprobe")]
        self.assertEqual(hidden, [], ran.stderr)
        if {"x.fprobe", "x.svg", "x.folded", "x.txt"} - {path.name for path in ran.directory.iterdir()}:
            self.assertRegex(ran.stderr, "the collector was killed|flameprobe-draw ended before it was done")
        named = re.search(r"this draws it: flameprobe-render (\S+)", ran.stderr)
        there = [path for path in (ran.directory / "x.fprobe", *ran.directory.glob("x.run/*.fprobe")) if path.exists()]
        if not there:
            self.assertIsNone(named, ran.stderr)
            self.assertIn("the collector was killed, so nothing was sampled from then on", ran.stderr)
            return
        drawn = render(named[1] if named else there[0], "-f", "folded", "-o", "-")
        if "is empty" in drawn.stderr:  # it was killed between making the file and writing to it
            self.assertIn("the collector was killed", ran.stderr)
            return
        self.assertEqual(drawn.returncode, 0, (drawn.stderr, ran.stderr, there))
        self.assertRegex(drawn.stdout, r"(?m)^\S.* \d+$")

    def test_the_next_run_removes_what_is_left_of_the_folder(self):
        """Drawing programs that were killed while they removed the run's folder, late in their work."""
        _, calls, _ = self.killed_at("flameprobe-draw", 0)
        left = 0
        for number in range(calls, calls - sized(24, 60), -1):
            ran, _, killed = self.killed_at("flameprobe-draw", number)
            gone = sorted(ran.directory.glob("x.run.gone.*"))
            left += len(gone)
            if killed and gone:
                again = run(WORK[:1] + [f"FLAMEPROBE_OUT={ran.directory}/x"] + WORK[1:], ran.directory)
                self.assertEqual((again.returncode, again.stdout), (6, "ending by return\n"), again.stderr)
                self.assertEqual(sorted(path.name for path in ran.directory.glob("x.run*")), [], again.stderr)
        self.assertGreater(left, 0)

    def check(self, who):
        _, calls, killed = self.killed_at(who, 0)
        self.assertEqual(killed, 0)
        self.assertGreater(calls, 100)
        for number in sorted({5, 15, *range(1, calls + 1, STEP)}):
            with self.subTest(who=who, number=number):
                ran, calls_here, killed = self.killed_at(who, number)
                if killed == 0:
                    self.assertLess(calls_here, number)  # it made fewer this time
                    continue
                self.check_result(ran)

    def test_drawing(self):
        self.check("flameprobe-draw")

    def test_collector(self):
        self.check("others")


if __name__ == "__main__":
    unittest.main()
