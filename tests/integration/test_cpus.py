"""CPUs that go offline while a program is sampled, and that come back. Only in a machine of tools/guest, which nothing else
uses."""

import json
import os
import subprocess
import time
import unittest
from pathlib import Path

from harness import EMULATED, ENGINES, GUEST, Case, Result, profiled, shares, target

ONLINE = Path("/sys/devices/system/cpu/cpu1/online")
ROUNDS = 400 if EMULATED else 4000


class Cpus(Case):
    def setUp(self):
        super().setUp()
        if not GUEST:
            self.skipTest("takes a CPU from the machine, so only in one of tools/guest")
        if os.geteuid() != 0 or not ONLINE.exists():
            self.skipTest("CPU 1 cannot go offline")
        self.addCleanup(ONLINE.write_text, "1")

    def profile(self, engine, after_start):
        """Three threads, while after_start(process) changes the CPUs; the result."""
        directory = self.fresh_directory(engine)
        process = subprocess.Popen([target("shares"), "threads", str(ROUNDS)], cwd=directory,
                                   env=profiled(ENGINE=engine, FREQ=499, FORMAT="folded,json"), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        after_start(process)
        out, err = process.communicate(timeout=200)
        self.assertEqual((process.returncode, out), (0, f"{ROUNDS} rounds\n"), err)
        return Result(next(directory.glob("*.fprobe")).with_suffix(""))

    def check(self, result):
        """The picture's weight is the CPU time, and the threads' shares are what they are."""
        told = json.loads(result.path("json").read_text())
        stacks = result.stacks()
        shown = sum(count for _, count in stacks) * told["sampling"]["period_ns"]
        self.assertAlmostEqual(shown / told["cpu_time"]["process_ns"], 1, delta=0.1)
        self.assertGreater(told["cpu_time"]["sampled_share"], 0.8)
        work = [stack for stack in stacks if "thread_work" in ";".join(stack[0])]
        for thread, share in (("half", 0.5), ("third", 0.3), ("fifth", 0.2)):
            hits, every = shares(work, thread)
            self.assertAlmostEqual(hits / every, share, delta=0.1, msg=f"{thread}: {hits} of {every}")

    def test_offline_and_back(self):
        def toggle(process):
            while process.poll() is None:
                for state in ("0", "1"):
                    ONLINE.write_text(state)
                    time.sleep(0.1)
        for engine in ENGINES:
            with self.subTest(engine=engine):
                self.check(self.profile(engine, toggle))

    def test_back_after_the_start(self):
        def back(_):
            time.sleep(0.2)
            ONLINE.write_text("1")
        for engine in ENGINES:
            with self.subTest(engine=engine):
                ONLINE.write_text("0")
                self.check(self.profile(engine, back))


if __name__ == "__main__":
    unittest.main()
