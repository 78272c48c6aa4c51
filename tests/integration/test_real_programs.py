"""Real programs under load: whole, readable stacks, a result for every process, and the picture beside it."""

import re
import unittest
from collections import Counter
from pathlib import Path

from harness import GUEST, Case, profiled, render, run, sized
from programs import COMPILER, PROGRAMS, Missing
from real_programs import measure

SECONDS = sized(2, 3)
LONG = ("rust tokio", "postgres", "ripgrep")  # a build by cargo, a database that is made first, a program that few have


class RealPrograms(Case):
    def check(self, program, processes):
        try:
            figures, _, _, results = measure(program, self.fresh_directory("run"), profiled(FREQ=999), SECONDS)
        except Missing as what:
            self.skipTest(f"{what} is not installed")
        self.assertGreaterEqual(len([r for r in results if "svg" in r.endings]), processes)
        for result in results:
            self.assertLessEqual({"fprobe", "folded", "svg"}, result.endings, result.stem.name)
            self.keep(result)
        self.assertGreater(figures.samples, 300)
        # Nearly all: on a busy machine a stack is cut now and then, and says so.
        self.assertGreaterEqual(figures.rooted_share, 0.995, f"{figures}")
        self.assertGreaterEqual(figures.named_share, 0.99, f"{figures}")
        stacks = [stack for result in results for stack in result.stacks()]
        for function in program.functions:
            self.assert_function(stacks, function)

    def keep(self, result):
        """For test_other_architecture, with its names: the program is not there."""
        if GUEST:
            kept = Path(GUEST) / f"{result.stem.name}.fprobe"
            for argv in (["--archive", result.path("fprobe"), "-o", kept], [kept, "-o", kept.with_suffix(".folded")],
                         [kept, "-o", kept.with_suffix(".svg")]):
                done = render(*argv)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_make_tree(self):
        """gcc -> cc1, as: short processes, each with a result of its own."""
        try:
            figures, _, _, results = measure(COMPILER, self.fresh_directory("run"), profiled(FREQ=999), SECONDS)
        except Missing as what:
            self.skipTest(f"{what} is not installed")
        self.assertGreaterEqual(len([r for r in results if r.executable == "cc1"]), 4)
        # cc1 recurses for milliseconds into stacks deeper than any copy: about one sample in fifty is cut, and says so.
        self.assertGreaterEqual(figures.rooted_share, 0.96, f"{figures}")


HOT_JAVASCRIPT = """
function leafA(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) | 0; return s; }
function leafB(n) { let s = 1; for (let i = 0; i < n; i++) s = (s ^ (i * 17)) | 0; return s; }
function mid(k) { return leafA(3000 + (k & 15)) + leafB(1000 + (k & 7)); }
function outer(k) { return mid(k) + 1; }
const end = Date.now() + 700;
for (let k = 0, t = 0; Date.now() < end; ) for (let j = 0; j < 50; j++) t += outer(k++);
"""


class JustInTime(Case):
    """V8 moves functions, enters them through stubs and changes the permissions of parts of its memory."""

    def test_node(self):
        self.need("node")
        (self.directory / "hot.js").write_text(HOT_JAVASCRIPT)
        callers = {"leafA": "mid", "leafB": "mid", "mid": "outer"}
        for times in range(sized(3, 50)):
            ran = run(["node", "--perf-basic-prof", "--no-turbo-inlining", self.directory / "hot.js"],
                      self.fresh_directory(str(times)), profiled(FREQ=997))
            self.assertEqual(ran.returncode, 0, ran.stderr)
            samples, cut, edges = 0, 0, Counter()
            for frames, count in ran.result().stacks():
                names = [re.sub(r"^JS:\W?(\w+) .*", r"\1", frame) for frame in frames]
                hot = [at for at, name in enumerate(names) if name in (*callers, "outer")]
                samples += count * bool(hot)
                cut += count * (bool(hot) and "[truncated]" in frames)
                edges.update({(names[at - 1], names[at]): count for at in hot})
            self.assertGreater(samples, 30)
            # A first version of a function lives for milliseconds; its code is gone when its last samples are looked at.
            self.assertLessEqual(cut / samples, 0.07, f"{cut} of {samples} samples are cut")
            wrong = {edge: count for edge, count in edges.items()
                     if edge[1] in callers and edge[0] in (*callers, "outer") and edge[0] != callers[edge[1]]}
            self.assertEqual(wrong, {})


for one in [p for p in PROGRAMS if GUEST or p.name not in sized(LONG, ())]:
    setattr(RealPrograms, "test_" + re.sub(r"\W+", "_", one.name), lambda self, p=one: self.check(p, p.processes))

if __name__ == "__main__":
    unittest.main()
