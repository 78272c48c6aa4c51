"""FlameProbe::Request: how long all requests took, beside the program's own log, and what the slow ones did."""

import json
import math
import re
import unittest

from harness import BUILD, COMMAND, ENGINES, Case, profiled, render, run, sized

PROGRAM = BUILD / "tests" / "integration" / "api" / "requests"
UNITS = {"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
SLOW_NS = 100e6


def ns_of(text):
    number, unit = text.split()
    return float(number) * UNITS[unit]


def requests_of(path):
    json_path = path.with_suffix(".requests.json")
    done = render(path, "-o", json_path)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return {entry["label"]: entry for entry in json.loads(json_path.read_text())["requests"]}


class Log:
    """What the program says of each request."""

    def __init__(self, stdout):
        lines = [line.split() for line in stdout.splitlines()]
        self.all = sorted(int(ns) for _, ns in lines)
        self.slow = [int(ns) for kind, ns in lines if kind == "slow"]
        self.usual = [int(ns) for kind, ns in lines if kind == "usual"]

    def at(self, part):
        return self.all[math.ceil(part * len(self.all)) - 1]


class Requests(Case):
    def test_durations_are_those_of_the_programs_log(self):
        for engine in sized(ENGINES[:1], ENGINES):
            with self.subTest(engine=engine):
                done = run([PROGRAM, "peer", "2"], self.fresh_directory(engine),
                           env=profiled(FREQ=499, ENGINE=engine, FORMAT="svg", EVENT="cpu,offcpu"))
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                log = Log(done.stdout)
                result = done.result()
                entry = requests_of(result.path("fprobe"))["checkout"]
                self.assertEqual(entry["count"], len(log.all))
                # Each worker's every fiftieth fails; how many each had is not in the log.
                self.assertAlmostEqual(entry["failed"], len(log.all) / 50, delta=3)
                self.assertEqual(entry["not_seen_one_by_one"], 0)
                for part, key in ((0.5, "p50_ns"), (0.9, "p90_ns"), (0.99, "p99_ns"), (1, "longest_ns")):
                    self.assertAlmostEqual(entry[key] / log.at(part), 1, delta=0.01, msg=key)
                self.assertAlmostEqual(entry["mean_ns"] / (sum(log.all) / len(log.all)), 1, delta=0.01)
                text = result.path("txt").read_text()
                self.assertRegex(text, rf"(?m)^request checkout: {len(log.all):,} requests, \d+ a second, \d+ failed: p50 [\d.]+ ms, p90 ")

    def slow_ones(self, kind, *options, frequency=499):
        done = run([PROGRAM, kind, "4"], self.fresh_directory(kind),
                   env=profiled(FREQ=frequency, FORMAT="none", EVENT="cpu,offcpu"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.path = done.result().path("fprobe")
        shown = render(self.path, "--requests", "checkout", *options)
        self.assertEqual((shown.returncode, shown.stderr), (0, ""), shown.stdout)
        return Log(done.stdout), shown.stdout

    def check_added(self, log, line, variance_of_one, least=SLOW_NS, most=SLOW_NS):
        """The added time of a slow one is that by construction: within four standard errors."""
        found = re.search(r"(wait|run) \+([\d.]+ \w+)", line)
        self.assertTrue(found, line)
        error = math.sqrt(variance_of_one / len(log.slow))
        self.assertGreater(ns_of(found[2]), least - 4 * error, line)
        self.assertLess(ns_of(found[2]), most + 4 * error, line)
        return found[1]

    def check_wait(self, log, line):
        """A look meets such a wait all but surely. But it shares the exact waiting time of its quarter of a second with some 60
        waits of 1.5 ms, each met with the odds of 0.14: a standard error of a sixth. Of a busy machine's run queues each wait
        loses, or keeps, a part by its length (docs/waiting.md): by how much the log tells."""
        slept, ran = 1.5e6 * len(log.all) + SLOW_NS * len(log.slow), 0.4e6 * len(log.all)
        idle_machine = min(slept / (sum(log.all) - ran), 1)
        more = sum(log.slow) / len(log.slow) - sum(log.usual) / len(log.usual)
        self.assertEqual(self.check_added(log, line, (SLOW_NS / 6) ** 2, SLOW_NS * idle_machine, max(more, SLOW_NS)), "wait")

    def test_a_lock_that_another_thread_holds(self):
        log, shown = self.slow_ones("lock", "--between", "60ms", "9s")
        line = shown.splitlines()[0]
        self.assertRegex(line, r"^checkout: p99 [\d.]+ ms, [\d.]+ × p50: \d+ slow ones (had no CPU.*; they )?wait \+[\d.]+ ms in look_up_in_big for `big`, held by reindexer$")
        self.check_wait(log, line)

    def test_a_loop(self):
        log, shown = self.slow_ones("cpu", "--between", "60ms", "9s")
        line = shown.splitlines()[0]
        self.assertRegex(line, r" run \+[\d.]+ ms \(±[\d.]+ ms\) in parse_large$")
        self.assertEqual(self.check_added(log, line, SLOW_NS * 1e9 / 499), "run")  # Poisson

    def test_a_slow_peer_and_the_forms_of_output(self):
        log, shown = self.slow_ones("peer")  # the slowest 1 %
        self.assertRegex(shown.splitlines()[0], r" wait \+[\d.]+ ms in ask_peer \(read\)$")
        self.check_wait(log, shown.splitlines()[0])
        self.assertRegex(shown.splitlines()[1], r"^checkout of [\d.]+ ms and more: [\d.]+ ms in the mean by their own clock, [\d.]+ ms of it in samples")
        for ending in ("svg", "html"):
            picture = self.path.with_suffix(f".slow.{ending}")
            done = render(self.path, "--requests", "checkout", "--slowest", "2%", "-o", picture)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("ask_peer", picture.read_text())
            self.assertIn("the other checkout", picture.read_text())

    def test_what_cannot_be_chosen(self):
        log, _ = self.slow_ones("peer")
        for options, status, message in (
                (["--requests", "login"], 1, r"has no requests 'login': it has checkout\n"),
                (["--requests", "checkout", "--between", "1h", "2h"], 1, r"no 'checkout' is so slow: of [\d,]+ p50 is .*choose by --between\n"),
                (["--requests", "checkout", "--between", "50ms", "10ms"], 2, r"the first time must be the shorter one\n"),
                (["--requests", "checkout", "--slowest", "0"], 2, r"a percentage above 0 and below 100\n"),
                (["--slowest", "1%"], 2, r"--slowest and --between belong to --requests LABEL\n")):
            done = render(self.path, *options)
            self.assertEqual((done.returncode, done.stdout), (status, ""), options)
            self.assertRegex(done.stderr, message)

    def test_a_child_counts_its_own(self):
        """Passings of before the fork are the parent's."""
        done = run([PROGRAM, "fork", "1"], self.directory, env=profiled(FREQ=499, FORMAT="none", CHILDREN="separate"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        counts = sorted(requests_of(result.path("fprobe"))["checkout"]["count"] for result in done.results().values())
        self.assertEqual(counts, sorted(int(line) for line in done.stdout.splitlines()))

    def test_without_the_library_nothing_is_missing(self):
        done = run([PROGRAM, "peer", "0.2"], self.directory)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertGreater(len(Log(done.stdout).all), 20)

    def test_the_last_lines(self):
        done = run([COMMAND, "run", "-e", "cpu,offcpu", "-o", "server", "--", PROGRAM, "peer", "1"], self.directory)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"(?m)^flameprobe: checkout: [\d,]+ requests, \d+ a second, \d+ failed: p50 ")


if __name__ == "__main__":
    unittest.main()
