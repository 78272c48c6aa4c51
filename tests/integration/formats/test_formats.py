"""Every output is read by the tool it is for, and that tool's numbers are compared with the folded text."""

import re
import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import tools
from expected import as_folded, by_flamegraph_rules, plain, totals
from harness import BUILD, Case, profiled, run, target

MAKE_PROFILE = BUILD / "tests" / "integration" / "formats" / "make-profile"
SCOPES = ("[tenant=acme]", "[checkout]", "[payment: step 2]")


def without_thread(frames):
    return frames[1:] if len(frames) > 1 else frames


def without_thread_and_scopes(frames):
    return [f for f in without_thread(frames) if f not in SCOPES]


def per_function(rows):
    """Adds up what a tool shows apart: functions of one name in several files."""
    merged = {}
    for name, (self, total) in rows:
        known = merged.setdefault(as_folded(name), [0, 0])
        known[0] += self
        known[1] += total
    return merged


class FormatCase(Case):
    maxDiff = None

    def have(self, need):
        try:
            return need()
        except tools.Missing as missing:
            self.skipTest(str(missing))

    def compare(self, rows, stacks, without):
        self.assertEqual(per_function(rows), totals(stacks, without))

    def stacks(self, stem):
        return by_flamegraph_rules(Path(f"{stem}.folded").read_text())

    def check_pprof(self, stem, without, sample="samples", unit=1):
        self.have(tools.go)
        path = f"{stem}.pb.gz"
        # Code without a name is left to be named by others; until then pprof shows its file.
        stacks = [([re.sub(r"^\[(?:unknown in (.+)|(.+)\+0x[0-9a-f]+)\]$", r"[\1\2]", f) for f in frames], count) for frames, count in self.stacks(stem)]
        # Weights, not hits: CPU time that was read from a clock has no sample of its own.
        counts = tools.pprof_top(path, self.directory, sample=sample)
        rows = [(name, [value / unit for value in values]) for name, values in counts.items()]
        self.compare(rows, stacks, without)
        return path, totals(stacks, without)

    def check_speedscope(self, stem, without, unit):
        self.have(tools.node_modules)
        group = tools.speedscope(f"{stem}.speedscope.json")
        rows = [(frame["name"], [frame["self"] / unit, frame["total"] / unit])
                for profile in group["profiles"] for frame in profile["frames"]]
        self.compare(rows, self.stacks(stem), without)
        for profile in group["profiles"]:
            self.assertEqual(profile["weight"], profile["nonIdle"], "idle time that was not measured")
        return group

    def check_firefox(self, stem, without, unit=1):
        self.have(tools.node_modules)
        with tools.FirefoxProfiler(f"{stem}.firefox.json", self.directory) as firefox:
            info = firefox.ask("profile", "info", "--all")
            handles = [t["threadHandle"] for p in info["processes"] for t in p["threads"]]
            rows = []
            for handle in handles:
                samples = firefox.ask("thread", "functions", "--thread", handle, "--include-idle")
                rows += [(f["name"], [round(f["selfSamples"] / unit), round(f["totalSamples"] / unit)]) for f in samples["functions"]]
        # A name that the listing leaves out, or cuts, would be missing here.
        self.compare(rows, self.stacks(stem), without)
        return info


class MadeByHand(FormatCase):
    """A profile with threads, scopes, inlined and kernel functions, recursion and hostile names."""

    def setUp(self):
        super().setUp()
        ran = run([MAKE_PROFILE, self.directory], self.directory)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.stem = self.directory / "sample"

    def test_folded_by_the_rules_of_flamegraph_pl(self):
        self.assertEqual(sum(count for _, count in self.stacks(self.stem)), 113)

    def test_folded_in_speedscope(self):
        self.have(tools.node_modules)
        group = tools.speedscope(f"{self.stem}.folded")
        rows = [(f["name"], [f["self"], f["total"]]) for f in group["profiles"][0]["frames"]]
        self.assertEqual(per_function((n.removesuffix("_[k]"), v) for n, v in rows if not n.endswith("_[i]")),
                         {n: v for n, v in self.unmerged().items() if not n.endswith("_[i]")})

    def unmerged(self):
        stacks = [([f.removesuffix("_[k]") for f in frames], count) for frames, count in self.stacks(self.stem)]
        names = {f for frames, _ in stacks for f in frames}
        return {n: [sum(c for f, c in stacks if f[-1] == n), sum(c for f, c in stacks if n in f)] for n in names}

    def test_folded_in_firefox(self):
        self.have(tools.node_modules)
        with tools.FirefoxProfiler(f"{self.stem}.folded", self.directory) as firefox:
            samples = firefox.ask("thread", "samples", "--include-idle")
        self.assertEqual(samples["categoryBreakdown"]["totalSamples"], 113)

    def test_pprof(self):
        path, expected = self.check_pprof(self.stem, without_thread_and_scopes)
        cpu = tools.pprof_top(path, self.directory, sample="cpu")
        self.assertEqual(per_function(cpu.items()), {n: [s * 10**7, t * 10**7] for n, (s, t) in expected.items()})

    def test_pprof_keeps_names_whole(self):
        self.have(tools.go)
        rows = tools.pprof_top(f"{self.stem}.pb.gz", self.directory)
        self.assertIn("ns::parse<int, char>(char const*, unsigned int)", rows)
        self.assertIn("a;b", rows)
        self.assertIn("n" * 5000, rows)

    def test_pprof_lines_and_inlined_functions(self):
        self.have(tools.go)
        rows = tools.pprof_top(f"{self.stem}.pb.gz", self.directory, granularity="lines")
        self.assertEqual(rows["is_space(char) text.hpp:3"], [10, 10])
        self.assertEqual(rows["trim(char*) text.hpp:7"], [4, 14])  # inlined
        self.assertEqual(rows["trim(char*) text.hpp:8"], [5, 7])   # not inlined
        self.assertEqual(rows["ns::parse<int, char>(char const*, unsigned int) parse.cpp:29"], [0, 14])

    def test_pprof_tree(self):
        self.have(tools.go)
        tree = tools.pprof("-tree", "-nodecount=0", "-nodefraction=0", "-edgefraction=0", "-sample_index=samples",
                           f"{self.stem}.pb.gz", directory=self.directory)
        self.assertRegex(tree, r"(?m)^\s+58\s+\S+%\s+\|\s+main\n.*\|\s+\[truncated\]|\|\s+\[truncated\]\n.*\|\s+main")
        self.assertRegex(tree, r"\|\s+vfs_read")

    def test_pprof_labels(self):
        self.have(tools.go)
        tags = self.tags("sample.exact.pb.gz")
        self.assertRegex(tags, r"(?m)^ *tenant: Total 6\b")
        self.assertNotIn("tenant=acme", tags)
        for line in (r"6 .*: acme$", r"30 .*: checkout$", r"6 .*: checkout > payment; step 2$", r"81 .*: worker 3$",
                     r"32 .*: demo$", r"81 .*: 101$"):
            self.assertRegex(tags, r"(?m)^\s*" + line.replace(" ", r"(\.0)? ", 1))  # Debian's pprof has a digit more

    def test_pprof_threads_are_labels_only_where_asked_for(self):
        self.have(tools.go)
        self.assertNotIn("thread:", self.tags("sample.pb.gz"))
        self.assertRegex(self.tags("sample.folded.pb.gz"), r"(?m)^\s*81(\.0)? .*: worker \*$")

    def tags(self, name):
        return tools.pprof("-tags", "-sample_index=samples", "-unit=count", str(self.directory / name),
                           directory=self.directory)

    def test_pprof_header(self):
        self.have(tools.go)
        raw = tools.pprof("-raw", f"{self.stem}.pb.gz", directory=self.directory)
        self.assertIn("cpu/nanoseconds[dflt]", raw)
        self.assertIn("Period: 10000000", raw)
        self.assertIn("Duration: 5s", raw)
        self.assertRegex(raw, r"Mappings\n1: 0x400000/0x408000/0x1000 /usr/bin/demo ab00cd \[FN\]\[FL\]\[LN\]\[IN\]")

    def test_speedscope(self):
        group = self.check_speedscope(self.stem, without_thread, unit=10**7)
        self.assertEqual([p["name"] for p in group["profiles"]], ["demo (100)", "worker 3 (101)"])
        self.assertEqual(group["index"], 1)  # the busiest
        self.assertEqual({p["unit"] for p in group["profiles"]}, {"nanoseconds"})

    def test_firefox(self):
        info = self.check_firefox(self.stem, without_thread, unit=10)  # milliseconds
        self.assertEqual([t["name"] for p in info["processes"] for t in p["threads"]], ["demo", "worker 3"])

    def test_firefox_categories(self):
        self.have(tools.node_modules)
        with tools.FirefoxProfiler(f"{self.stem}.firefox.json", self.directory) as firefox:
            samples = firefox.ask("thread", "samples", "--thread", "t-0", "--include-idle")
        categories = {c["name"]: c for c in samples["categoryBreakdown"]["categories"]}
        self.assertEqual(categories["Kernel"]["samples"], 80)  # milliseconds
        self.assertEqual({s["name"]: s["samples"] for s in categories["User"]["subcategories"]},
                         {"Inlined": 140, "Other": 100})


class FromFoldedText(FormatCase):
    """Folded text of other tools, in every format."""

    def setUp(self):
        super().setUp()
        text = "main;a;b_[i] 10\nmain;a 5\nmain;read_[k] 7\nmain;a;[lost] 1\n"
        self.stem = self.directory / "text"
        for name, ending in (("folded", "folded"), ("pprof", "pb.gz"), ("speedscope", "speedscope.json"),
                             ("firefox", "firefox.json")):
            with open(self.directory / "input", "w+") as file:
                file.write(text)
                file.seek(0)
                ran = run([MAKE_PROFILE, name, f"{self.stem}.{ending}"], self.directory, stdin=file)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_pprof(self):
        self.check_pprof(self.stem, lambda frames: frames)

    def test_speedscope(self):
        self.check_speedscope(self.stem, lambda frames: frames, unit=1)

    def test_firefox(self):
        self.check_firefox(self.stem, lambda frames: frames)


class RealRun(FormatCase):
    """A program under FlameProbe, written in all formats when it ends."""

    def setUp(self):
        super().setUp()
        ran = run([target("shares"), "threads", "2000"], self.directory,
                  profiled(FREQ=997, FORMAT="folded,pprof,speedscope,firefox,json"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.stem = ran.result().stem

    def compare(self, rows, stacks, without):
        """FlameProbe's prctl calls libc's: tools count both in one stack, where folded text has the name once."""
        names = [[plain(frame) for frame in frames] for frames, _ in stacks]
        repeated = {name for stack in names for name in stack if stack.count(name) > 1}

        # Folded text has whole periods: each run of lines is right within one, and less than a half may not be there. Of a
        # function without any line it is not known how many such stacks it has.
        lines = {name: sum(name in stack for stack in names) for stack in names for name in stack}
        counted, expected = per_function(rows), totals(stacks, without)
        few = 1 + sum(count for _, count in stacks) / 200
        for name in counted.keys() | expected.keys():
            (own, whole), (own_told, told) = expected.get(name, (0, 0)), counted.get(name, (0, 0))
            slack = lines[name] + 1 if name in lines else few
            self.assertAlmostEqual(own_told, own, delta=slack, msg=name)
            if name not in repeated:
                self.assertAlmostEqual(told, whole, delta=slack, msg=name)

    def test_all(self):
        period = json.loads(Path(f"{self.stem}.json").read_text())["sampling"]["period_ns"]
        with self.subTest("pprof"):
            self.check_pprof(self.stem, without_thread, sample="cpu", unit=period)
        with self.subTest("firefox"):
            self.check_firefox(self.stem, without_thread, unit=period / 1e6)
        with self.subTest("speedscope"):
            group = self.check_speedscope(self.stem, without_thread, unit=period)
            self.assertGreater(len(group["profiles"]), 1)


if __name__ == "__main__":
    unittest.main()
