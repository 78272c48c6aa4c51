"""The picture is true: programs whose shares are fixed by construction (tests/targets/shares), in every engine and at
several frequencies. Each share must lie where a binomial at the true share lies; the level is divided by the number of
comparisons, so that all of them together fail by chance once in a thousand runs."""

import math
import unittest
from statistics import NormalDist

from harness import ENGINES, Case, profiled, run, shares, sized, target

# (mode, function, leaf share, inclusive share); None: not asked. Threads are their own first frame.
TRUTH = [
    ("leaves", "leaf_70", 0.70, 0.70), ("leaves", "leaf_20", 0.20, 0.20), ("leaves", "leaf_7", 0.07, 0.07),
    ("leaves", "leaf_3", 0.03, 0.03), ("leaves", "branch_27", 0.0, 0.27), ("leaves", "main", 0.0, 1.0),
    ("recursion", "recurse_60", 0.60, 0.60), ("recursion", "outside_40", 0.40, 0.40),
    ("mutual", "even_60", 0.60, 1.0), ("mutual", "odd_40", 0.40, None),
    ("tail", "jumper_20", 0.20, 0.20), ("tail", "tail_80", 0.80, 0.80),
    ("inlined", "inlined_45", 0.45, 0.45), ("inlined", "inlined_25", 0.25, 0.25), ("inlined", "host_30", 0.30, 1.0),
    ("virtual", "Square::area", 0.35, 0.35), ("virtual", "Circle::area", 0.65, 0.65),
    ("plugin", "plugin_40", 0.40, 0.40), ("plugin", "program_60", 0.60, 0.60),
    ("threads", "half", None, 0.50), ("threads", "third", None, 0.30), ("threads", "fifth", None, 0.20),
]
ROUNDS = {"threads": 2000}
FREQUENCIES = (99, 997, 4000)
EVERY = [(engine, frequency) for engine in ENGINES for frequency in FREQUENCIES]
TICK = 250  # CONFIG_HZ of Debian's kernels


def own_stacks(stacks):
    """Without what stands for no sample, without start-up (no main, no thread function), and without the helper that
    does the work: it is inlined, and its time is its caller's. The same for kernel frames: an interrupt's."""
    kept = []
    for frames, count in stacks:
        if not any("main" in f or "thread_work" in f for f in frames):
            continue
        while frames and (frames[-1].endswith("_[k]") or "burn" in frames[-1]):
            frames = frames[:-1]
        kept.append((frames, count))
    return kept


def independent(samples, engine, frequency):
    """CPU timers fire at most at the kernel's tick; above that, one sample stands for several periods. For some it is many: a
    tick that comes late in a virtual machine, of which one of 2,000 had 56 at 997 Hz; that is worth half of the samples."""
    return samples * TICK / frequency / 2 if engine == "timer" and frequency > TICK else samples


def tolerance(share, samples, comparisons):
    z = NormalDist().inv_cdf(1 - 0.001 / comparisons / 2)
    # Samples that hit the few instructions between the pieces of work: at most two in a thousand, besides chance.
    return z * math.sqrt(share * (1 - share) / samples) + 1 / samples + 0.002


class Shares(Case):
    def check(self, engine, frequency, rounds):
        comparisons = 2 * len(TRUTH) * len(ENGINES) * len(FREQUENCIES)
        for mode in dict.fromkeys(row[0] for row in TRUTH):
            with self.subTest(mode=mode, engine=engine, frequency=frequency):
                directory = self.fresh_directory(f"{mode}-{engine}-{frequency}")
                ran = run([target("shares"), mode, ROUNDS.get(mode, rounds), target("libshares-plugin.so")], directory,
                          profiled(ENGINE=engine, FREQ=frequency))
                self.assertEqual(ran.returncode, 0, ran.stderr)
                stacks = own_stacks(ran.result().stacks())
                samples = sum(count for _, count in stacks)
                self.assertGreater(samples, 30, ran.stderr)
                for row_mode, function, leaf, inclusive in TRUTH:
                    for share, is_leaf in ((leaf, True), (inclusive, False)):
                        if row_mode != mode or share is None:
                            continue
                        hits, _ = shares(stacks, function, is_leaf)
                        allowed = tolerance(share, independent(samples, engine, frequency), comparisons)
                        where = "leaf" if is_leaf else "inclusive"
                        self.assertAlmostEqual(hits / samples, share, delta=allowed,
                                               msg=f"{function} {where}, {samples} samples")


def add(engine, frequency):
    rounds = 6000 if frequency < 100 else 2500
    setattr(Shares, f"test_{engine}_at_{frequency}", lambda self: self.check(engine, frequency, rounds))


for e, f in sized([("ring", 4000), ("timer", 997), ("signal", 997)], EVERY):
    add(e, f)

if __name__ == "__main__":
    unittest.main()
