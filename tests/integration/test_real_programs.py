"""Real programs under load: whole, readable stacks, a result for every process, and the picture beside it."""

import re
import unittest

from harness import Case, profiled, sized
from programs import COMPILER, PROGRAMS, Missing
from real_programs import measure

SECONDS = sized(2, 3)
BUILT_BY_CARGO = ("rust tokio",)


class RealPrograms(Case):
    def check(self, program, processes):
        try:
            figures, _, _, results = measure(program, self.fresh_directory("run"), profiled(FREQ=999), SECONDS)
        except Missing as what:
            self.skipTest(f"{what} is not installed")
        self.assertGreaterEqual(len([r for r in results if "svg" in r.endings]), processes)
        for result in results:
            self.assertLessEqual({"fprobe", "folded", "svg"}, result.endings, result.stem.name)
        self.assertGreater(figures.samples, 300)
        self.assertGreaterEqual(figures.rooted_share, 0.995, f"{figures}")
        self.assertGreaterEqual(figures.named_share, 0.99, f"{figures}")
        stacks = [stack for result in results for stack in result.stacks()]
        for function in program.functions:
            self.assert_function(stacks, function)

    def test_make_tree(self):
        """gcc -> cc1, as: short processes, each with a result of its own."""
        try:
            figures, _, _, results = measure(COMPILER, self.fresh_directory("run"), profiled(FREQ=999), SECONDS)
        except Missing as what:
            self.skipTest(f"{what} is not installed")
        self.assertGreaterEqual(len([r for r in results if r.executable == "cc1"]), 4)
        # cc1 recurses for milliseconds into stacks deeper than any copy: about one sample in fifty is cut, and says so.
        self.assertGreaterEqual(figures.rooted_share, 0.96, f"{figures}")


for one in [p for p in PROGRAMS if p.name not in sized(BUILT_BY_CARGO, ())]:
    setattr(RealPrograms, "test_" + re.sub(r"\W+", "_", one.name), lambda self, p=one: self.check(p, p.processes))

if __name__ == "__main__":
    unittest.main()
