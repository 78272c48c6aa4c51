"""tests/bench/peers, the one command that measures FlameProbe beside other profilers: it works, small and beside two of them, and
counts as it says. No time is judged."""

import json
import sys
import unittest

from harness import BUILD, ROOT, Case, clean_environment, run

sys.path.insert(0, str(ROOT / "tests" / "bench" / "peers"))
import memory  # noqa: E402  (the path above is where it lies)
import readers  # noqa: E402
import tables  # noqa: E402
import truth  # noqa: E402
from figures_of_runs import Figures, Row  # noqa: E402

PERF = """known 77    1003009
\tffff1 burn (inlined)
\tffff1 leaf_70
\tffff2 main

known 77    1003009
\tffff3
"""


class Peers(Case):
    def test_small(self):
        """Of a peer that is not here the reason is told; of FlameProbe there is every figure."""
        output = self.directory / "output"
        ran = run([sys.executable, ROOT / "tests" / "bench" / "peers", "--small", "--no-install", "--only", "perf -g,gperftools",
                   "--rows", "inlined", "--output", output], self.directory, clean_environment(FLAMEPROBE_BUILD=BUILD))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        lines = [json.loads(line) for line in (output / "figures.jsonl").read_text().splitlines()]
        ours = {line["table"]: line["value"] for line in lines if line["profiler"] == "FlameProbe" and "value" in line}
        self.assertLess(ours["truth"], 0.35, lines)  # nothing right is 1; a hundred samples are seldom beyond 0.15
        self.assertGreater(ours["rooted"], 0.5)
        text = (output / "tables.md").read_text()
        self.assertRegex(text, r"\| inlined \| \d+\.\d")
        for peer in ("perf -g", "gperftools"):
            self.assertTrue(any(line["profiler"] == peer for line in lines) or peer in ran.stderr, ran.stderr)
        self.assertTrue((output / "raw" / "inlined" / "FlameProbe" / "stacks.folded.gz").exists())


class Counting(Case):
    def test_perf_script(self):
        self.assertEqual(readers.perf_script(PERF), [(["known", "main", "leaf_70", "burn (inlined)"], 1003009),
                                                     (["known", "[unknown]"], 1003009)])

    def test_distance(self):
        known = truth.Known("", 99, list, dict)
        shares = {"leaf_70": 70, "leaf_30": 30}
        right = [(["main", "leaf_70", "burn"], 70), (["main", "leaf_30"], 30)]
        elsewhere = [(["main", "leaf_70"], 35), (["[unknown]"], 65)]
        self.assertAlmostEqual(truth.distance(truth.shares_of(right, known, shares), shares), 0)
        self.assertAlmostEqual(truth.distance(truth.shares_of(elsewhere, known, shares), shares), 0.65)
        self.assertEqual(truth.distance({}, shares), 1)

    def test_a_peer_is_ahead_beyond_the_spread_only(self):
        figures = Figures(self.directory / "figures.jsonl")
        row = Row("truth", "some", "%")
        for ours, ahead, near in ((0.30, 0.10, 0.29), (0.31, 0.11, 0.31), (0.32, 0.12, 0.33)):
            figures.add(row, "FlameProbe", ours)
            figures.add(row, "ahead", ahead)
            figures.add(row, "near", near)
        text = "\n".join(tables.table("truth", figures, ["FlameProbe", "ahead", "near"]))
        self.assertIn("**11.0 (10.0–12.0)**", text)
        self.assertIn("| 31.0 (29.0–33.0) |", text)
        self.assertEqual([line for line in tables.ahead_of_us(figures) if line.startswith("- ")],
                         ["- ahead, some (truth): 11.0 %, FlameProbe 31.0"])

    def test_parts_are_added(self):
        path, row = self.directory / "figures.jsonl", Row("rooted", "some", "%", "more")
        first = Figures(path)
        first.add(row, "FlameProbe", 0.5)
        first.note(row, "other", "no result: none")
        second = Figures(path, earlier=True)
        second.add(row, "FlameProbe", 0.7)
        third = Figures(path, earlier=True)
        self.assertEqual(third.values[row]["FlameProbe"], [0.5, 0.7])
        self.assertEqual(third.notes[row]["other"], "no result: none")
        self.assertEqual(len(Figures(path).values), 0)

    def test_dhat(self):
        (self.directory / "dhat.json").write_text('{"ftbl": ["[root]", "0x10: site_50(unsigned int) (known.cpp:12)", "0x2: main (known.cpp:3)"], '
                                                  '"pps": [{"tb": 512, "fs": [1, 2]}]}')
        stacks = memory.Dhat().stacks("", 99, self.directory)
        self.assertEqual(stacks, [(["main", "site_50(unsigned int)"], 512)])
        self.assertEqual(memory.shares_of(stacks, {"site_50": 50, "site_30": 30}), {"site_50": 512})

    def test_tables_go_between_the_markers(self):
        page = self.directory / "page.md"
        page.write_text(f"before\n{tables.BEGIN}\nold\n{tables.END}\nafter\n")
        self.assertTrue(tables.put_into(page, "new"))
        self.assertEqual(page.read_text(), f"before\n{tables.BEGIN}\nnew\n{tables.END}\nafter\n")
        page.write_text("no markers\n")
        self.assertFalse(tables.put_into(page, "new"))


if __name__ == "__main__":
    unittest.main()
