"""CPUs that go offline while a program is sampled, and that come back. Only in a machine of tools/guest, which nothing else
uses."""

import contextlib
import json
import os
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from harness import EMULATED, ENGINES, GUEST, MISSES_TICKS, Case, Result, profiled, shares, target

ONLINE = Path("/sys/devices/system/cpu/cpu1/online")
ROUNDS = 400 if EMULATED else 4000


def move_to(process, cpu):
    """Moves all threads of the process; threads that they create inherit it."""
    for thread in Path(f"/proc/{process.pid}/task").glob("*"):
        with contextlib.suppress(ProcessLookupError):  # it has ended
            os.sched_setaffinity(int(thread.name), {cpu})


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
        directory = Path(tempfile.mkdtemp(prefix=engine, dir=self.directory))
        process = subprocess.Popen([target("shares"), "threads", str(ROUNDS)], cwd=directory,
                                   env=profiled(ENGINE=engine, FREQ=499, FORMAT="folded,json"), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   preexec_fn=lambda: os.sched_setaffinity(0, {0}))
        after_start(process)
        out, err = process.communicate(timeout=200)
        self.assertEqual((process.returncode, out), (0, f"{ROUNDS} rounds\n"), err)
        return Result(next(directory.glob("*.fprobe")).with_suffix(""))

    def check(self, engine, after_start):
        """The picture's weight is the CPU time, the threads' shares are what they are, and CPU 1 is sampled as CPU 0 is: at no
        time more than one of them works, since an emulator that runs them in turn would let both age."""
        result = self.profile(engine, after_start)
        told = json.loads(result.path("json").read_text())
        stacks = result.stacks()
        work = [stack for stack in stacks if "thread_work" in ";".join(stack[0])]
        self.assertGreater(sum(count for _, count in work), 0)
        sampled = told["cpu_time"]["sampled_share"]
        print(f"{engine}: {sampled:.1%} of the CPU time is sampled", flush=True)
        if MISSES_TICKS:  # a tenth of the samples is left
            return
        self.assertGreater(sampled, 0.9)
        shown = sum(count for _, count in stacks) * told["sampling"]["period_ns"]
        self.assertAlmostEqual(shown / told["cpu_time"]["process_ns"], 1, delta=0.1)
        for thread, share in (("half", 0.5), ("third", 0.3), ("fifth", 0.2)):
            hits, every = shares(work, thread)
            self.assertAlmostEqual(hits / every, share, delta=0.1, msg=f"{thread}: {hits} of {every}")

    def test_offline_and_back(self):
        """All threads are on CPU 1 when it goes, which moves them, and on it again when it is back."""
        def toggle(process):
            while process.poll() is None:
                move_to(process, 1)
                time.sleep(0.2)
                ONLINE.write_text("0")
                time.sleep(0.02)
                ONLINE.write_text("1")
        for engine in ENGINES:
            with self.subTest(engine=engine):
                self.check(engine, toggle)

    def test_back_after_the_start(self):
        def back(process):
            time.sleep(0.2)
            ONLINE.write_text("1")
            move_to(process, 1)
        for engine in ENGINES:
            with self.subTest(engine=engine):
                ONLINE.write_text("0")
                self.check(engine, back)


if __name__ == "__main__":
    unittest.main()
