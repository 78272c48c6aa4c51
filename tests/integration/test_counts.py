"""FlameProbe::count: what a program counts is in its profile, exactly, whatever its threads and children do."""

import json
import unittest

from harness import BUILD, COMMAND, ENGINES, Case, clean_environment, profiled, render, run, sized

PROGRAMS = BUILD / "tests" / "integration" / "api"


def work_of(path, *options):
    json_path = path.with_suffix(".work.json")
    done = render(path, "-o", json_path, *options)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return {entry["name"]: entry for entry in json.loads(json_path.read_text())["work"]}


class Counts(Case):
    def test_threads_and_a_child(self):
        for program in ("counts", "counts_no_pie"):
            for engine in sized(ENGINES[:1] if program == "counts_no_pie" else ENGINES, ENGINES):
                with self.subTest(program=program, engine=engine):
                    directory = self.fresh_directory(f"{program}.{engine}")
                    done = run([PROGRAMS / program], directory, env=profiled(FREQ=999, ENGINE=engine, FORMAT="none", CHILDREN="separate"))
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    (parent, requests), (child, of_child) = (map(int, line.split()) for line in done.stdout.splitlines())
                    results = {pid: result for (pid, _), result in done.results().items()}
                    work = work_of(results[parent].path("fprobe"))
                    self.assertEqual({name: entry["count"] for name, entry in work.items()},
                                     {"requests": requests, "bytes": 1000 * requests, "made at run time": 7})
                    self.assertGreater(work["requests"]["sampled_ns_per_unit"], 100)
                    # The child's own only: it inherits its parent's memory.
                    work = work_of(results[child].path("fprobe"))
                    self.assertEqual({name: entry["count"] for name, entry in work.items()},
                                     {"requests": of_child, "bytes": 1000 * of_child})

    def test_processes_that_are_never_sampled(self):
        """Neither uses the CPU time below which an unsampled process leaves no results (FLAMEPROBE_MIN_CPU)."""
        for engine in ENGINES:
            with self.subTest(engine=engine):
                done = run([PROGRAMS / "counts", "10"], self.fresh_directory(engine), 
                           env=profiled(FREQ=1, ENGINE=engine, FORMAT="svg,json", CHILDREN="separate"))
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                results = {pid: result for (pid, _), result in done.results().items()}
                for pid, requests in (map(int, line.split()) for line in done.stdout.splitlines()):
                    self.assertEqual(results[pid].endings, {"fprobe"})  # there is nothing to draw
                    info = render(results[pid].path("fprobe"), "--info")
                    self.assertIn(f"requests {requests}", info.stdout, info.stderr)

    def test_run_says_once_that_there_is_no_picture(self):
        done = run([COMMAND, "run", "-F", "1", "-o", "counted", "--", PROGRAMS / "counts", "10"], self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"\Aflameprobe: no picture: .*too little to be sampled.*\nflameprobe: counted\.fprobe\n\Z")
        self.assertEqual({path.name for path in self.directory.iterdir()}, {"counted.fprobe"})

    def test_told_by_info_and_merged(self):
        done = run([PROGRAMS / "counts"], self.directory, env=profiled(FREQ=999, FORMAT="svg", CHILDREN="separate"))
        profiles = [result.path("fprobe") for result in done.results().values()]
        (_, requests), (_, of_child) = (map(int, line.split()) for line in done.stdout.splitlines())
        info = render(profiles[0], "--info").stdout
        self.assertRegex(info, r"(?m)^Counted: +requests [\d,]+, \d+(\.\d+)? µs of sampled CPU time each$")
        self.assertIn(f"counted requests: {requests}\n", done.results()[done.pid, "counts"].path("txt").read_text())
        folded = self.directory / "all.json"
        self.assertEqual(render(*profiles, "-o", folded).returncode, 0)
        merged = {entry["name"]: entry["count"] for entry in json.loads(folded.read_text())["work"]}
        self.assertEqual(merged["requests"], requests + of_child)
        archived = self.directory / "archived.fprobe"
        self.assertEqual(render("--archive", done.results()[done.pid, "counts"].path("fprobe"), "-o", archived).returncode, 0)
        self.assertEqual(work_of(archived)["requests"]["count"], requests)

    def test_without_the_library(self):
        for program in ("counts", "counts_no_pie", "counts_c"):
            done = run([PROGRAMS / program], self.directory, env=clean_environment())
            self.assertEqual((done.returncode, done.stderr), (0, ""), program)

    def test_more_names_than_there_is_room_for(self):
        done = run([PROGRAMS / "counts_c"], self.directory, env=profiled(FREQ=999, FORMAT="none"))
        self.assertEqual(done.returncode, 0, done.stderr)
        counts = {name: entry["count"] for name, entry in work_of(done.result().path("fprobe")).items()}
        beyond = counts.pop("(too many names)")
        self.assertEqual((len(counts), beyond), (255, 2 * 45))
        self.assertEqual(set(counts.values()), {2})

    def test_unit_of_work_of_a_bench(self):
        argv = [COMMAND, "bench", "-n", "counted", "-r", "1", "--sweep", "each=4000,8000", "-o", self.directory / "out"]
        program = ["--", PROGRAMS / "counts", "{each}"]
        done = run([*argv, "--count", "requests", *program], self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)
        scenarios = json.loads((self.directory / "out" / "report.json").read_text())["scenarios"]
        self.assertEqual([(s["unit"], s["runs"][0]["work"]) for s in scenarios], [("requests", 15 * 4000), ("requests", 15 * 8000)])
        self.assertGreater(scenarios[0]["cpu_ns_per_unit"]["mean"], 0)
        argv[-1] = self.directory / "other"
        done = run([*argv, "--count", "rows", *program], self.directory)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("the program has not counted 'rows'", done.stderr)
        self.assertIn("it counted: bytes, made at run time, requests", done.stderr)


if __name__ == "__main__":
    unittest.main()
