"""flameprobe bench and compare: real runs of scenarios, their failures, and the report."""

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from harness import COMMAND, RENDER, Case, clean_environment, host, run, started, wait_until
from test_allocations import standard_error

PROGRAMS = Path(__file__).with_name("bench_programs.py")
SERVE = f'["{sys.executable}", "{PROGRAMS}", "serve", "{{port}}", "{{work}}"]'
LOAD = f'["{sys.executable}", "{PROGRAMS}", "load", "{{port}}", "150"]'
READY = 'ready = { port = "{port}", line = "ready to serve", within = "60s" }'
WORK = 'work = { pattern = "served ([0-9,]+) requests", unit = "requests" }'

BENCH = f"""
name = "served"
repeat = 2
[sweep]
work = [10000, 40000]
[[scenario]]
name = "busy"
command = {SERVE}
{READY}
load = {LOAD}
{WORK}
"""

REDIS = """
name = "redis"
repeat = 2
[sweep]
io = [1, 2]
[[scenario]]
name = "set"
command = ["redis-server", "--port", "{port}", "--save", "", "--io-threads", "{io}"]   # {port}: a free one
ready = { port = "{port}", within = "60s" }
load = ["redis-benchmark", "-p", "{port}", "-t", "set", "-n", "12000", "-q"]
work = { pattern = "SET: ([0-9.]+) requests per second", unit = "requests", per = "second" }
stop = "TERM"
"""


def processes_with(text):
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in command and int(path.parent.name) != os.getpid():
            found.append(command)
    return found


class BenchCase(Case):
    def bench(self, text, *options, out="out"):
        file = self.directory / "bench.toml"
        file.write_text(text)
        return run([COMMAND, "bench", file, "-o", self.directory / out, *options], self.directory)

    def report(self, out="out"):
        return json.loads((self.directory / out / "report.json").read_text())


class Bench(BenchCase):
    def test_a_server_under_load(self):
        done = self.bench(BENCH)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.assertEqual(done.stderr.splitlines()[-1], f"flameprobe: {self.directory}/out/report.html")
        self.assertIn("[4/4] busy work=", done.stderr)
        counts_instructions = json.loads(run([COMMAND, "stat", "--json", "--", "true"], self.directory).stderr)["ipc"] is not None
        scenarios = self.report()["scenarios"]
        self.assertEqual([(s["name"], s["sweep"]) for s in scenarios], [("busy", {"work": 10000}), ("busy", {"work": 40000})])
        for scenario in scenarios:
            self.assertEqual([r["work"] for r in scenario["runs"]], [150, 150])
            self.check_run_files(scenario)
            cost = scenario["cpu_ns_per_unit"]["mean"]
            # Of few samples, and one whose tick is late stands for several periods.
            self.assertAlmostEqual(sum(f["cpu_ns_per_unit"] for f in scenario["functions"]) / cost, 1, delta=0.3)
            for ran in scenario["runs"]:
                self.assertEqual(ran["ipc"] is not None, counts_instructions)
                self.assertTrue(ran["ipc"] is None or 0 < ran["ipc"] < 20, ran["ipc"])
        # Four times the work: its share of a request is not known, but it is most of it.
        small, large = (s["cpu_ns_per_unit"]["mean"] for s in scenarios)
        self.assertGreater(large / small, 2)
        scaling = self.report()["scaling"][0]
        self.assertEqual([row["n"] for row in scaling["rows"]], [10000, 40000])
        self.assertLess(scaling["rows"][1]["efficiency"], 0.5)
        self.assertEqual(processes_with(f"{PROGRAMS} serve"), [])

    def test_environment_warm_up_and_latency(self):
        run_it = f"{sys.executable} {PROGRAMS}"
        done = self.bench(f"""
repeat = 1
warm_up = "100ms"
[sweep]
n = [7]
[env]
LEVEL = "level {{n}}"
[[scenario]]
name = "told"
command = ["sh", "-c", "echo $LEVEL; exec {run_it} serve {{port}} 40000"]
{READY}
load = ["sh", "-c", "echo load at $LEVEL >>loads; {run_it} load {{port}} 100; echo p99 1.5 ms"]
{WORK}
latency = {{ pattern = "p99 ([0-9.]+) ms", unit = "ms" }}
""")
        self.assertEqual(done.returncode, 0, done.stderr)
        scenario = self.report()["scenarios"][0]
        self.assertEqual((scenario["latency"]["mean"], scenario["latency_unit"]), (1.5, "ms"))
        self.assertEqual([ran["work"] for ran in scenario["runs"]], [100])  # of the load, not of the warm-up
        loads = (self.directory / "loads").read_text().splitlines()
        self.assertGreaterEqual(len(loads), 2)
        self.assertEqual(set(loads), {"load at level 7"})
        log = (self.directory / "out" / scenario["runs"][0]["profile"]).parent / "program.log"
        self.assertIn("level 7", log.read_text().splitlines())

    def test_where_threads_wait_is_told_on_request(self):
        # Of a second of waits a hundred are looked at.
        done = self.bench(BENCH.replace("repeat = 2", "repeat = 1\nwaiting = true").replace('"150"', '"150", "8"'))
        self.assertEqual(done.returncode, 0, done.stderr)
        for scenario in self.report()["scenarios"]:
            ran = scenario["runs"][0]
            # It waits for requests, and for the next connection.
            self.assertGreater(ran["blocked_seconds"], 0)
            self.assertTrue({"recvfrom", "accept4", "accept", "[wait not sampled]"} & set(ran["waits_ns"]), ran["waits_ns"])
            total = ran["blocked_seconds"] + ran["preempted_seconds"]
            self.assertAlmostEqual(sum(ran["waits_ns"].values()) / 1e9, total, places=6)
        markdown = (self.directory / "out" / "report.md").read_text()
        self.assertIn("threads blocked", markdown)
        self.assertIn("## Where threads waited", markdown)

    def test_bytes_and_allocations_per_unit(self):
        # A unit is a call of middle_site's malloc(10000), of which there are 20,000.
        done = run([COMMAND, "bench", "-e", "alloc", "-r", "2", "-w", r"middle_site \d+ ([0-9]+)", "--unit", "calls", "-o",
                    self.directory / "out", "--", host("allocations"), "c"], self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)
        scenario = self.report()["scenarios"][0]
        self.assertEqual([ran["work"] for ran in scenario["runs"]], [20000, 20000])
        functions = {each["name"]: each for each in scenario["allocations"]["functions"]}
        for name, size, number, calls in (("middle_site", 10000, 1, 20000), ("calloc_site", 5000 * 2, 2, 40000)):
            error = 2**-0.5 * standard_error(size * 20000, calls) / 20000  # of the mean of two runs
            got = functions[name]
            self.assertAlmostEqual(got["bytes_per_unit"]["mean"], size, delta=5 * error, msg=got)
            self.assertAlmostEqual(got["allocations_per_unit"]["mean"], number, delta=5 * error / size * number, msg=got)
            # Two runs that agree by chance do not make it certain.
            self.assertGreater(got["bytes_per_unit"]["high"] - size, error / 2, got)
        self.assertGreaterEqual(functions["main"]["total_bytes_per_unit"], functions["middle_site"]["total_bytes_per_unit"])
        told = sum(int(line.split()[1]) for line in (self.directory / "out" / scenario["runs"][0]["profile"]).with_name(
            "program.log").read_text().splitlines() if "_site " in line)
        self.assertAlmostEqual(scenario["allocations"]["bytes_per_unit"]["mean"], told / 20000, delta=0.15 * told / 20000)
        markdown = (self.directory / "out" / "report.md").read_text()
        self.assertIn("## Allocations per unit of work, by function", markdown)
        self.assertIn("| middle\\_site | ", markdown.split("## Allocations")[1])

    def check_run_files(self, scenario):
        out = self.directory / "out"
        for result in scenario["runs"]:
            self.assertTrue((out / result["profile"]).is_file())
            self.assertGreater(result["samples"], 5)
        for picture in scenario["pictures"]:
            self.assertTrue((out / picture).is_file(), picture)
        self.assertTrue(scenario["pictures"][0].endswith(".svg"))
        provenance = (out / scenario["pictures"][0]).with_suffix(".txt").read_text()
        self.assertIn("frequency asked: 499 Hz", provenance)
        for report in ("report.md", "report.html"):
            self.assertIn(scenario["pictures"][0], (out / report).read_text().replace("\\", ""))

    def test_again_makes_the_report_only(self):
        text = BENCH.replace("10000, 40000", "10000").replace("repeat = 2", "repeat = 1")
        self.assertEqual(self.bench(text).returncode, 0)
        before = self.report()
        done = self.bench(text)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("run 1: done before", done.stderr)
        self.assertEqual(self.report()["scenarios"], before["scenarios"])
        other = self.bench(text + "# another\n")
        self.assertEqual(other.returncode, 2)
        self.assertIn("not of this bench as it now stands", other.stderr)

    def test_interrupted_and_resumed(self):
        file = self.directory / "bench.toml"
        slow = BENCH.replace('load = ', 'warm_up = "0s"\nload = ').replace('"150"]', '"600"]')
        file.write_text(slow)
        argv = [COMMAND, "bench", file, "-o", self.directory / "out"]
        log = self.directory / "flameprobe.log"
        with started(argv, self.directory, clean_environment()) as command:
            wait_until(lambda: "[1/4]" in log.read_text(), seconds=100, what="the first run")
            command.send_signal(signal.SIGINT)
            status = command.wait(timeout=60)
        self.assertEqual(status, 130, log.read_text())
        self.assertIn("interrupted; the same command again goes on", log.read_text())
        # The server's collector has its command line, and may outlive it while it writes.
        wait_until(lambda: processes_with(f"{PROGRAMS} serve") == [], seconds=100, what="the end of the server and its collector")
        done = run(argv, self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"\[1/4\] .*: done before")
        self.assertEqual([len(s["runs"]) for s in self.report()["scenarios"]], [2, 2])

    def test_a_scenario_that_fails(self):
        bad = BENCH.replace("10000, 40000", "10000").replace("repeat = 2", "repeat = 1") + f"""
[[scenario]]
name = "load fails"
command = {SERVE}
{READY}
load = ["sh", "-c", "echo out of luck; exit 3"]
[[scenario]]
name = "dies"
command = ["sh", "-c", "echo no config; exit 7"]
ready = {{ port = "{{port}}", within = "60s" }}
load = ["true"]
[[scenario]]
name = "never ready"
command = ["sleep", "100"]
ready = {{ port = "{{port}}", within = "200ms" }}
load = ["true"]
"""
        done = self.bench(bad)
        self.assertEqual(done.returncode, 1, done.stderr)
        reasons = {s["name"]: [f["reason"] for f in s["failures"]] for s in self.report()["scenarios"]}
        self.assertEqual(reasons["busy"], [])
        self.assertIn("the load failed: exit status 3; its last line: out of luck", reasons["load fails"][0])
        self.assertRegex(reasons["dies"][0], "the program ended before it was ready: exit status 7.*no config")
        self.assertIn("was not ready within 0.2", reasons["never ready"][0])
        self.assertIn("3 of 4 runs failed", done.stderr)
        self.assertEqual(len(self.report()["scenarios"][0]["runs"]), 1)

    def test_options_alone(self):
        done = run([COMMAND, "bench", "-n", "plain", "-r", "1", "--work", r"done (\d+) units", "--sweep", "units=40,80", "-o",
                    self.directory / "out", "--", sys.executable, PROGRAMS, "work", "{units}"], self.directory,
                   env=clean_environment(PATH=self.directory))  # without librsvg's own program
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([s["runs"][0]["work"] for s in self.report()["scenarios"]], [40, 80])
        self.assertIsNone(self.report()["scenarios"][0]["functions"][0]["low"])  # one run has no interval
        for scenario in self.report()["scenarios"]:
            picture = next(name for name in scenario["pictures"] if name.endswith(".png"))
            self.assertEqual((self.directory / "out" / picture).read_bytes()[:8], b"\x89PNG\r\n\x1a\n")

    def test_progress_on_a_terminal(self):
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        argv = [COMMAND, "bench", "-n", "plain", "-r", "2", "-o", self.directory / "out", "--", sys.executable, PROGRAMS, "work", "40"]
        done = subprocess.run(argv, cwd=self.directory, env=clean_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=theirs, timeout=100, check=False)
        os.close(theirs)
        told = b""
        with contextlib.suppress(OSError):  # EIO at the end
            while piece := os.read(ours, 4096):
                told += piece
        self.assertEqual(done.returncode, 0, told)
        self.assertIn(b"[1/2] plain, run 1: running\r", told)
        self.assertRegex(told, rb"\[2/2\] plain, run 2: running, about \d+ (s|min) left\r\x1b\[K")

    def test_default_directory_has_date_and_commit(self):
        (self.directory / ".git" / "refs").mkdir(parents=True)
        (self.directory / ".git" / "HEAD").write_text("ref: refs/main\n")
        (self.directory / ".git" / "refs" / "main").write_text("0123456789abcdef0123456789abcdef01234567\n")
        argv = [COMMAND, "bench", "-r", "1", "--", sys.executable, PROGRAMS, "work", "40"]
        for _ in range(2):
            done = run(argv, self.directory)
            self.assertEqual(done.returncode, 0, done.stderr)
        made = sorted(p.name for p in (self.directory / "results").iterdir())
        self.assertEqual(len(made), 2)
        self.assertRegex(made[0], r"^\d{4}-\d\d-\d\d-0123456789ab$")
        self.assertRegex(made[1], r"^\d{4}-\d\d-\d\d-0123456789ab(\.2)?$")  # another at midnight

    def test_bad_files_start_nothing(self):
        mark = self.directory / "started"
        command = f'command = ["touch", "{mark}"]'
        for text, message in ((f"[[scenario]]\n{command}\nlod = 1\n", r"bench\.toml:3: a scenario has no 'lod'; accepted: name, "),
                              (f"[[scenario]]\n{command}\nstop = \"X\"\n", r"bench\.toml:3: 'stop' is 'X'; accepted: "),
                              ("[[scenario]\n", r"bench\.toml:1: not TOML: "), ("", r"bench\.toml:1: there is no \[\[scenario\]\] in it"),
                              ('[[scenario]]\ncommand = ["./not-there"]\n', r"scenario 'scenario 1': \./not-there is not there")):
            with self.subTest(text=text):
                done = self.bench(text)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertRegex(done.stderr, message)
                self.assertFalse(mark.exists())
                self.assertFalse((self.directory / "out").exists())
        for argv in (["bench"], ["bench", "--nothing"], ["bench", "-r", "0", "--", "true"], ["bench", "none.toml"],
                     ["bench", "--library", "no/library.so", "--", "touch", mark]):
            with self.subTest(argv=argv):
                self.assertEqual(run([COMMAND, *argv], self.directory).returncode, 2)
        self.assertFalse(mark.exists())

    def test_redis(self):
        self.need("redis-server", "redis-benchmark")
        done = self.bench(REDIS)
        self.assertEqual(done.returncode, 0, done.stderr)
        scenarios = self.report()["scenarios"]
        self.assertEqual([(s["name"], s["sweep"]) for s in scenarios], [("set", {"io": 1}), ("set", {"io": 2})])
        self.assertTrue(all(r["work_per_second"] > 0 for s in scenarios for r in s["runs"]))


class Compare(BenchCase):
    def made(self, name, factor, spread=0.01):
        """A bench's directory whose costs are known: one function of 20 % costs `factor`, ten runs vary by `spread`."""
        runs, functions = [], {"hot": [], "rest": []}
        for i in range(10):
            weather = 1 + spread * ((i * 7) % 10 - 4.5) / 4.5
            hot, rest = 200 * factor * weather, 800 * weather
            functions["hot"].append(hot)
            functions["rest"].append(rest)
            runs.append({"cpu_ns_per_unit": hot + rest, "seconds": (hot + rest) / 1000, "work": 1_000_000, "samples": 1000000, "sampled_share": 1})
        scenario = {"name": "s", "sweep": {"n": 1}, "unit": "requests", "runs": runs,
                    "functions": [{"name": k, "runs": v} for k, v in functions.items()]}
        path = self.fresh_directory(name)
        (path / "report.json").write_text(json.dumps({"format": "flameprobe-bench", "scenarios": [scenario]}))
        return path

    def test_gate(self):
        old, same, worse = self.made("old", 1), self.made("same", 1.0005), self.made("worse", 1.2, spread=0.002)
        done = run([COMMAND, "compare", old, same, "--fail-above", "3%"], self.directory)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("Nothing changed by more than", done.stdout)
        forms = [self.directory / f"change.{ending}" for ending in ("md", "html", "json")]
        done = run([COMMAND, "compare", old, worse, "--fail-above", "1%", *[o for f in forms for o in ("-o", f)]], self.directory)
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"^hot: \+20 % CPU time a request \(\+1\d to \+2\d\), 200 ns → 240 ns; nothing else")
        self.assertRegex(done.stdout, r"\nthroughput: .*−3\.8 % ")
        self.assertRegex(done.stderr, r"changes? above --fail-above")
        self.assertTrue(forms[0].read_text().startswith("### s n=1\n**hot: +20 %"), forms[0].read_text())
        self.assertIn("hot: +20 %", forms[1].read_text())
        told = json.loads(forms[2].read_text())["comparisons"][0]
        self.assertEqual((told["scenario"], [c["name"] for c in told["findings"]]), ("s n=1", ["hot"]))
        done = run([COMMAND, "compare", worse, old, "--fail-above", "1%"], self.directory)
        self.assertEqual(done.returncode, 0, "better is no failure")

    def test_two_values_of_one_bench(self):
        both = self.made("both", 1)
        report = json.loads((both / "report.json").read_text())
        new = json.loads((self.made("new", 1.2) / "report.json").read_text())["scenarios"][0]
        report["scenarios"].append(new)
        for scenario, version in zip(report["scenarios"], ("old", "new")):
            scenario["sweep"]["version"] = version
        (both / "report.json").write_text(json.dumps(report))
        done = run([COMMAND, "compare", "--by", "version", both, "--fail-above", "1%"], self.directory)
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertIn("hot: +20 % CPU time a request", done.stdout)
        for argv, status, message in (([both], 1, "has no variable 'x' that sweeps; there are: n, version"),
                                      ([both, both], 2, "name it alone")):
            done = run([COMMAND, "compare", "--by", "x", *argv], self.directory)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn(message, done.stderr)

    def test_each_way_says_the_same(self):
        """Of the same runs: their bench, their profiles, as text, Markdown, JSON, picture and page, and the gate."""
        sides = {}
        for name, units in (("old", "20"), ("new", "60")):
            done = run([COMMAND, "bench", "-r", "4", "-F", "997", "--work", r"done (\d+) units", "-o", name, "--", sys.executable,
                        PROGRAMS, "work", units], self.directory)
            self.assertEqual(done.returncode, 0, done.stderr)
            runs = self.report(name)["scenarios"][0]["runs"]
            sides[name] = [f"{name}/{one['profile']}" for one in runs]
        old, new = (",".join(paths) for paths in sides.values())
        for per, gate in (("share", "90"), ("run", "0")):
            ways = {"bench": [COMMAND, "compare", "old", "new"], "compare": [COMMAND, "compare", old, new],
                    "groups": [COMMAND, "compare", "--before", *sides["old"], "--after", *sides["new"]],
                    "--diff": [RENDER, "--diff", old, new]}
            told = {}
            for way, argv in ways.items():
                forms = ["svg", "html"] if way == "--diff" else ["html", "md", "json"]
                for form in forms:
                    out = self.directory / f"said.{form}"
                    done = run([*argv, "--per", per, "--fail-above", gate, "-o", out], self.directory)
                    told[way, form] = (done.stdout.splitlines()[0], done.returncode)
                    self.assertIn(done.stdout.splitlines()[0].split(" (")[0].replace("&", "&amp;"), out.read_text())
            self.assertEqual(len(set(told.values())), 1, told)

    def test_revisions_and_archives(self):
        self.need("git", "tar", "xz")
        for argv in (["init", "-q"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "one"],
                     ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "two"]):
            done = run(["git", *argv], self.directory)
            self.assertEqual(done.returncode, 0, done.stderr)
        old, new = (run(["git", "rev-parse", name], self.directory).stdout.strip() for name in ("HEAD~1", "HEAD"))
        self.fresh_directory("results")
        self.made(f"results/2026-01-02-{old[:12]}", 1.5)
        self.made(f"results/2026-01-03-{old[:12]}", 1.2)
        self.made(f"results/2026-01-03-{old[:12]}.2", 1)  # the newest
        self.made(f"results/2025-01-03-{new[:12]}", 1.2)
        done = run([COMMAND, "compare", "HEAD~1", "HEAD", "--fail-above", "1%"], self.directory)
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertIn("hot: +20 % CPU time a request", done.stdout)
        (self.directory / "results").rename(self.directory / "kept")
        self.assertEqual(run([COMMAND, "compare", "--store", "kept", old[:8], "HEAD"], self.directory).returncode, 0)
        done = run(["tar", "-cJf", "new.tar.xz", "-C", "kept", f"2025-01-03-{new[:12]}"], self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = run([COMMAND, "compare", "--store", "kept", "HEAD~1", "new.tar.xz"], self.directory)
        self.assertIn("hot: +20 % CPU time a request", done.stdout, done.stderr)
        for name, message in (("HEAD~2", "HEAD~2: is neither a path nor a revision"), ("HEAD^{tree}", "is neither a path"),
                              ("new.tar", "new.tar: is neither")):
            done = run([COMMAND, "compare", "--store", "kept", name, "HEAD"], self.directory)
            self.assertEqual(done.returncode, 1)
            self.assertIn(message, done.stderr)
        self.fresh_directory("empty")
        done = run([COMMAND, "compare", "--store", "empty", "HEAD", "HEAD"], self.directory)
        self.assertIn(f"HEAD is commit {new[:12]}, and empty/ has no results of it", done.stderr)
        (self.directory / "bad.tar").write_text("no archive")
        self.assertIn("bad.tar: cannot be unpacked", run([COMMAND, "compare", "bad.tar", "bad.tar"], self.directory).stderr)

    def test_profiles(self):
        (self.directory / "a.folded").write_text("main;hot 2000\nmain;cold 8000\n")
        (self.directory / "b.folded").write_text("main;hot 3000\nmain;cold 7000\n")
        done = run([COMMAND, "compare", "a.folded", "b.folded", "--fail-above", "3%"], self.directory)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stdout, r"^hot: \+71 % time against the rest \(.*\), 20.00 % → 30.00 % of the time;")

    def test_bad_input(self):
        old = self.made("old", 1)
        (self.directory / "x.json").write_text("{}")
        os.mkfifo(self.fresh_directory("waits") / "report.json")
        for argv, status, message in (([], 2, "name two directories"), ([old, old, "-o", "x.txt"], 2, "has to end in .md"),
                                      ([old, old, "--fail-above", "much"], 2, "has to be a percentage"),
                                      ([old, old, "--min-share", "200"], 2, "percentage from 0 to 100"),
                                      ([old, old, "--thread", "x"], 1, "such options are for profiles"),
                                      ([old], 2, "name two inputs"),
                                      ([old, "none"], 1, "none"), ([old, "x.json"], 1, "is no report.json"),
                                      ([old, self.directory], 1, "report.json: cannot be read"),
                                      ([old, "waits"], 1, "report.json: cannot be read")):
            with self.subTest(argv=argv):
                done = run([COMMAND, "compare", *argv], self.directory)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main()
