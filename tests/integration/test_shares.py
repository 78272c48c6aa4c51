"""The picture is true: programs whose shares are fixed by construction (tests/targets/shares), in every engine and at
several frequencies. Each share must lie where a binomial at the true share lies, in hits: one that a late tick of a virtual
machine made heavy is still one observation. The level is divided by the number of comparisons, so that all of them
together fail by chance once in a thousand runs."""

import json
import math
import os
import unittest
from statistics import NormalDist

from harness import EMULATED, ENGINES, SIZE, Case, named, profiled, render, run, sized, target

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
# Of timers, a thread of less than a tenth of a second may end before its name is read.
ROUNDS = {"threads": 400 if EMULATED else sized(1600, 2000)}
FREQUENCIES = (99, 997, 4000)
EVERY = [(engine, frequency) for engine in ENGINES for frequency in FREQUENCIES]


def own_functions(profile):
    """Hits of each function and thread (leaf, inclusive), and of all stacks. Left out: start-up (no main, no thread function),
    and the frames of the inlined helper that does the work and of the kernel (an interrupt's): their time is their caller's."""
    told = render(profile, "--focus", "main|thread_work", "--hide", r"burn|_\[k\]$", "--format", "json", "-o", "-")
    summary = json.loads(told.stdout)
    hits = {row["name"]: (row["self"], row["total"]) for row in summary["functions"]}
    return hits | {thread["name"]: (None, thread["samples"]) for thread in summary["threads"]}, summary["stack_samples"]


def on_one_cpu():
    """An emulator that executes its CPUs in turn lets the time of all go by: of three threads on two of them (0.5, 0.3, 0.2
    of the work), the one that is alone at the end had 0.44 of the CPU time, 0.50 where there was one CPU."""
    os.sched_setaffinity(0, {0})


def tolerance(share, samples, comparisons):
    z = NormalDist().inv_cdf(1 - 0.001 / comparisons / 2)
    # Samples that hit the few instructions between the pieces of work: at most two in a thousand, and how many of 200 samples
    # these are is chance too, where the share itself (0 or 1) leaves nothing to it.
    between = 0.002
    return z * math.sqrt((share * (1 - share) + between) / samples) + 1 / samples + between


class Shares(Case):
    def check(self, engine, frequency, rounds):
        self.need_engine(engine)
        comparisons = 2 * len(TRUTH) * len(ENGINES) * len(FREQUENCIES)
        modes = list(dict.fromkeys(row[0] for row in TRUTH))
        # Who unwinds is as in the timer engine; when it does is seen from the leaves and the threads.
        for mode in ("leaves", "threads") if SIZE == "quick" and engine == "signal" else modes:
            with self.subTest(mode=mode, engine=engine, frequency=frequency):
                directory = self.fresh_directory(f"{mode}-{engine}-{frequency}")
                ran = run([target("shares"), mode, ROUNDS.get(mode, rounds), target("libshares-plugin.so")], directory,
                          profiled(ENGINE=engine, FREQ=frequency), preexec_fn=on_one_cpu if EMULATED else None)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                functions, samples = own_functions(ran.result().path("fprobe"))
                self.assertGreater(samples, 30, ran.stderr)
                for row_mode, function, leaf, inclusive in TRUTH:
                    for share, is_leaf in ((leaf, True), (inclusive, False)):
                        if row_mode != mode or share is None:
                            continue
                        hits = sum(own if is_leaf else whole for name, (own, whole) in functions.items()
                                   if named([name], function))
                        allowed = tolerance(share, samples, comparisons)
                        where = "leaf" if is_leaf else "inclusive"
                        self.assertAlmostEqual(hits / samples, share, delta=allowed,
                                               msg=f"{function} {where}, {samples} samples")


def add(engine, frequency):
    rounds = (6000 if frequency < 100 else sized(1000, 2500)) // (5 if EMULATED else 1)
    setattr(Shares, f"test_{engine}_at_{frequency}", lambda self: self.check(engine, frequency, rounds))


for e, f in sized([("ring", 4000), ("timer", 997), ("signal", 997)], EVERY):
    add(e, f)

if __name__ == "__main__":
    unittest.main()
