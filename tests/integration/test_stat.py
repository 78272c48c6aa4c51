"""flameprobe stat: the command's status and signals, and figures of programs whose use of resources is known."""

import json
import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from harness import COMMAND, Case, clean_environment, host, run, started, target, wait_until

USES = """
import threading, time
memory = bytearray(50_000_000)
for i in range(0, len(memory), 4096): memory[i] = 1
def sleeper():
    for _ in range(100): time.sleep(0.01)
threads = [threading.Thread(target=sleeper) for _ in range(3)]
for t in threads: t.start()
for t in threads: t.join()
"""


SLEEPS = "import time; [time.sleep(0.01) for _ in range(100)]"


class Stat(Case):
    def stat(self, *command, before=()):
        out = self.directory / "stat.json"
        done = run([*before, COMMAND, "stat", "--json", "-o", out, "--", *command], self.directory)
        return done, json.loads(out.read_text()) if out.exists() else None

    def test_known_use(self):
        done, figures = self.stat(sys.executable, "-c", USES)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertGreaterEqual(figures["voluntary_switches"], 300)
        self.assertGreaterEqual(figures["minor_faults"], 50_000_000 // 4096 // 512)  # huge pages count once
        self.assertGreaterEqual(figures["peak_memory_bytes"], 50_000_000)
        self.assertLess(figures["peak_memory_bytes"], 200_000_000)
        self.assertGreater(figures["task_clock_ms"], 0)
        self.assertGreaterEqual(figures["elapsed_seconds"], 1)
        self.assertEqual(figures["processes"][0]["threads"], 4)
        self.assertEqual(figures["threads_seen"], 4)
        self.assertGreaterEqual(figures["run_queue_ms"], 0)

    def test_a_process_that_runs_already(self):
        """What it used before does not count, nor what its children use."""
        out = self.directory / "running.json"
        burn = "import time\nwhile time.process_time() < %s: pass\n"
        work = (burn % 0.5 + "import subprocess, sys, threading; print('ready', flush=True); sys.stdin.readline()\n"
                "threading.Thread(target=lambda: [time.sleep(0.001) for _ in range(200)]).start()\n"
                f"subprocess.run([sys.executable, '-c', {burn % 0.5!r}])\n" + burn % 0.9 + "time.sleep(100)")
        program = subprocess.Popen([sys.executable, "-c", work], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (program.kill(), program.communicate()))
        self.assertEqual(program.stdout.readline(), "ready\n")
        stat = subprocess.Popen([COMMAND, "stat", "--json", "-o", out, "-p", str(program.pid)], stderr=subprocess.PIPE, text=True)
        wait_until(lambda: "signalfd" in str([os.readlink(f) for f in Path(f"/proc/{stat.pid}/fd").iterdir()]), what="the look")
        program.stdin.write("go\n")
        program.stdin.flush()
        cpu = lambda: sum(map(int, Path(f"/proc/{program.pid}/stat").read_text().split()[13:15])) / os.sysconf("SC_CLK_TCK")
        wait_until(lambda: cpu() >= 0.88 and "S" in Path(f"/proc/{program.pid}/stat").read_text().split()[2], what="its work")
        program.kill()
        self.assertEqual(stat.communicate()[1], "")
        self.assertEqual(stat.returncode, 0)
        figures = json.loads(out.read_text())
        self.assertEqual((figures["exit_status"], figures["ended"], len(figures["processes"])), (None, "it has ended", 1))
        self.assertAlmostEqual(figures["task_clock_ms"], 400, delta=100)
        self.assertAlmostEqual(figures["user_seconds"] + figures["system_seconds"], 0.4, delta=0.1)
        self.assertGreater(figures["voluntary_switches"], 50)  # of about 200, less where a CPU is waited for

    def test_the_end_is_seen_without_a_pidfd(self):
        """Where others outlive the main thread, theirs is the process's end."""
        go = self.directory / "go"
        outlived = (f"def wait():\n    while not os.path.exists('{go}'): time.sleep(0.05)\n"
                    "threading.Thread(target=wait).start()\nctypes.CDLL(None).syscall({'x86_64': 60, 'aarch64': 93}[os.uname().machine], 0)")
        for name, end in (("one thread", "pass"), ("main thread outlived", outlived)):
            with self.subTest(program=name):
                code = f"import ctypes, os, sys, threading, time\nprint(flush=True)\nsys.stdin.readline()\n{end}"
                ending = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                self.addCleanup(lambda ending=ending: (ending.kill(), ending.communicate()))
                ending.stdout.readline()
                stat = subprocess.Popen([target("inject"), "pidfd_open", "1+", "ENOSYS", "--", COMMAND, "stat", "-d", "100s", "-p",
                                         str(ending.pid)], stderr=subprocess.PIPE, text=True)
                self.addCleanup(lambda stat=stat: stat.poll() is None and (stat.kill(), stat.communicate()))
                time.sleep(1)  # for its first look
                ending.stdin.write(b"\n")
                ending.stdin.flush()
                if end == outlived:
                    time.sleep(1)
                    self.assertIsNone(stat.poll())
                    go.touch()
                told = stat.communicate(timeout=50)[1]
                self.assertEqual(stat.returncode, 0, told)
                self.assertIn("it has ended", told)

    def test_a_thread_is_no_process(self):
        with subprocess.Popen([sys.executable, "-c", "import threading, sys\nthreading.Thread(target=sys.stdin.readline).start()\n"
                               "print(flush=True)"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
            program.stdout.readline()
            thread = max(map(int, os.listdir(f"/proc/{program.pid}/task")))
            done = run([COMMAND, "stat", "-p", thread, "-d", "100ms"], self.directory, clean_environment())
            self.assertEqual((done.returncode, done.stderr),
                             (1, f"flameprobe: process {thread} is a thread of process {program.pid}: flameprobe stat -p {program.pid}\n"))

    def test_wrong_use_of_a_process(self):
        for arguments, status, words in ((["-p", "x"], 2, "no process number"), (["-p", "4194304"], 1, "there is no process"),
                                         (["-d", "1s", "true"], 2, "--duration is for --pid"), (["-p", "1", "true"], 2, "no command"),
                                         (["-p", "1", "-e", "offcpu"], 2, "flameprobe attach -e offcpu 1")):
            with self.subTest(arguments=arguments):
                done = run([COMMAND, "stat", *arguments], self.directory, clean_environment())
                self.assertEqual((done.returncode, done.stdout), (status, ""))
                self.assertIn(words, done.stderr)

    def test_cpu_time_of_children_counts(self):
        done, figures = self.stat("sh", "-c", f"{host('ends')} return 400; exit 3")
        self.assertEqual(done.returncode, 3)
        self.assertEqual((figures["exit_status"], figures["ended"]), (3, "exit status 3"))
        self.assertGreater(figures["task_clock_ms"], 100)
        cpu = 1000 * (figures["user_seconds"] + figures["system_seconds"])
        self.assertAlmostEqual(figures["task_clock_ms"] / cpu, 1, delta=0.25)

    def test_waiting_time_by_system_call(self):
        out = self.directory / "waits.json"
        done = run([COMMAND, "stat", "--json", "-e", "offcpu", "-o", out, "--", "sh", "-c", f"{sys.executable} -c '{SLEEPS}'; exit 3"],
                   self.directory)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "", ""))
        figures = json.loads(out.read_text())
        calls = {of["call"]: of for of in figures["blocked"]}
        # A second and more of each; waits of the same quarter of a second that no look met may take a part of that.
        self.assertGreater(calls["clock_nanosleep"]["seconds"], 0.7)
        self.assertGreater(calls["wait4"]["seconds"], 0.7)  # the shell's
        self.assertGreater(figures["blocked_seconds"], 1.99)
        self.assertGreaterEqual(figures["blocked_seconds"], sum(of["seconds"] for of in calls.values()) - 0.001)
        self.assertEqual(os.listdir(self.directory), ["waits.json"])
        done = run([COMMAND, "stat", "--event=wall", sys.executable, "-c", SLEEPS], self.directory)
        self.assertRegex(done.stderr, r"[0-9.]+ s +in clock_nanosleep +# >?[0-9.]+ % of it, about [0-9,]+ waits?")

    def test_waiting_time_that_cannot_be_had(self):
        done, figures = self.stat("/bin/true")
        self.assertNotIn("blocked", figures)
        self.assertNotIn("blocked_seconds", figures)
        self.assertEqual(run([COMMAND, "stat", "-e", "offcpo", "touch", "begun"], self.directory).returncode, 2)
        self.assertFalse((self.directory / "begun").exists())

    def test_table(self):
        done = run([COMMAND, "stat", "sh", "-c", "echo out; exit 4"], self.directory)
        self.assertEqual((done.returncode, done.stdout), (4, "out\n"))
        for label in ("task-clock", "CPUs utilised", "user time", "system time", "context switches, voluntary",
                      "CPU migrations", "run-queue delay", "page faults, minor", "peak memory"):
            self.assertIn(label, done.stderr)
        self.assertRegex(done.stderr, r"not here +hardware counters|instructions per cycle")

    def test_where_perf_is_refused(self):
        probe = run([target("inject"), "perf_event_open", "1+", "EPERM", "--", "true"], self.directory)
        if probe.returncode == 125:
            self.skipTest(f"no tracing here: {probe.stderr.strip()}")
        done, figures = self.stat("sh", "-c", "exit 5", before=[target("inject"), "perf_event_open", "1+", "EPERM", "--"])
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("perf_event_paranoid", figures["not_here"]["cycles"])
        self.assertIsNone(figures["ipc"])
        self.assertIsNotNone(figures["task_clock_ms"])

    def test_signals_are_passed_on(self):
        script = "trap 'exit 42' TERM; echo ready > mark; while :; do sleep 0.05; done"
        for command, expected in ((script, 42), ("echo ready > mark; while :; do sleep 0.05; done", -signal.SIGTERM)):
            with self.subTest(expected=expected):
                mark = self.directory / "mark"
                mark.unlink(missing_ok=True)
                with started([COMMAND, "stat", "--", "sh", "-c", command], self.directory, clean_environment()) as process:
                    wait_until(mark.exists, what="the command")
                    process.send_signal(signal.SIGTERM)
                    self.assertEqual(process.wait(timeout=60), expected)
                self.assertIn("task-clock", (self.directory / "flameprobe.log").read_text())

    def test_an_output_that_cannot_be_written_is_told_before_the_command_starts(self):
        (self.directory / "folder").mkdir()
        for place in ("no/such/place", "folder"):
            for arguments in (["touch", "begun"], ["-p", os.getpid(), "-d", "1s"]):
                with self.subTest(place=place, arguments=arguments):
                    done = run([COMMAND, "stat", "-o", place, *arguments], self.directory, clean_environment())
                    self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                    self.assertRegex(done.stderr, rf"^flameprobe: --out: {place}: .*\n$")
        for status in (0, 5):  # one that is gone at the end
            (self.directory / "gone").mkdir()
            done = run([COMMAND, "stat", "-o", "gone/file", "sh", "-c", f"rmdir gone; exit {status}"], self.directory)
            self.assertEqual(done.returncode, status or 1)
            self.assertRegex(done.stderr, r"^flameprobe: gone/file: .*\n$")
        self.assertEqual(os.listdir(self.directory), ["folder"])

    def test_usage(self):
        self.assertEqual(run([COMMAND, "stat"], self.directory).returncode, 2)
        self.assertEqual(run([COMMAND, "stat", "--nothing", "true"], self.directory).returncode, 2)
        self.assertEqual(run([COMMAND, "stat", "./not-there"], self.directory).returncode, 127)
        (self.directory / "plain").write_text("")
        os.chmod(self.directory / "plain", 0o644)
        self.assertEqual(run([COMMAND, "stat", "./plain"], self.directory).returncode, 126)


if __name__ == "__main__":
    unittest.main()
