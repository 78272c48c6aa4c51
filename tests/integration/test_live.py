"""What shows a program while it runs: flameprobe top in a terminal, flameprobe live and run --live in a browser."""

import contextlib
import fcntl
import http.client
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import unittest
import urllib.parse
from collections import Counter
from pathlib import Path

from forged import of_process
from harness import COMMAND, Case, clean_environment, host, profiled, render, run, started, wait_until
from page_data import PageData
from test_totals import duration, plain

# Busy for half of the time, so that tests beside it go on.
BUSY = [sys.executable, "-c", "import threading, time\nwhile True:\n    sum(range(100000))\n    time.sleep(0.002)"]


class Shown(Case):
    def busy(self, **settings):
        """A busy program under the profiler, until the end of the test, with some samples written."""
        child = self.enterContext(started(BUSY, self.directory, profiled(FREQ=499, KERNEL="off", FORMAT="none", OUT="busy", **settings)))
        wait_until(lambda: list(self.directory.glob("busy.run/*.fprobe")) and self.samples(child.pid) > 20, 30, "samples")
        return child

    @staticmethod
    def end(child):
        child.kill()
        child.wait()

    def samples(self, pid):
        done = subprocess.run([COMMAND, "top", "--once", str(pid)], env=clean_environment(), capture_output=True, text=True, timeout=60)
        found = re.search(r"([\d,]+) samples", done.stdout)
        return int(found[1].replace(",", "")) if found else 0

    def get(self, url, path=None, host=None, method="GET", origin=None):
        place = urllib.parse.urlsplit(url)
        connection = http.client.HTTPConnection(place.hostname, place.port, timeout=60)
        connection.request(method, place.path if path is None else path, headers=({"Host": host} if host else {}) | ({"Origin": origin} if origin else {}))
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), answer


class Live(Shown):
    def test_the_page_is_for_this_machine_and_the_token_only(self):
        for engine in ("ring", "timer"):
            child = self.busy(ENGINE=engine)
            page = subprocess.Popen([COMMAND, "live", str(child.pid)], stdout=subprocess.PIPE, env=clean_environment(), text=True)
            try:
                url = page.stdout.readline().strip()
                self.assertRegex(url, r"^http://127\.0\.0\.1:\d+/[0-9a-f]{32}/$")
                status, text, answer = self.get(url)
                self.assertEqual(status, 200)
                self.assertIn("connect-src 'self'", text)
                self.assertEqual(answer.getheader("Cache-Control"), "no-store")
                self.assertEqual(answer.getheader("Referrer-Policy"), "no-referrer")
                status, text, _ = self.get(url + "data")
                self.assertEqual(status, 200, text)
                data = json.loads(text)
                self.assertTrue(data["running"])
                self.assertIn(f"pid {child.pid}", data["title"])
                port = urllib.parse.urlsplit(url).port
                for path, host in (("/", None), ("/" + "0" * 32 + "/", None), ("/" + "0" * 32 + "/data", None), (None, "evil.example"),
                                   (None, f"evil.example:{port}"), ("/..", None)):
                    self.assertEqual(self.get(url, path, host)[0], 404, (path, host))
                for origin, status in (("http://evil.example", 404), ("null", 404), (f"http://127.0.0.1:{port}", 200)):
                    self.assertEqual(self.get(url, origin=origin)[0], status, origin)
                self.assertEqual(self.get(url, method="POST")[0], 405)
                listening = {line.split()[1] for line in open("/proc/net/tcp", encoding="ascii").read().splitlines()[1:] if line.split()[3] == "0A"}
                self.assertIn(f"0100007F:{port:04X}", listening)
                self.assertNotIn(f"00000000:{port:04X}", listening)
                # The page gets more samples later, and shows the end of the program.
                first = data["columns"]
                wait_until(lambda: json.loads(self.get(url + "data")[1])["columns"] != first, 30, "more samples")
                self.end(child)
                wait_until(lambda: not json.loads(self.get(url + "data")[1])["running"], 30, "the end")
            finally:
                page.send_signal(signal.SIGTERM)
                self.assertEqual(page.wait(30), 0)
                page.stdout.close()
            for left in [*self.directory.glob("busy.*"), *self.directory.glob("busy.run/*")]:
                if left.is_file():
                    left.unlink()
            with contextlib.suppress(OSError):
                (self.directory / "busy.run").rmdir()

    def test_every_number_is_that_of_the_profile(self):
        """Of a program that stands still top, the live page's data and a rendering of its growing file say the same."""
        child = self.busy()
        page = self.enterContext(subprocess.Popen([COMMAND, "live", str(child.pid)], stdout=subprocess.PIPE, env=clean_environment(), text=True))
        self.addCleanup(page.terminate)
        url, file = page.stdout.readline().strip(), next(self.directory.glob("busy.run/*.fprobe"))
        child.send_signal(signal.SIGSTOP)
        once = lambda: subprocess.run([COMMAND, "top", "--once", str(child.pid)], env=clean_environment(), capture_output=True, text=True, timeout=60).stdout

        def still():
            before = once()
            live, told = json.loads(self.get(url + "data")[1]), json.loads(render(file, "--short-names", "-f", "json", "-o", "-").stdout)
            return once() == before and (before, live, told)

        top, live, told = wait_until(still, 60, "a profile that does not grow")
        whole, hits = told["stack_ns"], told["stack_samples"]  # the account is older than the last samples
        self.assertRegex(top.splitlines()[0], rf"  {re.escape(duration(whole))} of CPU time, {hits:,} samples$")
        self.assertRegex(live["subtitle"], rf"^{re.escape(duration(whole))} of CPU time in .*, {hits:,} samples$")
        data = PageData(live["profile"], live["columns"])
        self.assertEqual((data.hits, data.weight), (hits, whole))
        part = lambda ns: (duration(ns), f"{100 * ns / whole:.1f}")
        threads, functions = (re.split(r" FUNCTION\n", top)[at] for at in (0, 1))
        told_threads = re.findall(r"^ *(\S+ \S+) +([\d.]+)  (\S+ \(\d+\))$", threads, re.M)
        self.assertEqual({name: (time, share) for time, share, name in told_threads}, {name: part(weight) for name, weight in data.threads.items()})
        names = Counter(plain(row["name"]) for row in told["functions"])
        rows = {plain(row["name"]): [row["self_ns"], row["total_ns"]] for row in told["functions"] if names[plain(row["name"])] == 1}
        shown = re.findall(r"^ *(\S+ \S+) +([\d.]+) +(\S+ \S+) +([\d.]+)  (.+?)(?:  \S+)?$", functions, re.M)
        # A row of the table also has what glue below the function used; the page's table has the same rows.
        shown = {name: tuple(figures) for *figures, name in shown if name in rows and name in data.rows}
        self.assertGreater(len(shown), 3)
        self.assertEqual(shown, {name: (*part(data.rows[name][0]), *part(data.rows[name][1])) for name in shown})
        both = rows.keys() & data.functions.keys()
        self.assertGreater(len(both), 3)
        self.assertEqual({name: data.functions[name] for name in both}, {name: rows[name] for name in both})

    def test_idle_connections_shut_nobody_out(self):
        """Any user of the machine can make them: they know the port, not the token."""
        child = self.busy()
        page = self.enterContext(subprocess.Popen([COMMAND, "live", str(child.pid)], stdout=subprocess.PIPE, env=clean_environment(), text=True))
        self.addCleanup(page.terminate)
        url = page.stdout.readline().strip()
        place = urllib.parse.urlsplit(url)
        idle = []
        for _ in range(3):
            for _ in range(100):
                idle.append(self.enterContext(socket.create_connection((place.hostname, place.port), timeout=5)))
            owner = http.client.HTTPConnection(place.hostname, place.port, timeout=5)  # less than idle ones may last
            owner.request("GET", place.path)
            self.assertEqual(owner.getresponse().status, 200)
            owner.close()
        page.terminate()
        self.assertEqual(page.wait(30), 0)

    def test_run_serves_while_the_command_runs(self):
        work = "import time\nend = time.time() + 2\nwhile time.time() < end: sum(range(1000))"
        ran = self.enterContext(started([COMMAND, "run", "--live", "-F", "499", "-o", "ran", "--", *BUSY[:2], work],
                                        self.directory, clean_environment(), stderr=subprocess.PIPE))
        url = ran.stderr.readline().split("live: ")[1].strip()
        wait_until(lambda: self.get(url + "data")[0] == 200, 30, "samples")
        self.assertEqual(self.get(url)[0], 200)
        rest = ran.stderr.read()
        self.assertEqual(ran.wait(60), 0, rest)
        ran.stderr.close()
        self.assertIn("ran.html", rest)
        with self.assertRaises(OSError):
            self.get(url)

    def test_top_in_a_terminal(self):
        child = self.busy()
        master, slave = pty.openpty()
        resize = lambda rows, columns: fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        resize(24, 80)
        before = termios.tcgetattr(slave)
        terminal = {"env": clean_environment(TERM="xterm"), "stdin": slave, "stdout": slave}
        top = self.enterContext(started([COMMAND, "top", child.pid], self.directory, **terminal, stderr=subprocess.PIPE))
        seen = b""

        def shows(text):
            nonlocal seen
            while select.select([master], [], [], 0)[0]:
                seen += os.read(master, 65536)
            return text in re.sub(rb"\x1b(\[[0-9;?]*[a-zA-Z]|\(B|[=>])", b"", seen)

        wait_until(lambda: shows(b"FUNCTION") and shows(b"last 10 s"), 30, "the table")
        self.assertTrue(shows(f"(pid {child.pid})".encode()), seen[-2000:])
        self.assertTrue(shows(b"THREAD"))
        seen = b""
        resize(12, 50)
        top.send_signal(signal.SIGWINCH)
        wait_until(lambda: shows(b"FUNCTION"), 30, "the table in the new size")
        seen = b""
        os.write(master, b"ww")
        wait_until(lambda: shows(b"since the start"), 30, "another stretch of time")
        os.write(master, b"q")
        errors = top.stderr.read()
        top.stderr.close()
        self.assertEqual(top.wait(30), 0, errors)
        self.assertEqual(termios.tcgetattr(slave), before)
        # Ctrl-C ends it as q does.
        top = self.enterContext(started([COMMAND, "top", child.pid], self.directory, **terminal))
        seen = b""
        wait_until(lambda: shows(b"FUNCTION"), 30, "the table")
        top.send_signal(signal.SIGINT)
        self.assertEqual(top.wait(30), 0)
        self.assertEqual(termios.tcgetattr(slave), before)
        os.close(master)
        os.close(slave)

    def test_top_ends_with_its_terminal(self):
        """One that is not its controlling terminal, and so sends no SIGHUP."""
        child = self.busy()
        master, slave = pty.openpty()
        with started([COMMAND, "top", child.pid], self.directory, clean_environment(TERM="xterm"), stdin=slave, stdout=slave) as top:
            os.close(slave)
            wait_until(lambda: b"FUNCTION" in os.read(master, 65536), 30, "the table")
            os.close(master)
            self.assertEqual(top.wait(30), 0)

    def test_what_cannot_be_shown_is_said(self):
        for command in ("top", "live"):
            for argv, status, words in (["999999999"], 1, "there is no process"), (["x"], 2, "no process number"), (["1", "2"], 2, "name one process"):
                done = subprocess.run([COMMAND, command, *argv], env=clean_environment(), capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, words in done.stderr), (status, True), (command, argv, done.stderr))
        child = self.busy()
        done = subprocess.run([COMMAND, "top", str(child.pid)], stdin=subprocess.DEVNULL, env=clean_environment(), capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn("must be a terminal", done.stderr)


FORGER = """
import os, signal, sys, time
path, pid, name, mode = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4], 8)
open("/proc/self/comm", "w").write(name)  # as a collector's
if mode == 0:
    os.mkfifo(path)
    held = os.open(path, os.O_RDWR)
else:
    held = os.open(path, os.O_RDWR)
    os.fchmod(held, mode)
print("held", flush=True)
time.sleep(600)
"""


class Forged(Shown):
    """Any process may call itself flameprobe, and any user may put files into /tmp: what they say of another user's process is
    not believed, and nothing waits for them."""

    NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("only root can have another user's process")
        self.need("setpriv")
        self.directory.chmod(0o755)
        self.place = self.fresh_directory("tmp")
        self.place.chmod(0o1777)
        # Of another program than those that are looked at: its function tells what was believed.
        ran = run([host("ends"), "return", "400"], self.directory, profiled(FREQ=499, OUT="true", FORMAT="none"))
        self.assertEqual(ran.returncode, 6, ran.stderr)
        self.true = (self.directory / "true.fprobe").read_bytes()
        self.assertIn("work_ms", render(self.directory / "true.fprobe", "--top", "20").stdout)

    def forge(self, pid, mode=0o644, name="flameprobe", user=None):
        """A process that has a forged profile of `pid` open to write; `mode` 0: a pipe."""
        path = self.place / f"forged-{mode:o}.fprobe"
        if mode != 0:
            path.write_bytes(of_process(self.true, pid))
            os.chown(path, 65534 if user is None else 0, 65534 if user is None else 0)
        forger = self.enterContext(started([*(self.NOBODY if user is None else user), sys.executable, "-c", FORGER, path, pid, name, f"{mode:o}"],
                                           self.directory, clean_environment(), stdout=subprocess.PIPE))
        self.assertEqual(forger.stdout.readline(), "held\n")
        self.addCleanup(forger.stdout.close)
        return path

    def top(self, pid):
        return subprocess.run([COMMAND, "top", "--once", str(pid)], env=clean_environment(), capture_output=True, text=True, timeout=60)

    def test_the_forger_would_be_believed_if_it_were_the_user(self):
        """Else the other tests here would test nothing."""
        other = self.enterContext(started([host("single"), "work", "60"], self.directory, clean_environment()))
        self.forge(other.pid, user=["env"])
        self.assertIn("work_ms", self.top(other.pid).stdout)

    def test_another_users_collector(self):
        child = self.enterContext(started([host("single"), "work", "60"], self.directory, clean_environment()))
        child.send_signal(signal.SIGSTOP)  # it works for what is looked at only
        for mode, name in ((0o644, "flameprobe"), (0, "flameprobe"), (0o666, "flameprobe"), (0o640, "host-single")):
            self.forge(child.pid, mode, name)
        child.send_signal(signal.SIGCONT)
        done = self.top(child.pid)  # looks at it from outside, whichever it met
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("work_ms", done.stdout)
        self.assertIn("single_work", done.stdout)

    def test_a_file_that_others_may_write(self):
        """Root's own process has it open, but anybody may have written it."""
        child = self.enterContext(started([host("single"), "work", "60"], self.directory, clean_environment()))
        self.forge(child.pid, 0o666, user=["env"])
        done = self.top(child.pid)
        self.assertEqual((done.returncode, "work_ms" in done.stdout), (0, False), done.stderr)

    def test_a_profile_whose_name_leads_elsewhere_later(self):
        """It is read where it is open, and no link in its place is followed."""
        child = self.busy()
        secret = self.directory / "secret.fprobe"
        secret.write_bytes(of_process(self.true, child.pid))
        growing = next(self.directory.glob("busy.run/*.fprobe"))
        growing.rename(growing.with_name("away.fprobe"))
        growing.symlink_to(secret)
        done = self.top(child.pid)
        self.assertEqual((done.returncode, "work_ms" in done.stdout), (0, False), done.stderr)
        self.assertGreater(self.samples(child.pid), 20)

    def test_names_of_code_under_tmp(self):
        """A map of run-time code that another user made: a pipe, a link to what only root may read, a file."""
        child = self.busy(ENGINE="timer")
        path = Path(f"/tmp/perf-{child.pid}.map")
        secret = self.directory / "secret"
        secret.write_text("0 7fffffffffff work_ms\n")
        secret.chmod(0o600)
        for plant in (os.mkfifo, lambda at: at.symlink_to(secret), lambda at: at.write_text(secret.read_text())):
            plant(path)
            try:
                os.chown(path, 65534, 65534, follow_symlinks=False)
                done = self.top(child.pid)
            finally:
                path.unlink()
            self.assertEqual((done.returncode, "work_ms" in done.stdout), (0, False), done.stderr)
            self.assertIn("THREAD", done.stdout)

    def test_the_page(self):
        child = self.busy()
        self.forge(child.pid)
        self.forge(child.pid, 0)
        page = self.enterContext(subprocess.Popen([COMMAND, "live", str(child.pid)], stdout=subprocess.PIPE, env=clean_environment(), text=True))
        self.addCleanup(page.terminate)
        url = page.stdout.readline().strip()
        status, text, _ = self.get(url + "data")
        self.assertEqual((status, "work_ms" in text), (200, False), text[:500])
        page.terminate()
        self.assertEqual(page.wait(30), 0)


if __name__ == "__main__":
    unittest.main()
