"""Every kind of profile by every command, option and format, and every pair by merge and comparison: a status that is documented,
a message of one sentence, no exception, and everywhere the same totals. The profiles are small, and kept in tests/data/kinds."""

import gzip
import itertools
import json
import os
import re
import subprocess
import unittest
from concurrent.futures import ThreadPoolExecutor

import pprof_rules
from harness import COMMAND, RENDER, ROOT, Case, clean_environment, read_folded
from page_data import PageData

DATA = ROOT / "tests" / "data" / "kinds"
KINDS = {path.stem if path.suffix == ".fprobe" else path.name: path for path in [*sorted(DATA.glob("*.fprobe")), *sorted(DATA.glob("*.folded"))]}
KINDS["windows"] = DATA / "windows"
EMPTY = ("empty", "empty.folded")
EVENTS = {"events": ("cpu", "offcpu", "page-faults"), "several-events": ("cpu", "offcpu"), "alloc": ("alloc", "alloc-objects"),
          "heap": ("heap", "heap-end")}
UNITS = {"waits": "time", "wall": "time", "alloc": "bytes", "heap": "living bytes"}
FORMATS = ("folded", "svg", "html", "pprof", "speedscope", "firefox", "otlp", "otlp-json", "json")
OPTIONS = (["--reverse"], ["--icicle"], ["--unfold"], ["--each-thread"], ["--merge-threads"], ["--short-names"], ["--own-code"],
           ["--fold-glue"], ["--no-inline"], ["--min-width", "0"], ["--siblings", "weight"], ["--for", "readme"], ["--idle"])


def call(argv):
    done = subprocess.run(argv, capture_output=True, timeout=60, env=clean_environment(FLAMEPROBE_LOG=None))
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def many(calls):
    """The results of {key: argv}, by key."""
    with ThreadPoolExecutor(os.cpu_count() + 1) as pool:
        return dict(zip(calls, pool.map(call, calls.values())))


def total_of(format, output):
    """The weight of all stacks in an output, in the unit that the format has; None where it does not tell."""
    if format == "folded":
        return sum(count for _, count in read_folded(output.decode()))
    if format == "html":
        return PageData.of_page(output.decode()).weight
    if format == "pprof":
        profile = pprof_rules.decode(gzip.decompress(output) if output[:2] == b"\x1f\x8b" else output)
        return profile.total(profile.types[-1][0])
    if format == "speedscope":
        return sum(sum(one["weights"]) for one in json.loads(output)["profiles"])
    if format == "firefox":
        return round(sum(sum(one["samples"]["weight"]) for one in json.loads(output)["threads"]) * 1e6)
    if format == "json":
        told = json.loads(output)
        return next(told[key] for key in ("stack_ns", "stack_bytes", "stack_events", "stack_samples") if told.get(key) is not None)
    return None


class Kinds(Case):
    def check(self, key, result, statuses=(0,)):
        status, _, message = result
        with self.subTest(key):
            self.assertIn(status, statuses, message)
            self.assertNotRegex(message, r"exception|terminate called|Assertion|\[json|std::|Sanitizer")
            if status == 1:
                self.assertRegex(message, r"^flameprobe(-render|)( compare)?: \S.*\S\n$")
        return status == 0

    def inputs(self, kind):
        return sorted(KINDS[kind].iterdir()) if KINDS[kind].is_dir() else [KINDS[kind]]

    def test_each_kind_in_each_format(self):
        of = {(kind, event): [RENDER, *self.inputs(kind), *(["--event", event] if event else [])]
              for kind in KINDS for event in ("", *EVENTS.get(kind, ()))}
        results = many({(*key, format): [*argv, "-f", format, "-o", "-"] for key, argv in of.items() for format in FORMATS})
        totals = {}
        for (kind, event, format), result in results.items():
            good = self.check(f"{kind} {event} as {format}", result, (1,) if kind in EMPTY else (0,))
            if good:
                totals.setdefault((kind, event), {})[format] = total_of(format, result[1])
        self.assertEqual(len(totals), len(of) - len(EMPTY))
        for key, by_format in totals.items():
            with self.subTest("totals", kind=key):
                html = by_format["html"]
                self.assertGreater(html, 0)
                every_event = key[0] in EVENTS and not key[1]  # which these formats hold then
                for format in ("json",) if every_event else ("json", "speedscope", "pprof"):
                    self.assertEqual(by_format[format], html, format)

    def test_each_kind_with_each_option(self):
        kinds = [kind for kind in KINDS if kind not in EMPTY]
        folded = many({kind: [RENDER, *self.inputs(kind), "-f", "folded", "-o", "-"] for kind in kinds})
        for format in ("folded", "svg", "html"):
            calls = {(kind, *option): [RENDER, *self.inputs(kind), *option, "-f", format, "-o", "-"] for kind in kinds for option in OPTIONS}
            for (kind, *option), result in many(calls).items():
                good = self.check(f"{kind} as {format} with {option}", result)
                if good and format == "folded" and option != ["--idle"]:
                    with self.subTest("total", kind=kind, option=option):
                        self.assertEqual(total_of("folded", result[1]), total_of("folded", folded[kind][1]))

    def test_each_kind_with_each_table(self):
        tables = (["--top", "5"], ["--top", "5", "--sort", "total"], ["--info"], ["--by-scope"])
        results = many({(kind, *table): [RENDER, *self.inputs(kind), *table] for kind in KINDS for table in tables})
        for (kind, *table), result in results.items():
            self.check(f"{kind} {table}", result, (0, 1) if kind in EMPTY else (0,))
            self.assertTrue(result[1] or result[0], (kind, table))

    def test_each_pair_merged(self):
        pairs = list(itertools.combinations(KINDS, 2))
        results = many({pair: [RENDER, *self.inputs(pair[0]), *self.inputs(pair[1]), "-f", "json", "-o", "-"] for pair in pairs})
        alone = many({kind: [RENDER, *self.inputs(kind), "-f", "json", "-o", "-"] for kind in KINDS})
        for pair, result in results.items():
            good = self.check(f"{pair} merged", result, (0, 1))
            singles = [alone[kind] for kind in pair]
            if good and all(status == 0 for status, _, _ in singles) and not any(kind.endswith("folded") for kind in pair):
                with self.subTest("total", pair=pair):
                    self.assertEqual(total_of("json", result[1]), sum(total_of("json", output) for _, output, _ in singles))

    def test_each_pair_merged_into_a_profile(self):
        """It has the totals of its parts, is read as these are, and cannot be of folded text."""
        profiles = [kind for kind, path in KINDS.items() if path.suffix == ".fprobe"]
        pairs = [pair for pair in itertools.product(profiles, repeat=2) if not set(pair) <= set(EMPTY)]
        out = {pair: self.directory / f"{pair[0]}+{pair[1]}.fprobe" for pair in pairs}
        for pair, result in many({pair: [RENDER, *self.inputs(pair[0]), *self.inputs(pair[1]), "-o", out[pair]] for pair in pairs}).items():
            self.check(f"{pair} into a .fprobe", result)
        apart = many({pair: [RENDER, *self.inputs(pair[0]), *self.inputs(pair[1]), "-f", "json", "-o", "-"] for pair in pairs})
        merged = many({pair: [RENDER, out[pair], "-f", "json", "-o", "-"] for pair in pairs})
        for pair in pairs:
            with self.subTest("total", pair=pair):
                self.assertEqual(merged[pair][0], apart[pair][0], merged[pair][2])
                if merged[pair][0] == 0:
                    self.assertEqual(total_of("json", merged[pair][1]), total_of("json", apart[pair][1]))
        for kind in ("windows", "cpu.folded") if "cpu.folded" in KINDS else ("windows",):
            self.check(f"{kind} into a .fprobe", call([RENDER, *self.inputs(kind), "-o", self.directory / "one.fprobe"]), (0, 1))
        status, _, message = call([RENDER, KINDS[profiles[0]], "--top", "3", "-o", self.directory / "no.fprobe"])
        self.assertEqual((status, "keeps processes as they were recorded" in message), (2, True), message)

    def test_each_kind_compared_with_itself(self):
        """Both sides together are the whole."""
        told, calls = {}, {}
        for kind, path in KINDS.items():
            if path.suffix != ".fprobe" or kind in EMPTY or UNITS.get(kind) == "living bytes":
                continue
            told[kind] = json.loads(call([RENDER, path, "-f", "json", "-o", "-"])[1])
            half = ["--to", f"{told[kind]['run']['duration_ns'] // 2}ns"]
            for how, choice in (("time", half), ("thread", ["--thread", told[kind]["threads"][0]["name"]]), ("processes", ["--process", "^p"])):
                calls[kind, how] = [RENDER, "--diff", path, *choice]
        compared = 0
        for (kind, how), (status, output, message) in many(calls).items():
            self.check(f"{kind} against itself by {how}", (status, output, message), (0, 1))
            if status == 1:
                self.assertRegex(message, "there are no samples (before|after)", (kind, how))
            elif found := re.search(r"([\d,]+) samples before, ([\d,]+) after", output.decode()):
                compared += 1
                with self.subTest("whole", kind=kind, how=how):
                    self.assertEqual(sum(int(one.replace(",", "")) for one in found.groups()), told[kind]["stack_samples"])
        self.assertGreater(compared, 6)

    def test_each_pair_compared(self):
        calls = {}
        for before, after in itertools.product(KINDS, repeat=2):
            sides = [KINDS[before], KINDS[after]]
            for format in ("html", "svg"):
                calls[before, after, format] = [RENDER, "--diff", *sides, "-f", format, "-o", "-"]
            calls[before, after, "text"] = [RENDER, "--diff", *sides]
            calls[before, after, "compare"] = [COMMAND, "compare", *sides]
        results = many(calls)
        for (before, after, how), result in results.items():
            same_unit = UNITS.get(before, "cpu") == UNITS.get(after, "cpu") or any("folded" in side for side in (before, after))
            possible = not {before, after} & set(EMPTY) and same_unit
            self.check(f"{before} against {after} as {how}", result, (0,) if possible else (0, 1))
        for (before, after, how), (status, output, _) in results.items():
            with self.subTest("one verdict", pair=(before, after), how=how):
                text = results[before, after, "text"]
                self.assertEqual(status, text[0])
                if how == "compare" and status == 0:
                    self.assertEqual(output, text[1])
            if before == after and status == 0 and how == "text":
                with self.subTest("equal to itself", kind=before):
                    self.assertRegex(output.decode(), "^Nothing changed by more than")

    def test_each_pair_of_events_compared(self):
        calls = {(kind, event, format): [RENDER, "--diff", KINDS[kind], KINDS[kind], "--event", event, "-f", format, "-o", "-"]
                 for kind, events in EVENTS.items() for event in events for format in ("html", "svg")}
        for key, result in many(calls).items():
            self.check(" ".join(key), result)


if __name__ == "__main__":
    unittest.main()
