"""The picture is true: programs whose shares are fixed by construction (tests/targets/shares), in every engine and at
several frequencies. Each share must lie where a binomial at the true share lies, in hits: one that a late tick of a virtual
machine made heavy is still one observation. The level is divided by the number of comparisons, so that all of them
together fail by chance once in a thousand runs. Threads are compared in time, with what each says that it used: beside others'
work, CPUs differ in speed, and more of one thread's ticks come late."""

import json
import math
import unittest
from statistics import NormalDist

from harness import EMULATED, ENGINES, Case, named, profiled, render, run, sized, target

# (mode, function, leaf share, inclusive share); None: not asked
TRUTH = [
    ("leaves", "leaf_70", 0.70, 0.70), ("leaves", "leaf_20", 0.20, 0.20), ("leaves", "leaf_7", 0.07, 0.07),
    ("leaves", "leaf_3", 0.03, 0.03), ("leaves", "branch_27", 0.0, 0.27), ("leaves", "main", 0.0, 1.0),
    ("recursion", "recurse_60", 0.60, 0.60), ("recursion", "outside_40", 0.40, 0.40),
    ("mutual", "even_60", 0.60, 1.0), ("mutual", "odd_40", 0.40, None),
    ("tail", "jumper_20", 0.20, 0.20), ("tail", "tail_80", 0.80, 0.80),
    ("inlined", "inlined_45", 0.45, 0.45), ("inlined", "inlined_25", 0.25, 0.25), ("inlined", "host_30", 0.30, 1.0),
    ("virtual", "Square::area", 0.35, 0.35), ("virtual", "Circle::area", 0.65, 0.65),
    ("plugin", "plugin_40", 0.40, 0.40), ("plugin", "program_60", 0.60, 0.60),
]
# Of timers, a thread of less than a tenth of a second may end before its name is read.
THREAD_ROUNDS = 400 if EMULATED else sized(1600, 2000)
THREADS = ("half", "third", "fifth")
FREQUENCIES = (99, 997, 4000)
EVERY = [(engine, frequency) for engine in ENGINES for frequency in FREQUENCIES]


def own_functions(profile):
    """Hits of each function (leaf, inclusive), and of all stacks. Left out: start-up (no main), and the frames of the inlined
    helper that does the work and of the kernel (an interrupt's): their time is their caller's."""
    told = render(profile, "--focus", "main", "--hide", r"burn|_\[k\]$", "--format", "json", "-o", "-")
    summary = json.loads(told.stdout)
    return {row["name"]: (row["self"], row["total"]) for row in summary["functions"]}, summary["stack_samples"]


def tolerance(share, samples, comparisons):
    z = NormalDist().inv_cdf(1 - 0.001 / comparisons / 2)
    # Samples that hit the few instructions between the pieces of work: at most two in a thousand, and how many of 200 samples
    # these are is chance too, where the share itself (0 or 1) leaves nothing to it.
    between = 0.002
    return z * math.sqrt((share * (1 - share) + between) / samples) + 1 / samples + between


class Shares(Case):
    def profile(self, mode, rounds, engine, frequency):
        ran = run([target("shares"), mode, rounds, target("libshares-plugin.so")],
                  self.fresh_directory(f"{mode}-{engine}-{frequency}"), profiled(ENGINE=engine, FREQ=frequency))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran

    def check(self, engine, frequency, rounds):
        self.need_engine(engine)
        comparisons = (2 * len(TRUTH) + len(THREADS)) * len(ENGINES) * len(FREQUENCIES)
        modes = list(dict.fromkeys(row[0] for row in TRUTH))
        for mode in modes:
            with self.subTest(mode=mode, engine=engine, frequency=frequency):
                ran = self.profile(mode, rounds, engine, frequency)
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
        with self.subTest(mode="threads", engine=engine, frequency=frequency):
            ran = self.profile("threads", THREAD_ROUNDS, engine, frequency)
            used = {name: int(ns) for name, ns in (line.split() for line in ran.stdout.splitlines()) if name in THREADS}
            self.assertEqual(sorted(used), sorted(THREADS))
            told = json.loads(render(ran.result().path("fprobe"), "--format", "json", "-o", "-").stdout)["threads"]
            # What was lost is as true as what was sampled; what only the ledger knows would be true by its making.
            found = {thread["name"]: sum(thread[f"{part}_ns"] for part in ("sampled", "lost", "throttled")) for thread in told}
            samples = sum(thread["samples"] for thread in told)
            self.assertGreater(samples, 30, ran.stderr)
            for name, ns in used.items():
                share = ns / sum(used.values())
                self.assertAlmostEqual(found.get(name, 0) / sum(used.values()), share, delta=tolerance(share, samples, comparisons),
                                       msg=f"{name}, {samples} samples, {told}")


def add(engine, frequency):
    rounds = (6000 if frequency < 100 else sized(1000, 2500)) // (5 if EMULATED else 1)
    setattr(Shares, f"test_{engine}_at_{frequency}", lambda self: self.check(engine, frequency, rounds))


for e, f in sized([("ring", 4000), ("timer", 997)], EVERY):
    add(e, f)

if __name__ == "__main__":
    unittest.main()
