"""The five workflows that FlameProbe was made for (docs/workflows.md), for real, at small size: examples/workflows. More
values and runs, and the forwarder in C++ beside the one with tokio, are for tools/test all."""

import json
import os
import re
import shutil
import subprocess
import unittest

from harness import COMMAND, LIBRARY, RENDER, ROOT, Case, clean_environment, run, sized
from programs import Missing, forwarder_built, rust_tools

EXAMPLES = ROOT / "examples" / "workflows"


class Workflow(Case):
    def setUp(self):
        super().setUp()
        self.place = self.directory / "workflows"
        shutil.copytree(EXAMPLES, self.place)
        if os.geteuid() == 0:  # nginx and the forwarder are run as they are
            self.directory.chmod(0o755)

    def rust(self, *tools):
        try:
            return rust_tools(*tools)
        except Missing as missing:
            self.skipTest(f"{missing} is not there")

    def compile(self, *programs, libraries=()):
        self.need("c++")
        for program in programs:
            done = run(["c++", "-std=c++17", "-O2", "-g", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include", f"{program}.cpp",
                        "-o", program, "-pthread", *libraries], self.place, env=dict(os.environ))
            self.assertEqual(done.returncode, 0, done.stderr)

    def bench(self, file, *changes, repeat=1, **environment):
        """A bench of the examples, made small by `changes` of its text."""
        text = (EXAMPLES / file).read_text()
        for before, after in (("repeat = 3", f"repeat = {repeat}"), *changes):
            self.assertIn(before, text)
            text = text.replace(before, after)
        (self.place / file).write_text(text)
        done = run([COMMAND, "bench", file, "-o", "results"], self.place, env={**os.environ, **environment}, timeout=250)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads((self.place / "results" / "report.json").read_text())

    def functions(self, scenario):
        return {function["name"]: function["cpu_ns_per_unit"] for function in scenario["functions"]}


class KeyServer(Workflow):
    def test_workers(self):
        rust = self.rust("rustc")
        if not os.path.exists("/usr/include/openssl/evp.h"):
            self.skipTest("libssl-dev is not installed")
        done = run(["rustc", "-O", "-g", "-D", "warnings", "-l", "crypto", "key_server.rs"], self.place, env=rust)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.compile("key_load")
        workers = sized([1, 2], [1, 2, 4, 8])
        report = self.bench("key-server.toml", ("[1, 2, 4, 8]", str(workers)), ("20000", "10000"))
        self.assertEqual([s["sweep"]["workers"] for s in report["scenarios"]], workers)
        for scenario in report["scenarios"]:
            self.assertEqual([r["work"] for r in scenario["runs"]], [10000])  # counted by the server
            self.assertEqual(scenario["unit"], "keys")
            self.assertTrue((self.place / "results" / scenario["pictures"][0]).is_file())
            totals = {function["name"]: function["total_cpu_ns_per_unit"] for function in scenario["functions"]}
            sampled = scenario["cpu_ns_per_unit"]["mean"] - sum(totals.get(note, 0) for note in ("[lost]", "[not sampled]"))
            self.assertGreater(totals["key_server::make_key"], sampled / 4)
            self.assertTrue(any("libcrypto" in name or name.startswith("EVP_") for name in totals), list(totals))
        self.assertEqual([row["n"] for row in report["scaling"][0]["rows"]], workers)


class Forwarder(Workflow):
    def check(self, **environment):
        self.need("iperf3", "python3")
        report = self.bench("forwarder.toml", ('"-t", "2"', '"-t", "1"'), **environment)
        self.assertEqual([s["sweep"]["streams"] for s in report["scenarios"]], [1, 8])
        for scenario in report["scenarios"]:
            self.assertGreater(scenario["runs"][0]["work"], 0)
            names = " ".join(self.functions(scenario))
            self.assertRegex(names, "send|recv|write|read")
        markdown = (self.place / "results" / "report.md").read_text()
        for told in ("switches voluntary", "threads blocked", "## CPU time in system calls", "## Where threads waited"):
            self.assertIn(told, markdown)

    def test_tokio(self):
        if not sized(False, True):
            self.skipTest("runs in tools/test all: cargo compiles it for longer than it runs")
        try:
            program = forwarder_built()
        except Missing as missing:
            self.skipTest(f"{missing} is not there")
        self.check(FORWARDER=str(program))

    def test_epoll(self):
        self.compile("forwarder")
        self.check()


class Http(Workflow):
    def test_scenarios_and_last_week(self):
        self.need("nginx", "wrk")
        report = self.bench("http.toml", ('"2s"', '"1s"'), repeat=2)
        self.assertEqual([s["name"] for s in report["scenarios"]], ["small page", "compressed page"])
        compressed = self.functions(report["scenarios"][1])
        self.assertTrue(any("deflate" in name or "libz" in name for name in compressed), list(compressed)[:20])
        self.assertEqual(len({picture for s in report["scenarios"] for picture in s["pictures"]}),
                         sum(len(s["pictures"]) for s in report["scenarios"]))
        shutil.copytree(self.place / "results", self.place / "last-week")
        if sized(False, True):
            shutil.rmtree(self.place / "results")
            self.bench("http.toml", ('"2s"', '"1s"'), repeat=2)
        done = run([COMMAND, "compare", "last-week", "results", "-o", "change.md"], self.place)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("compressed page", (self.place / "change.md").read_text() + done.stdout)


class Engine(Workflow):
    def commands(self, text):
        done = subprocess.run(["./engine"], cwd=self.place, input=text, capture_output=True, text=True, timeout=120, check=False,
                              env=clean_environment(LD_LIBRARY_PATH=LIBRARY.parent))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_profile_command(self):
        self.compile("engine", libraries=[f"-L{LIBRARY.parent}", "-lflameprobe"])
        told = self.commands("profile 2\nsell\nprofile 0.1\nquit\n")
        profiles = re.findall(r"(?m)^profiled (.*\.fprobe)$", told)
        self.assertEqual(len(profiles), 2, told)
        self.assertIn("commands: profile SECONDS", told)
        info = run([RENDER, profiles[0], "--info"], self.place).stdout
        self.assertRegex(info, r"Counted: +orders [\d,]+")
        for name in ("a.svg", "b.svg"):
            done = run([RENDER, profiles[0], "-o", name, "--min-samples", "1"], self.place)
            self.assertEqual(done.returncode, 0, done.stderr)
        picture = (self.place / "a.svg").read_bytes()
        self.assertEqual(picture, (self.place / "b.svg").read_bytes())
        self.assertIn(b"Book::trade", picture)
        self.assertIn(b"4,000 Hz asked", picture)
        self.assertIn("frequency asked: 4000 Hz", (self.place / "a.txt").read_text())
        few = run([RENDER, profiles[0], "-o", "few.svg", "--min-samples", "1000000"], self.place)
        self.assertEqual(few.returncode, 3, few.stderr)
        self.assertFalse((self.place / "few.svg").exists())


class Insert(Workflow):
    def test_from_cargo(self):
        if not sized(False, True):
            self.skipTest("runs in tools/test all; test_cargo has a crate of its own")
        rust = self.rust("cargo", "rustc")
        environment = {**rust, "FLAMEPROBE": str(COMMAND), "CARGO_NET_OFFLINE": "true",
                       "CARGO_TARGET_DIR": str(self.directory / "target")}
        count = "1000000"
        tool = run(["cargo", "run", "-q", "--offline", "--manifest-path", ROOT / "tools" / "cargo" / "Cargo.toml", "--",
                    "--manifest-path", self.place / "insert" / "Cargo.toml", "--example", "insert", "-F", "999", "-o",
                    self.directory / "insert", "--", count], self.directory, env=environment, timeout=250)
        self.assertEqual(tool.returncode, 0, tool.stderr)
        self.assertIn(f"{count} in the tree, {count} in the table", tool.stdout)
        folded = (self.directory / "insert.folded").read_text()
        for function in ("insert_into_tree", "insert_into_table"):
            self.assertIn(function, folded)
        self.assertTrue((self.directory / "insert.html").is_file())


if __name__ == "__main__":
    unittest.main()
