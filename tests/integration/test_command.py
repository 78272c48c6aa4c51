"""The flameprobe command with the real library: run profiles what it runs, and doctor foretells what the library does."""

import re
import shutil
import signal
import subprocess
import unittest
from pathlib import Path

import harness
from harness import COMMAND, LIBRARY, Case, clean_environment, host, profiled, read_folded, run, shares, started, target, wait_until

WORK = [host("ends"), "return", "400"]  # computes, prints a line, and ends with status 6
PRINTED = "ending by return\n"


class Run(Case):
    def test_profile_status_and_path(self):
        out = self.directory / "picture.%e.%p"
        done = run([COMMAND, "run", "-F", "499", "-o", out, "--", *WORK], self.directory)
        self.assertEqual((done.returncode, done.stdout), (6, PRINTED), done.stderr)
        told = re.fullmatch(r"flameprobe: (.*)", done.stderr.splitlines()[-1])
        picture = Path(told[1])
        self.assertRegex(picture.name, r"^picture\.host-ends\.\d+\.svg$")
        self.assertIn("work_ms", picture.read_text())
        stacks = read_folded(picture.with_suffix(".folded").read_text())
        self.assert_function(stacks, "work_ms", at_least=50)
        info = harness.render(picture.with_suffix(".fprobe"), "--info").stdout
        self.assertIn("499 Hz asked", info)

    def test_provenance_beside_the_picture(self):
        commit = "0123456789abcdef0123456789abcdef01234567"
        (self.directory / ".git").mkdir()
        (self.directory / ".git" / "HEAD").write_text(commit + "\n")
        done = run([COMMAND, "run", "-F", "499", "-o", "picture", "--", *WORK], self.directory)
        self.assertEqual(done.returncode, 6, done.stderr)
        lines = (self.directory / "picture.txt").read_text().splitlines()
        facts = dict(line.split(": ", 1) for line in lines)
        self.assertEqual(list(facts)[:8], ["command", "executable", "host", "pid", "start", "duration", "complete", "directory"])
        self.assertEqual((facts["commit"], facts["directory"]), (commit, str(self.directory)))
        self.assertEqual(facts["frequency asked"], "499 Hz")
        self.assertRegex(facts["compilers"], "GCC|clang")
        self.assertGreater(int(facts["samples"]), 0)
        self.assertTrue({"dirty", "CPU", "cores", "governor", "kernel", "paranoid", "container", "event", "engine", "rooted",
                         "lost", "FlameProbe version", "build id"} <= set(facts), facts)
        info = harness.render(self.directory / "picture.fprobe", "--info").stdout
        self.assertRegex(info, rf"commit: +{commit}")
        self.assertRegex(info, rf"CPU: +{re.escape(facts['CPU'])}")

    def test_no_picture_no_provenance(self):
        run([COMMAND, "run", "-F", "499", "-o", "x", "-f", "folded", "--", *WORK], self.directory)
        self.assertEqual({p.name for p in self.directory.iterdir()}, {"x.folded", "x.fprobe"})

    def test_children_lie_beside_it(self):
        done = run([COMMAND, "run", "-F", "499", "--", "sh", "-c", f"{' '.join(map(str, WORK))}; exit 9"], self.directory)
        self.assertEqual(done.returncode, 9, done.stderr)
        self.assertEqual({result.executable for result in done.results().values()} - {"sh", "dash", "bash"}, {"host-ends"})
        self.assertRegex(done.stderr.splitlines()[-1], r"^flameprobe: .*\.svg$")

    def test_without_samples_it_says_so(self):
        done = run([COMMAND, "run", "-F", "1", "--", "true"], self.directory)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("no picture", done.stderr)

    def under_signals(self, script):
        """Sends SIGTERM to `flameprobe run` once there are samples of the shell; its status and what it said last."""
        with started([COMMAND, "run", "-F", "499", "-o", "shell.%p", "--", "sh", "-c", script], self.directory,
                     clean_environment()) as command:
            wait_until(lambda: list(self.directory.glob("shell.*.fprobe")), what="the first samples")
            command.send_signal(signal.SIGTERM)
            status = command.wait(timeout=60)
        lines = (self.directory / "flameprobe.log").read_text().splitlines()
        return status, lines

    def test_a_signal_for_the_command(self):
        status, lines = self.under_signals("trap 'exit 42' TERM; while :; do :; done")
        self.assertEqual(status, 42, lines)
        self.assertRegex(lines[-1], r"^flameprobe: .*shell\.\d+\.svg$")

    def test_a_deadly_signal_for_the_command(self):
        status, lines = self.under_signals("while :; do :; done")
        self.assertEqual(status, -signal.SIGTERM, lines)
        self.assertRegex(lines[-1], r"^flameprobe: .*shell\.\d+\.(svg|fprobe)$")


class Doctor(Case):
    REFUSED = [target("inject"), "perf_event_open", "1+", "EPERM", "--"]

    def told(self, done):
        """(engine, why) of doctor's report."""
        engine = re.search(r"(?m)^  engine +(\S+): (.*)$", done.stdout)
        self.assertIsNotNone(engine, done.stdout + done.stderr)
        return engine[1], engine[2]

    def check(self, before=(), **settings):
        """Doctor's answer and the library's deed, both where `before` puts them."""
        directory = self.fresh_directory("-".join(settings) + ("refused" if before else "free"))
        variables = {f"FLAMEPROBE_{name}": value for name, value in settings.items()}
        doctor = run([*before, COMMAND, "doctor"], directory, env=clean_environment(**variables))
        if before and doctor.returncode == 125:
            self.skipTest(f"no tracing here: {doctor.stderr.strip()}")
        engine, why = self.told(doctor)
        # Not inject itself, which is where it is permitted.
        done = run([*before, "env", f"LD_PRELOAD={LIBRARY}", *WORK], directory,
                   env=clean_environment(FLAMEPROBE_LOG="stderr", **variables))
        self.assertEqual((done.returncode, done.stdout), (6, PRINTED), done.stderr)
        if engine == "none":
            self.assertEqual(doctor.returncode, 1)
            self.assertIn(why, done.stderr)
            self.assertEqual(done.results(), {})
            return engine
        self.assertEqual(doctor.returncode, 0)
        info = harness.render(done.result().path("fprobe"), "--info").stdout
        method = re.search(r"(?m)^Method: +engine (\S+) \((.*)\); unwinder (\w+), (.*?) of stack a sample; kernel (\w+)", info)
        self.assertIsNotNone(method, info)
        self.assertEqual(method[1], engine)
        self.assertTrue(method[2].startswith(why), f"{method[2]!r} is not what doctor said: {why!r}")
        unwinder, stack = re.search(r"(?m)^  unwinder +(\w+).*; (.*) of stack are copied", doctor.stdout).groups()
        self.assertEqual((method[3], method[4]), (unwinder, stack))
        self.assertEqual("yes" in re.search(r"(?m)^  kernel frames +(.*)$", doctor.stdout)[1], method[5] == "on", info)
        return engine

    def test_here(self):
        self.check()

    def test_engines_that_were_asked_for(self):
        self.assertEqual(self.check(ENGINE="timer", STACK="8192"), "timer")
        self.assertIn(self.check(ENGINE="signal"), ("signal", "none"))
        self.check(ENGINE="ring", KERNEL="off")

    def test_where_perf_is_refused(self):
        self.assertEqual(self.check(self.REFUSED), "timer")
        self.assertEqual(self.check(self.REFUSED, ENGINE="ring"), "none")

    def test_what_a_stripped_program_lacks(self):
        self.need("strip")
        program = self.directory / "stripped"
        shutil.copy(host("ends"), program)
        subprocess.run(["strip", program], check=True, timeout=60)
        report = run([COMMAND, "doctor", program], self.directory).stdout
        self.assertRegex(report, r"(?m)^  symbols +exported functions only: .*\[stripped\+0x")
        self.assertRegex(report, r"(?m)^  debug info +none")
        self.assertRegex(report, r"(?m)^  unwind tables +yes")
        whole = run([COMMAND, "doctor", host("ends")], self.directory).stdout
        self.assertRegex(whole, r"(?m)^  symbols +all functions")
        done = run([program, *WORK[1:]], self.directory, env=profiled(FREQ=499))
        stacks = done.result().stacks()
        self.assertEqual(shares(stacks, "work_ms")[0], 0)
        self.assertGreater(sum(count for frames, count in stacks if any(frame.startswith("[stripped+0x") for frame in frames)), 50)
        self.assertLess(sum(count for frames, count in stacks if "[truncated]" in frames), 10)


if __name__ == "__main__":
    unittest.main()
