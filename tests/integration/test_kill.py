"""SIGKILL at random moments: every sample that is older than one drain period is in the .fprobe, and flameprobe-render
makes a picture of it."""

import contextlib
import os
import random
import signal
import subprocess
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from harness import Case, Result, host, profiled, render, sized, wait_until

MOMENTS = sized(8, 100)
FREQUENCY = 997
# What may be missing: the drain period with generous room for a loaded machine, and the time before sampling began.
MAY_BE_MISSING_S = 0.25


class Kill(Case):
    def kill_after(self, seconds, directory):
        """(CPU seconds that the host had had, samples found). Read in this order: the host runs on between them."""
        process = subprocess.Popen([host("ends"), "return", "60000"], cwd=directory, env=profiled(FREQ=FREQUENCY),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   start_new_session=True)
        time.sleep(seconds)
        clock = (~process.pid << 3) | 2  # the process's CPU clock, clock_getcpuclockid(3)
        used = time.clock_gettime(clock)
        os.killpg(process.pid, signal.SIGKILL)
        self.assertEqual(process.wait(), -signal.SIGKILL)
        process.stderr.close()
        spool = directory / f"flameprobe.host-ends.{process.pid}.fprobe"
        with contextlib.suppress(AssertionError):  # the collector, which lives on, makes the result
            folder = spool.with_suffix(".run")
            wait_until(lambda: spool.exists() or not folder.exists(), 20 if os.geteuid() == 0 else 0)
        if not spool.exists():  # an ordinary user's collector is a thread of the host
            spool = folder / f"host-ends.{process.pid}.fprobe"
        if not spool.exists():
            return used, 0
        svg = render(spool, "-o", directory / "picture.svg")
        if svg.returncode != 0:
            self.assertEqual(svg.returncode, 1, svg.stderr)  # a spool in which nothing is yet
            return used, 0
        self.assertTrue((directory / "picture.svg").read_text().rstrip().endswith("</svg>"))
        return used, sum(count for _, count in Result(spool.with_suffix("")).stacks())

    def test_random_moments(self):
        chance = random.Random(20)
        moments = [chance.uniform(0.0, 0.8) for _ in range(MOMENTS)]
        with ThreadPoolExecutor(2) as pool:
            found = list(pool.map(lambda m: self.kill_after(m[1], self.fresh_directory(str(m[0]))), enumerate(moments)))
        with_samples = 0
        for moment, (used, samples) in zip(moments, found):
            with self.subTest(moment=round(moment, 3)):
                expected = (used - MAY_BE_MISSING_S) * FREQUENCY
                self.assertGreaterEqual(samples, 0.9 * expected, f"{used:.3f} s of CPU time, {samples} samples")
                with_samples += samples > 0
        self.assertGreater(with_samples, MOMENTS / 3)


if __name__ == "__main__":
    unittest.main()
