"""tests/bench/peers, the one command that measures FlameProbe beside other profilers: it works, small and beside two of them, and
counts as it says. No time is judged."""

import json
import struct
import sys
import unittest

from harness import BUILD, ROOT, Case, clean_environment, run

sys.path.insert(0, str(ROOT / "tests" / "bench" / "peers"))
import memory  # noqa: E402  (the path above is where it lies)
import profilers  # noqa: E402
import readers  # noqa: E402
import runs  # noqa: E402
import summary  # noqa: E402
import tables  # noqa: E402
import truth  # noqa: E402
from causes import CAUSES, cause_of  # noqa: E402
from figures_of_runs import Call, Figures, Row, ahead  # noqa: E402

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
        ours = {line["table"]: line["value"] for line in lines if line.get("profiler") == "FlameProbe" and "value" in line}
        self.assertLess(ours["truth"], 0.35, lines)  # nothing right is 1; a hundred samples are seldom beyond 0.15
        self.assertGreater(ours["rooted"], 0.5)
        text = (output / "tables.md").read_text()
        self.assertRegex(text, r"\| inlined \| \d+\.\d")
        for peer in ("perf -g", "gperftools"):
            self.assertTrue(any(line.get("profiler") == peer for line in lines) or peer in ran.stderr, ran.stderr)
        self.assertTrue((output / "raw" / "inlined" / "FlameProbe" / "stacks.folded.gz").exists())


class Counting(Case):
    def test_perf_script(self):
        self.assertEqual(readers.perf_script(PERF), [(["known", "main", "leaf_70", "burn (inlined)"], 1003009),
                                                     (["known", "[unknown]"], 1003009)])

    def test_gperftools(self):
        """The frames that all stacks have, which its own folded text leaves out, are there."""
        data = struct.pack("<12Q", 0, 3, 0, 2500, 0, 7, 2, 0x10, 0x21, 0, 1, 0)
        named = "--- symbol\nbinary=/x\n0x0000000000000010 work<0000000000000010>--burn(int)\n0x0000000000000020 start_thread\n---\n"
        self.assertEqual(readers.gperftools(data, named), [(["start_thread", "work", "burn(int)"], 7 * 2_500_000)])

    def test_distance(self):
        known = truth.Known("", 99, list, dict)
        shares = {"leaf_70": 70, "leaf_30": 30}
        right = [(["main", "leaf_70", "burn"], 70), (["main", "leaf_30"], 30)]
        elsewhere = [(["main", "leaf_70"], 35), (["[unknown]"], 65)]
        self.assertAlmostEqual(truth.distance(truth.shares_of(right, known, shares), shares), 0)
        self.assertAlmostEqual(truth.distance(truth.shares_of(elsewhere, known, shares), shares), 0.65)
        self.assertEqual(truth.distance({}, shares), 1)

    def figures(self, call="2026-01-01 10:00", earlier=False):
        return Figures(self.directory / "figures.jsonl", Call(call, machine="a machine"), earlier)

    def test_a_peer_is_ahead_beyond_the_spread_only(self):
        figures = self.figures()
        row = Row("truth", "some", "%")
        for ours, best, near in ((0.30, 0.10, 0.29), (0.31, 0.11, 0.31), (0.32, 0.12, 0.33)):
            figures.add(row, "FlameProbe", ours)
            figures.add(row, "ahead", best)
            figures.add(row, "near", near)
        text = "\n".join(tables.table("truth", figures, ["FlameProbe", "ahead", "near"]))
        self.assertIn("**11.0 (10.0–12.0)**", text)
        self.assertIn("| 31.0 (29.0–33.0) |", text)
        self.assertEqual(tables.ahead_of_us(figures)[4:], ["| some | ahead 11.0 | 31.0 | not explained |", ""])
        self.assertEqual(tables.what_keeps_us(figures), ["- Not explained: ahead, some."])

    def test_shares_that_differ_by_a_point_are_the_same_picture(self):
        for table, expected in (("truth", False), ("cost", True)):
            self.assertEqual(ahead(Row(table, "some", "%"), [0.020, 0.021, 0.022], [0.030, 0.031, 0.032]), expected)
        self.assertTrue(ahead(Row("rooted", "some", "%", "more"), [0.98, 0.99, 1.0], [0.94, 0.95, 0.96]))

    def test_nothing_costs_less_than_nothing(self):
        cost = Row("cost", "some", "%")
        self.assertFalse(ahead(cost, [-0.07, -0.06, -0.05], [-0.02, -0.01, 0.0]))
        self.assertTrue(ahead(cost, [-0.07, -0.06, -0.05], [0.01, 0.02, 0.03]))

    def test_a_row_measured_anew_takes_the_place_of_the_earlier(self):
        row, other = Row("rooted", "some", "%", "more"), Row("rooted", "other", "%", "more")
        first = self.figures()
        for value in (0.1, 0.5):
            first.add(row, "FlameProbe", value)
        first.add(other, "FlameProbe", 0.6)
        first.note(row, "other", "no result: none")
        first.end("2026-01-01 10:09", "0.1 to 0.2")
        second = self.figures("2026-01-02 11:00", earlier=True)
        self.assertEqual(second.values[row]["FlameProbe"], [0.1, 0.5])
        self.assertEqual(second.notes[row]["other"], "no result: none")
        second.add(row, "FlameProbe", 0.7)
        third = self.figures("2026-01-03 12:00", earlier=True)
        self.assertEqual((third.values[row]["FlameProbe"], third.values[other]["FlameProbe"]), ([0.7], [0.6]))
        self.assertNotIn(row, third.notes)
        told = tables.measured(third.rows("rooted"), third)
        self.assertEqual(told, "1 run of each; 2026-01-02 11:00. Measured 2026-01-01 10:00 to 10:09, load 0.1 to 0.2: other.")
        self.assertEqual(len(self.figures().values), 0)

    def test_each_cause_is_about_a_row(self):
        """The first that fits; a cause that fits nothing explains nothing."""
        rows = {"C++ engine, 4,000 Hz, by its clock": ("gperftools", "perf -g", "perf dwarf"),
                "pthread_create": ("gperftools", "async-profiler", "samply"),
                "2,000 threads, 99 Hz, by their clock": ("perf -g",), "fork and exit of a shell": ("samply",),
                "C++ engine, 997 Hz, memory at most": ("samply",), "distance to the known sites": ("heaptrack",)}
        found = [cause_of(Row("cost", name, "%"), peer) for name, peers in rows.items() for peer in peers]
        self.assertEqual({cause.what for cause in found}, {cause.what for cause in CAUSES})
        self.assertIsNone(cause_of(Row("truth", "inlined", "%"), "samply"))

    def test_the_first_screen_counts_programs(self):
        figures = self.figures()
        for name, ours, theirs in (("one", 0.03, 0.02), ("two", 0.4, 0.02)):
            for profiler, distance in (("FlameProbe", ours), ("peer", theirs), ("by chance", 0.01)):
                figures.add(Row("truth", name, "%"), profiler, distance)
            for profiler in ("FlameProbe", "peer"):
                figures.add(Row("rooted", name, "%", "more"), profiler, 0.96 if profiler == "FlameProbe" else 0.94)
        figures.note(Row("truth", "one", "%"), "peer", "lost 3")
        lines = summary.first_screen(figures, ["FlameProbe", "peer"]).splitlines()
        self.assertIn("| programs whose shares it tells right, of 2 | 1 | **2** |", lines)
        self.assertIn("| programs whose stacks are whole, of 2 | 2 | 0 |", lines)
        self.assertIn("| programs whose stacks are not whole, without a word of it, of 2 | 0 | 1 |", lines)

    def test_the_readme_has_rows_of_the_first_screen(self):
        def rows(page):
            lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("|")]
            return lines[0], {name: values for name, *values in lines[2:]}

        def between(path, part):
            begin, end = tables.MARKERS[part]
            return (ROOT / path).read_text().split(begin)[1].split(end)[0].strip()

        few = between("README.md", "few")
        head, whole = rows(between("docs/site/performance.md", "summary"))
        places = [head.index(column) - 1 for column in summary.FEW_COLUMNS]
        for name, values in rows(few)[1].items():
            self.assertEqual(values, [whole[name][place] for place in places], name)
        figures = self.figures()
        for row in summary.ROWS:
            for profiler in summary.FEW_COLUMNS:
                figures.add(Row(row[0], row[1], "%"), profiler, 0.01)
        self.assertEqual(summary.few(figures).splitlines()[0], few.splitlines()[0])
        self.assertEqual([line.split("|")[1] for line in summary.few(figures).splitlines()[2:]],
                         [line.split("|")[1] for line in few.splitlines()[5:]])

    def test_cargo_flamegraph_writes_where_the_program_writes(self):
        ran = runs.execute(["sh", "-c", "echo program; echo 'writing flamegraph to \"/x.svg\"'"], self.directory)
        self.assertEqual(ran.stdout, "program\n")
        (self.directory / "flamegraph.folded").write_text("shares;_start;main;leaf_70 3003009\n")
        stacks = profilers.CargoFlamegraph().stacks("", 1000, self.directory)
        self.assertEqual(stacks, [(["shares", "_start", "main", "leaf_70"], 3003009)])

    def test_the_reason_is_the_error(self):
        self.assertEqual(profilers.last_words("perf: done\nError: no stacks\n\nStack backtrace:\n 0: main\n"), "Error: no stacks")
        self.assertEqual(profilers.last_words("it is not permitted\n"), "it is not permitted")

    def test_dhat(self):
        (self.directory / "dhat.json").write_text('{"ftbl": ["[root]", "0x10: site_50(unsigned int) (known.cpp:12)", "0x2: main (known.cpp:3)"], '
                                                  '"pps": [{"tb": 512, "fs": [1, 2]}]}')
        stacks = memory.Dhat().stacks("", 99, self.directory)
        self.assertEqual(stacks, [(["main", "site_50(unsigned int)"], 512)])
        self.assertEqual(memory.shares_of(stacks, {"site_50": 50, "site_30": 30}), {"site_50": 512})

    def test_tables_go_between_the_markers(self):
        page = self.directory / "page.md"
        (one, end_one), (two, end_two) = tables.MARKERS["summary"], tables.MARKERS["tables"]
        page.write_text(f"before\n{one}\nold\n{end_one}\nbetween\n{two}\nold\n{end_two}\nafter\n")
        self.assertTrue(tables.put_into(page, {"summary": "first", "tables": "second"}))
        self.assertEqual(page.read_text(), f"before\n{one}\nfirst\n{end_one}\nbetween\n{two}\nsecond\n{end_two}\nafter\n")
        page.write_text("no markers\n")
        self.assertFalse(tables.put_into(page, {"summary": "first"}))


if __name__ == "__main__":
    unittest.main()
