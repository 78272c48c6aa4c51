"""flameprobe attach: processes that were started without FlameProbe, looked at from outside."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest
import urllib.request
from pathlib import Path

from container import container
from figures import is_sample
from harness import (COMMAND, RENDER, Case, beside_others, clean_environment, ordinary_user, profiled, read_folded, run, shares, sized,
                     started, stolen_ns, stolen_seconds, target, wait_until)

# Busy for half of the time, so that tests beside it go on.
SPIN = "\n".join(["import os, sys, threading, time", "def spin():", "    while True:", "        sum(range(100000))", "        time.sleep(0.002)"])


def descriptors_and_threads(pid):
    return len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir(f"/proc/{pid}/task"))


class Attach(Case):
    def setUp(self):
        super().setUp()
        self.need_engine("ring")
        self.since = stolen_seconds()
        os.chmod(self.directory, 0o755)

    def start(self, *argv, **popen):
        return self.enterContext(started(argv, self.directory, clean_environment(), **popen))

    def python(self, code, **popen):
        return self.start(sys.executable, "-c", SPIN + "\n" + code, **popen)

    def redis(self, prefix=()):
        self.need("redis-server", "redis-benchmark")
        with socket.socket() as any_port:
            any_port.bind(("127.0.0.1", 0))
            port = str(any_port.getsockname()[1])
        server = self.start(*prefix, "redis-server", "--port", port, "--save", "", "--dir", "/tmp")

        def answers():  # it listens before it has all its threads
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", int(port)), 5) as client:
                client.sendall(b"PING\r\n")
                return client.recv(16).startswith(b"+PONG")
            return False
        wait_until(answers, 30, "redis")
        return server, port

    def load(self, port):
        return self.start("redis-benchmark", "-p", port, "-t", "set,get", "-n", "1000000000", "-c", "10", "-q",
                          stdout=subprocess.DEVNULL)

    def attach(self, *argv, where="attached", user=(), code=0, **settings):
        """Attaches to its end; gives the stem of the results and what was printed."""
        directory = self.fresh_directory(where)
        os.chmod(directory, 0o777)
        ran = run([*user, COMMAND, "attach", "-o", directory / "out", "-f", "folded,json", *argv], directory,
                  clean_environment(**settings), timeout=200)
        self.assertEqual(ran.returncode, code, ran.stderr)
        self.assertFalse(list(directory.glob("*.run*")), "profiles are left in the run's folder")
        return directory / "out", ran

    def stacks(self, stem):
        return read_folded(Path(f"{stem}.folded").read_text())

    def facts(self, stem):
        return json.loads(Path(f"{stem}.json").read_text())

    def assert_covered(self, stem):
        """What is in the picture is the threads' CPU time."""
        told = self.facts(stem)
        everything = sum(count for _, count in self.stacks(stem)) * told["sampling"]["period_ns"]
        # A clock that is read from outside is up to a tick behind. What the hypervisor took is in samples only, and so are, where
        # the kernel is sampled, the interrupts of the network.
        used = told["cpu_time"]["process_ns"]
        more = 0.3 if told["sampling"]["kernel"] == "on" else 0
        self.assertGreater(everything / used, 0.95)
        self.assertLess(everything / used, 1.05 + more + stolen_ns(self.since) / used)


class Programs(Attach):
    def test_redis_under_load(self):
        server, port = self.redis()
        self.load(port)
        before = descriptors_and_threads(server.pid)
        stem, ran = self.attach("-d", beside_others(1), "-F", "999", server.pid)
        self.assertEqual(descriptors_and_threads(server.pid)[1], before[1])
        stacks, told = self.stacks(stem), self.facts(stem)
        self.assertIn("attached to process", ran.stderr)
        self.assertIn(f"(redis-server, {before[1]} threads)", ran.stderr)
        sampled = [(frames, count) for frames, count in stacks if is_sample(frames)]
        rooted, every = shares(sampled, "_start")
        self.assertGreater(every, 30)
        self.assertGreater(rooted / every, 0.98 if os.geteuid() == 0 else 0.9)  # see OrdinaryUser
        self.assertGreater(shares(stacks, "readQueryFromClient")[0], 3)
        self.assertEqual(told["sampling"]["engine"], "ring")
        self.assertIn("redis-server", told["run"]["command"])
        self.assertRegex(json.dumps(told), r"attached.*from outside, \d+ s after it began")
        self.assert_covered(stem)

    def test_true_shares_of_a_program_that_ran_before(self):
        program = self.start(target("shares"), "leaves", "100000000")
        stem, _ = self.attach("-d", sized("1500ms", "3s"), "-F", "2000", program.pid)
        stacks = self.stacks(stem)
        for function, share in (("leaf_70", 0.7), ("leaf_20", 0.2), ("leaf_7", 0.07), ("leaf_3", 0.03), ("branch_27", 0.27)):
            hits, every = shares(stacks, function)
            self.assertGreater(every, 300)
            self.assertAlmostEqual(hits / every, share, delta=0.06, msg=function)
        self.assertGreater(shares(stacks, "main")[0] / every, 0.98)

    def test_the_end_of_the_target_ends_it(self):
        program = self.python("end = time.process_time() + 0.7\nwhile time.process_time() < end: sum(range(1000))\nsys.exit(3)")
        stem, _ = self.attach(program.pid)
        self.assertEqual(program.wait(), 3)
        self.assertGreater(len(self.stacks(stem)), 0)

    def test_ctrl_c_ends_it_and_the_target_runs_on(self):
        program = self.python("spin()")
        directory = self.fresh_directory("interrupted")
        attached = subprocess.Popen([COMMAND, "attach", "-F", "499", "-o", directory / "out", "-f", "folded", str(program.pid)], text=True,
                                    stderr=subprocess.PIPE, env=clean_environment(), start_new_session=True)
        self.addCleanup(attached.stderr.close)
        self.assertIn("attached", attached.stderr.readline())
        time.sleep(1)
        os.killpg(attached.pid, signal.SIGINT)  # as a terminal does
        self.assertEqual(attached.wait(60), 0, attached.stderr.read())
        self.assertGreater(sum(count for _, count in self.stacks(directory / "out")), 10)
        self.assertIsNone(program.poll())

    def test_threads_that_come_and_go(self):
        program = self.python("def brief():\n    end = time.thread_time() + 0.02\n    while time.thread_time() < end: sum(range(100))\n"
                              "while True:\n    threads = [threading.Thread(target=brief) for _ in range(4)]\n"
                              "    [t.start() for t in threads]\n    [t.join() for t in threads]")
        stem, _ = self.attach("-d", "1s", "-F", "999", program.pid)
        rooted, every = shares(self.stacks(stem), "start_thread")
        self.assertGreater(rooted, 50)
        self.assert_covered(stem)


class Odd(Attach):
    """Processes and places as nobody would wish for them."""

    def test_a_brief_attach_says_how_brief(self):
        program = self.python("spin()")
        _, ran = self.attach("-d", "1500ms", program.pid)
        self.assertIn("for 1.5 s: Ctrl-C", ran.stderr)

    def test_one_that_hangs(self):
        """All its threads wait, and none wakes: that is what there is to see."""
        program = self.python("threading.Thread(target=lambda: threading.Event().wait()).start()\ntime.sleep(1000)")
        wait_until(lambda: len(os.listdir(f"/proc/{program.pid}/task")) == 2, 30, "a second thread")
        for events in ("cpu,offcpu", "offcpu", "wall"):
            with self.subTest(events=events):
                stem, ran = self.attach("-e", events, "-d", "500ms", program.pid, where=events)
                self.assertIn("no thread woke or used CPU time: the pictures show where all of them wait", ran.stderr)
                self.assertNotIn("no picture", ran.stderr)
                stacks = [read_folded(path.read_text()) for path in stem.parent.glob("out*.folded")]
                leaves = {frames[-1] for frames, _ in stacks[0]}
                self.assertEqual((len(stacks), leaves), (1, {"futex", "clock_nanosleep"}))

    def test_one_that_is_stopped(self):
        program = self.python("spin()")
        program.send_signal(signal.SIGSTOP)
        wait_until(lambda: ") T " in Path(f"/proc/{program.pid}/stat").read_text(), 20, "the stop")
        _, ran = self.attach("-d", "200ms", program.pid)
        self.assertIn(f"process {program.pid} is stopped, and does nothing until kill -CONT {program.pid}", ran.stderr)
        self.assertIn(") T ", Path(f"/proc/{program.pid}/stat").read_text())
        _, ran = self.attach("-d", "200ms", "-e", "cpu,offcpu", "-f", "folded,html,svg", program.pid, where="waits")
        self.assertEqual(ran.stderr.count("no thread woke or used CPU time"), 1, ran.stderr)

    def test_the_place_of_the_results_is_gone(self):
        program, directory = self.python("spin()"), self.fresh_directory("gone")
        attached = self.enterContext(started([COMMAND, "attach", "-d", "1s", "-o", directory / "out", program.pid], self.directory,
                                             clean_environment(), stderr=subprocess.PIPE))
        self.addCleanup(attached.stderr.close)
        self.assertIn("attached", attached.stderr.readline())
        used = time.monotonic() + 0.5
        wait_until(lambda: time.monotonic() > used, 10, "half of the time")
        shutil.rmtree(directory)
        told = attached.stderr.read()
        self.assertEqual(attached.wait(60), 1, told)
        self.assertRegex(told, rf"no results: {directory}/out: .*does not exist")

    def test_no_room_for_the_profile(self):
        program = self.python("spin()")
        ran = run(["prlimit", "--fsize=1000", COMMAND, "attach", "-d", "1s", "-F", "999", "-o", self.directory / "out", program.pid],
                  self.directory, clean_environment())
        self.assertEqual(ran.returncode, 1, ran.stderr)
        self.assertIn("cannot write the profile: File too large", ran.stderr)

    def test_names_that_are_too_long(self):
        copy = self.directory / ("n" * 240)
        shutil.copy(target("shares"), copy)
        program, directory = self.start(copy, "leaves", "100000000"), self.fresh_directory("names")
        ran = run([COMMAND, "attach", "-d", "1s", "-F", "999", "-f", "folded", program.pid], directory, clean_environment())
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertTrue((directory / f"flameprobe.{'n' * 128}.{program.pid}.folded").exists(), ran.stderr)
        ran = run([COMMAND, "attach", "-d", "500ms", "-o", "n" * 250, program.pid], directory, clean_environment())
        self.assertEqual(ran.returncode, 2, ran.stderr)
        self.assertIn("File name too long; choose a shorter name", ran.stderr)

    def full_disk(self, name):
        if os.geteuid() != 0:
            self.skipTest("needs root, to mount")
        full = self.fresh_directory(name)
        return full, ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=4k none "$0" && printf x > "$0/x" && exec "$@"', full]

    def test_a_full_disk(self):
        program = self.python("spin()")
        full, on_full = self.full_disk("full")
        ran = run([*on_full, COMMAND, "attach", "-d", "1s", "-o", full / "out", program.pid], self.directory, clean_environment())
        self.assertEqual(ran.returncode, 2, ran.stderr)
        self.assertRegex(ran.stderr, r"^flameprobe: --out: .*No space left on device\n$")
        ran = run([*on_full, COMMAND, "top", "--once", program.pid], self.directory, clean_environment(TMPDIR=full))
        self.assertEqual(ran.returncode, 1, ran.stderr)
        self.assertRegex(ran.stderr, r"no temporary files can be made: No space left on device; TMPDIR=")

    def test_a_directory_for_the_results(self):
        program, directory = self.start(target("shares"), "leaves", "100000000"), self.fresh_directory("results")
        ran = run([COMMAND, "attach", "-d", "1s", "-F", "999", "-f", "folded", "-o", f"{directory}/", program.pid], self.directory,
                  clean_environment())
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertTrue((directory / f"flameprobe.shares.{program.pid}.folded").exists(), ran.stderr)

    def test_pictures_are_named_from_here(self):
        program = self.start(target("shares"), "leaves", "100000000")
        ran = run([COMMAND, "attach", "-d", "1s", "-F", "999", program.pid], self.directory, clean_environment())
        self.assertRegex(ran.stderr, rf"(?m)^flameprobe: flameprobe.shares.{program.pid}.html$")

    def test_allocations_are_not_seen_from_outside(self):
        program = self.python("spin()")
        ran = run([COMMAND, "attach", "-d", "500ms", "-e", "alloc", program.pid], self.directory, clean_environment())
        self.assertEqual(ran.returncode, 2, ran.stderr)
        self.assertIn("flameprobe run -e alloc COMMAND", ran.stderr)

    def test_programs_that_are_too_brief(self):
        """Each ends before it is sampled; CPU time is used all the time."""
        self.need("perl")
        program = self.start("env", "AGAIN=exec($^X, '-e', $ENV{AGAIN})", "perl", "-e", "exec($^X, '-e', $ENV{AGAIN})")
        ran = run([COMMAND, "top", "--once", program.pid], self.directory, clean_environment())
        self.assertEqual(ran.returncode, 1, ran.stderr)
        self.assertIn("executes programs one after another (execve), each too briefly to be sampled", ran.stderr)
        ran = run([COMMAND, "attach", "-d", "1s", "-o", self.directory / "brief", program.pid], self.directory, clean_environment())
        if ran.returncode != 0:  # else one was met by chance
            self.assertIn("executes programs one after another (execve), each too briefly to be sampled", ran.stderr)

    def test_no_room_for_the_page(self):
        """The other results are written, and are not all that was asked for."""
        program = self.start(target("shares"), "leaves", "100000000")
        ran = run(["prlimit", "--fsize=60000", COMMAND, "attach", "-d", "1s", "-f", "folded,html", "-o", self.directory / "out",
                   program.pid], self.directory, clean_environment())
        self.assertEqual(ran.returncode, 1, ran.stderr)
        self.assertEqual(ran.stderr.count("(the samples are safe in"), 1, ran.stderr)
        self.assertTrue((self.directory / "out.folded").exists(), ran.stderr)
        self.assertFalse((self.directory / "out.html").exists(), ran.stderr)

    def test_one_that_ends_at_once(self):
        for after in range(0, *sized((20, 2), (100, 1))):
            program = self.python(f"end = time.time() + {after % 20} / 500\nwhile time.time() < end: pass")
            ran = run([COMMAND, "attach", "-f", "none", "-o", self.directory / "out", program.pid], self.directory, clean_environment())
            self.assertNotIn("No such process", ran.stderr)
            self.assertRegex(ran.stderr, "has ended|no samples were kept" if ran.returncode else "attached")

    def test_three_at_once(self):
        """Of one process, with one name for their results: each has its own."""
        program, directory = self.python("spin()"), self.fresh_directory("three")
        three = [self.enterContext(started([COMMAND, "attach", "-d", "1s", "-f", "folded", "-F", "499", program.pid], directory,
                                           clean_environment(), stderr=subprocess.DEVNULL)) for _ in range(3)]
        self.assertEqual([each.wait(100) for each in three], [0, 0, 0])
        found = sorted(path.name.removeprefix(f"flameprobe.python3.{program.pid}.") for path in directory.glob("*.folded"))
        self.assertEqual(found, ["2.folded", "3.folded", "folded"])

    def test_its_file_is_gone_or_another(self):
        for what in ("deleted", "replaced"):
            with self.subTest(what):
                copy = self.directory / what
                shutil.copy(target("shares"), copy)
                program = self.start(copy, "leaves", "100000000")
                wait_until(lambda: os.readlink(f"/proc/{program.pid}/exe") == str(copy), 20, "its exec")
                copy.unlink()
                if what == "replaced":
                    shutil.copy("/bin/true", copy)
                stem, _ = self.attach("-d", "1s", "-F", "499", program.pid, where=f"of-{what}")
                self.assert_function(self.stacks(stem), "leaf_70", at_least=20)

    def test_one_that_executes_again_and_again(self):
        loop = self.directory / "loop"
        loop.write_text(f"#!/bin/sh\ni=0; while [ $i -lt 5000 ]; do i=$((i+1)); done\nexec {loop}\n")
        loop.chmod(0o755)
        program = self.start(loop)
        stem, _ = self.attach("-d", sized("400ms", "1s"), "-F", "999", program.pid)
        self.assertIsNone(program.poll())
        self.assertGreater(len(self.stacks(stem)), 0)

    def test_many_threads(self):
        program = self.python(f"[threading.Thread(target=time.sleep, args=(1000,)).start() for _ in range({sized(300, 2000)})]\nspin()")
        wait_until(lambda: len(os.listdir(f"/proc/{program.pid}/task")) == sized(301, 2001), 60, "all threads")
        stem, _ = self.attach("-d", "1s", "-F", "499", "-e", "cpu,offcpu", program.pid)
        self.assert_function(self.stacks(stem), "_PyEval_EvalFrameDefault", at_least=20)
        self.assertEqual(len(os.listdir(f"/proc/{program.pid}/task")), sized(301, 2001))


    def recorder_of(self, attached):
        return wait_until(lambda: Path(f"/proc/{attached.pid}/task/{attached.pid}/children").read_text().split(), 30, "the recorder")[0]

    def test_a_recorder_that_is_killed(self):
        program = self.python("spin()")
        attached = subprocess.Popen([COMMAND, "attach", "-o", self.directory / "out", "-f", "folded", str(program.pid)], text=True,
                                    stderr=subprocess.PIPE, env=clean_environment())
        self.addCleanup(attached.stderr.close)
        self.assertIn("attached", attached.stderr.readline())
        time.sleep(1)
        os.kill(int(self.recorder_of(attached)), signal.SIGKILL)
        self.assertEqual(attached.wait(60), 1)
        self.assertRegex(attached.stderr.read(), rf"recording of process {program.pid} ended early: .*killed by SIGKILL")

    def test_one_that_is_killed(self):
        """Its recorders, which see the pipe's end first, took it for alive and left the profiles in the run's folder. They did too
        where there were several, or an older result."""
        program, directory = self.python("os.fork()\nspin()"), self.fresh_directory("killed")
        for _ in range(sized(8, 100)):
            attached = subprocess.Popen([COMMAND, "attach", "--tree", "-o", directory / "out", "-f", "none", str(program.pid)],
                                        stderr=subprocess.DEVNULL, env=clean_environment())
            wait_until(lambda: len(list(directory.glob("out.run/*.fprobe"))) == 2, 30, "both profiles")
            attached.kill()
            attached.wait()
            wait_until(lambda: [path.name for path in directory.iterdir()] == ["out.fprobe"], 30, "the end of the run's folder")
            self.assertIn("2 processes", run([RENDER, directory / "out.fprobe", "--info"], directory).stdout)

    def test_no_descriptors_for_its_children(self):
        """They are left out, and said to be; nothing waits for them."""
        program = self.python("import subprocess\nall = [subprocess.Popen(['sleep', '60']) for _ in range(12)]\nprint('all', flush=True)\n"
                              "try: spin()\nfinally: [each.kill() for each in all]", stdout=subprocess.PIPE)
        program.stdout.readline()
        self.addCleanup(program.stdout.close)
        for limit in range(20, 30):
            with self.subTest(limit=limit):
                ran = run(["prlimit", f"--nofile={limit}:{limit}", COMMAND, "attach", "--tree", "-d", "100ms", "-o",
                           self.fresh_directory(str(limit)) / "out", "-f", "none", program.pid], self.directory, clean_environment(), timeout=60)
                self.assertIn(ran.returncode, (0, 1), ran.stderr)
                self.assertTrue(ran.stderr)

    def test_no_standard_descriptors(self):
        program = self.python("spin()")
        run(["sh", "-c", f'exec "$0" attach -d 1s -o out -f folded {program.pid} <&- >&- 2>&-', COMMAND], self.directory, clean_environment())
        self.assertGreater(len(self.stacks(self.directory / "out")), 0)

    def test_idle_threads_of_a_pool(self):
        """Each uses a quarter of a period of CPU time meanwhile: together they have samples of what may be sampled."""
        program = self.start(target("lives"), "sleepers", "300", "60000", "60000")
        wait_until(lambda: len(os.listdir(f"/proc/{program.pid}/task")) == 301, 60, "all threads")
        stem, _ = self.attach("-d", "1s", "-F", "99", program.pid)
        sampled, every = shares(self.stacks(stem), "life")
        self.assertGreater(sampled, 0.25 * every)

    def test_code_in_many_regions(self):
        """A just-in-time compiler's, in memory without a file, and in one file of memory or many: these are not read one by one
        while nobody takes the samples."""
        program = self.python("\n".join((
            "import ctypes, os", "libc, page, count = ctypes.CDLL(None, use_errno=True), 4096, 9000",
            "libc.mmap.restype, libc.mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, *[ctypes.c_long] * 5]",
            "def apart(start):",
            "    for at in range(0, count, 2): libc.mprotect(ctypes.c_void_p(start + at * page), ctypes.c_size_t(page), 5)",
            "shared = os.memfd_create('doublemapper')", "os.ftruncate(shared, count * page)",
            "apart(libc.mmap(None, count * page, 7, 0x22, -1, 0))", "apart(libc.mmap(None, count * page, 7, 1, shared, 0))",
            "for at in range(count):", "    one = os.memfd_create('one')", "    os.ftruncate(one, page)",
            "    libc.mmap(None, page, 5, 1, one, 0)", "    os.close(one)",
            "open('ready', 'w')", "spin()")))
        wait_until((self.directory / "ready").exists, 60, "27,000 regions")
        stem, _ = self.attach("-d", beside_others(1), "-F", "999", program.pid)
        sampled, every = shares(self.stacks(stem), "_start")
        self.assertGreater(sampled, 0.5 * every)


class BesideTheLibrary(Attach):
    """A program that has the library in it, and is looked at from outside at the same time: both pictures are of one thing."""

    def test_functions_have_the_same_shares(self):
        directory = self.fresh_directory("inside")
        env = profiled(FREQ=1999, FORMAT="folded", OUT=directory / "in")
        server = self.enterContext(started([target("demo/demo-server"), "300"], self.directory, env, stdout=subprocess.PIPE))
        port = server.stdout.readline().strip()
        self.addCleanup(server.stdout.close)
        self.start(target("demo/demo-load"), port, "300")
        time.sleep(0.5)
        stem, _ = self.attach("-d", beside_others(sized(2, 4)), "-F", "1999", server.pid)
        server.terminate()
        self.assertEqual(server.wait(60), 0)
        wait_until(lambda: (directory / "in.folded").exists(), 60, "the library's result")
        inside, outside = self.leaves(directory / "in"), self.leaves(stem)
        functions = set(inside) | set(outside)
        distance = sum(abs(inside.get(name, 0) - outside.get(name, 0)) for name in functions) / 2
        # By chance alone it is about 0.06 with 3,000 samples in some hundred functions.
        self.assertLess(distance, 0.15)
        self.assertGreater(outside.get("shop::(anonymous namespace)::mix", 0), 0.02)

    def leaves(self, stem):
        """The share of each function's own time in user code."""
        sums = {}
        for frames, count in self.stacks(stem):
            if not frames[-1].endswith("_[k]") and not frames[-1].startswith(("[kernel", "[lost", "[not sampled")):
                name = frames[-1].removesuffix("_[i]")
                sums[name] = sums.get(name, 0) + count
        every = sum(sums.values())
        self.assertGreater(every, 500)
        return {name: count / every for name, count in sums.items()}


class OrdinaryUser(Attach):
    def test_redis_under_load(self):
        user = ordinary_user(self)
        server, port = self.redis(user)
        self.load(port)
        stem, _ = self.attach("-d", beside_others(1), "-F", "999", server.pid, user=user)
        stacks = self.stacks(stem)
        sampled = [(frames, count) for frames, count in stacks if is_sample(frames)]
        rooted, every = shares(sampled, "_start")
        self.assertGreater(every, 10)  # of the tenth of its time that redis is not in the kernel, and of a CPU that is shared
        self.assertGreaterEqual(rooted, 0.9 * every - 2)  # a few in a hundred are cut, and how many of few is chance
        self.assert_covered(stem)

    def test_each_threads_time_is_its_clock(self):
        user = ordinary_user(self)
        program = self.start(*user, target("calls"), "60")
        stem, ran = self.attach("-d", sized("1500ms", "3s"), "-F", "997", program.pid, user=user)
        stacks, told = self.stacks(stem), self.facts(stem)
        self.assertGreater(shares(stacks, "user_work", leaf=True)[0], 20)
        self.assertGreater(shares(stacks, "[kernel, not permitted]")[0], 20)
        self.assertIn("perf_event_paranoid", told["sampling"]["engine_reason"])
        self.assert_covered(stem)


class Changes(Attach):
    """What the target does while it is looked at."""

    def test_another_program_has_a_profile_of_its_own(self):
        self.need("perl")
        program = self.python("end = time.process_time() + 1\nwhile time.process_time() < end: sum(range(1000))\n"
                              "os.execvp('perl', ['perl', '-e', 'my $n = 0; for (;;) { $n += 3 }'])")
        directory = self.fresh_directory("exec")
        attached = subprocess.Popen([COMMAND, "attach", "-F", "499", "-o", directory / "out", "-f", "folded", str(program.pid)],
                                    text=True, stderr=subprocess.PIPE, env=clean_environment())
        self.addCleanup(attached.stderr.close)
        wait_until(lambda: Path(f"/proc/{program.pid}/comm").read_text() == "perl\n", 60, "another program")
        time.sleep(1)
        attached.send_signal(signal.SIGINT)
        self.assertEqual(attached.wait(60), 0)
        stacks = self.stacks(directory / "out")
        for name in ("python3", "perl"):
            self.assertGreater(sum(count for frames, count in stacks if frames[0].startswith(name)), 20, name)
        self.assertGreater(shares(stacks, "perl_run")[0], 20)

    def test_a_library_that_is_loaded_meanwhile(self):
        library = target("libshares-plugin.so")
        program = self.python(f"import ctypes\ntime.sleep(0.8)\nwork = ctypes.CDLL('{library}').plugin_40\n"
                              "while True: work(1000)")
        stem, _ = self.attach("-d", "1500ms", "-F", "499", program.pid)
        self.assertGreater(shares(self.stacks(stem), "plugin_40")[0], 20)

    def test_code_that_is_made_at_run_time(self):
        self.need("node")
        program = self.start("node", "--perf-basic-prof", "-e", "function hot(n) { let s = 0; for (let i = 0; i < n; i++) s += i % 7; "
                             "return s } for (;;) hot(1e6)")
        names = Path(f"/tmp/perf-{program.pid}.map")
        self.addCleanup(lambda: names.unlink(missing_ok=True))
        wait_until(lambda: names.exists() and "*hot" in names.read_text(), 60, "compiled code")
        stem, _ = self.attach("-d", "1s", "-F", "499", program.pid)
        stacks = self.stacks(stem)
        hot = sum(count for frames, count in stacks if any("hot" in frame for frame in frames))
        self.assertGreater(hot / sum(count for _, count in stacks), 0.8)

    def test_a_process_with_another_root(self):
        stem, _ = self.attach("-d", "2s", "-F", "499", container(self, target("shares"), "leaves", "100000000"))
        stacks = [(frames, count) for frames, count in self.stacks(stem) if is_sample(frames)]
        self.assertGreater(shares(stacks, "leaf_70")[0], 50)
        self.assertGreater(shares(stacks, "burn", leaf=True)[0], 50)  # inlined: debug information was read
        hits, every = shares(stacks, "main")
        self.assertGreater(hits / every, 0.98)


class Tree(Attach):
    def test_children_too(self):
        program = self.python("for i in range(2):\n    if os.fork() == 0: spin()\n"
                              "while True:\n    child = os.fork()\n    if child == 0:\n        end = time.process_time() + 0.3\n"
                              "        while time.process_time() < end: sum(range(1000))\n        os._exit(0)\n"
                              "    os.waitpid(child, 0)\n    print(child, flush=True)", stdout=subprocess.PIPE)
        self.addCleanup(program.stdout.close)
        program.stdout.readline()
        directory = self.fresh_directory("tree")
        attached = subprocess.Popen([COMMAND, "attach", "--tree", "-F", "499", "-o", directory / "out", "-f", "folded", str(program.pid)],
                                    text=True, stderr=subprocess.PIPE, env=clean_environment())
        self.addCleanup(attached.stderr.close)
        self.assertRegex(attached.stderr.readline(), r"and [23] children")
        program.stdout.readline()
        seen = {program.stdout.readline().strip() for _ in range(2)}  # born since
        attached.send_signal(signal.SIGINT)
        told = attached.stderr.read()
        self.assertEqual(attached.wait(60), 0, told)
        table = {line.split()[-1] for line in told.splitlines() if "python3 " in line and "%" in line}
        self.assertLessEqual(seen, table, told)
        self.assertGreaterEqual(len(table), 4, told)
        self.assertNotIn("children that ended before they were seen", told)
        self.assertIsNone(program.poll())

    def test_an_end_while_a_child_is_attached_to(self):
        """The child's recorder has begun when both is seen: it was killed, and that was told as a fault."""
        program = self.python("while not os.path.exists('born'): sum(range(1000))\nif os.fork() == 0:\n"
                              "    for _ in range(300): threading.Thread(target=time.sleep, args=[1000], daemon=True).start()\n"
                              "    open('ready', 'w')\nspin()")
        out = self.fresh_directory("ended") / "out"
        attached = self.enterContext(started([COMMAND, "attach", "--tree", "-F", "499", "-f", "folded", "-o", out, program.pid],
                                             self.directory, clean_environment(), stderr=subprocess.PIPE))
        self.addCleanup(attached.stderr.close)
        self.assertIn("attached", attached.stderr.readline())
        attached.send_signal(signal.SIGSTOP)
        (self.directory / "born").touch()
        wait_until((self.directory / "ready").exists, 60, "the child's threads")
        children = Path(f"/proc/{attached.pid}/task/{attached.pid}/children")
        attached.send_signal(signal.SIGCONT)
        end = time.monotonic() + 60
        while len(children.read_text().split()) < 2 and time.monotonic() < end:
            continue
        attached.send_signal(signal.SIGSTOP)
        attached.send_signal(signal.SIGINT)
        wait_until(lambda: len(list(out.parent.glob("out.run/*.fprobe"))) == 2, 60, "the child's profile")
        attached.send_signal(signal.SIGCONT)
        told = attached.stderr.read()
        self.assertEqual(attached.wait(60), 0, told)
        self.assertNotIn("ended early", told)

    def test_the_time_of_children_that_are_too_brief_is_told(self):
        """Also that nothing is said of one that ends while it is attached to. A second of their CPU time, as soon as a busy machine
        gives it: less than 100 ms is not told."""
        program = self.python("while True:\n    child = os.fork()\n    if child == 0:\n        end = time.process_time() + 0.003\n"
                              "        while time.process_time() < end: pass\n        os._exit(0)\n    os.waitpid(child, 0)")

        def waited_s():
            fields = Path(f"/proc/{program.pid}/stat").read_text().rsplit(")", 1)[1].split()
            return sum(map(int, fields[13:15])) / os.sysconf("SC_CLK_TCK")
        attached = self.enterContext(started([COMMAND, "attach", "--tree", "-f", "none", "-o", self.directory / "out", str(program.pid)],
                                             self.directory, clean_environment(), stderr=subprocess.PIPE))
        self.addCleanup(attached.stderr.close)
        self.assertIn("attached", attached.stderr.readline())
        enough = waited_s() + 1
        wait_until(lambda: waited_s() > enough, 100, "CPU time of children")
        attached.send_signal(signal.SIGINT)
        told = attached.stderr.read()
        self.assertEqual(attached.wait(60), 0, told)
        self.assertRegex(told, r"children that ended before they were seen used about \d.* of CPU time")
        self.assertNotIn("No such process", told)


class Waits(Attach):
    def check(self, user):
        program = self.start(*user, sys.executable, "-c", "import time\nwhile True:\n    time.sleep(0.05)\n    sum(range(20000))")
        stem, _ = self.attach("-e", "cpu,offcpu", "-d", "3s", program.pid, user=user)
        waits = read_folded(Path(f"{stem}.offcpu.folded").read_text())
        slept = sum(us for frames, us in waits if frames[-1] == "clock_nanosleep" and "_start" in frames)
        self.assertGreater(slept, 1_500_000)
        self.assertLess(sum(us for _, us in waits), 3_600_000)

    def test_as_root(self):
        self.check(())

    def test_as_an_ordinary_user(self):
        self.check(ordinary_user(self))


class WaitsWithoutPerf(Attach):
    """What is left where perf is refused: looks at the threads that wait, by /proc and their memory."""

    REFUSED = ("perf_event_open", "1+", "EPERM", "--")

    def looked_at(self, program, *options, user=()):
        stem = self.fresh_directory("looks") / "out"
        os.chmod(stem.parent, 0o777)
        ran = run([target("inject"), *self.REFUSED, *user, COMMAND, "attach", "-o", stem, "-f", "folded,json", *options, program.pid],
                  self.directory, clean_environment())
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(ran.stderr.count("CPU time has no stacks, and how long threads wait is estimated from looks at them: "
                                          f"process {program.pid} cannot be sampled"), 1, ran.stderr)
        return stem, ran.stderr

    def check(self, user):
        """Two threads: one uses the CPU for a part of its time, the other waits for its end."""
        program = self.start(*user, sys.executable, "-c", "import threading, time\ndef part():\n    while True:\n        time.sleep(0.02)\n"
                             "        sum(range(200000))\nthread = threading.Thread(target=part)\nthread.start()\nthread.join()")
        wait_until(lambda: len(os.listdir(f"/proc/{program.pid}/task")) == 2, 30, "a second thread")
        stem, _ = self.looked_at(program, "-e", "cpu,offcpu", "-d", "3s", user=user)
        slept = sum(us for frames, us in read_folded(Path(f"{stem}.offcpu.folded").read_text())
                    if frames[-1] == "clock_nanosleep" and "start_thread" in frames)
        self.assertGreater(slept, 200_000)
        self.assertLess(slept, 3_500_000)
        told = self.facts(stem)
        self.assertEqual((told["sampling"]["engine"], told["samples"]["taken"]), ("looks", 0))
        # Of CPU time it is known how much, by thread, and no more.
        stacks = self.stacks(stem)
        self.assertEqual({frames[-1] for frames, _ in stacks}, {"[not sampled]"})
        self.assert_covered(stem)

    def test_as_root(self):
        self.check(())

    def test_as_an_ordinary_user(self):
        self.check(ordinary_user(self))

    def test_threads_and_libraries_that_come(self):
        library = target("libshares-plugin.so")
        program = self.python(f"import ctypes\ntime.sleep(1.5)\nlibrary = ctypes.CDLL('{library}')\n"
                              "def later():\n    while True: time.sleep(0.05)\nthreading.Thread(target=later).start()\nthreading.Event().wait()")
        stem, _ = self.looked_at(program, "-e", "offcpu", "-d", "4s")
        self.assertGreater(sum(us for frames, us in self.stacks(stem) if "start_thread" in frames and frames[-1] == "clock_nanosleep"),
                           500_000)

    def test_children_and_another_program(self):
        self.need("perl")
        program = self.python("if os.fork() == 0:\n    while True: time.sleep(0.05)\ntime.sleep(1.5)\n"
                              "os.execvp('perl', ['perl', '-e', 'for (;;) { select(undef, undef, undef, 0.05) }'])")
        stem, _ = self.looked_at(program, "--tree", "-e", "offcpu", "-d", "4s")
        waits = self.stacks(stem)
        child = sum(us for frames, us in waits if frames[0].startswith("python3") and frames[-1] == "clock_nanosleep")
        other = sum(us for frames, us in waits if frames[0].startswith("perl") and "perl_run" in frames)
        self.assertGreater(child, 1_500_000)
        self.assertGreater(other, 1_000_000)

    def test_neither_perf_nor_memory(self):
        program = self.python("spin()")
        both = [target("inject"), "perf_event_open,process_vm_readv", "1+", "EPERM", "--"]
        for events, more in (("cpu", "allows it"), ("cpu,offcpu", "; and its memory may not be read.*")):
            ran = run([*both, COMMAND, "attach", "-e", events, program.pid], self.directory, clean_environment())
            self.assertEqual(ran.returncode, 1, ran.stderr)
            self.assertRegex(ran.stderr, rf"^flameprobe: process {program.pid} cannot be sampled: perf_event_open .*{more}; flameprobe stat -p \d+ needs no right\n$")


class Harmless(Attach):
    def facts_of(self, pid):
        status = Path(f"/proc/{pid}/status").read_text()
        kept = [line for line in status.splitlines() if line.startswith(("TracerPid", "SigPnd", "SigBlk", "SigIgn", "SigCgt", "ShdPnd", "Seccomp", "Threads", "CapEff"))]
        return len(os.listdir(f"/proc/{pid}/fd")), Path(f"/proc/{pid}/maps").read_text().count(".so"), kept

    def test_attaching_again_and_again_under_load(self):
        server, port = self.redis()
        clients = self.start("redis-benchmark", "-p", port, "-t", "set,get", "-n", "1000000000", "-c", "10", "-q",
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_until(lambda: len(os.listdir(f"/proc/{server.pid}/fd")) > 15, 30, "clients")
        before = self.facts_of(server.pid)
        for _ in range(sized(8, 200)):
            ran = run([COMMAND, "attach", "-d", "20ms", "-f", "none", "-o", self.directory / "again", server.pid], self.directory,
                      clean_environment())
            if "no samples were kept" not in ran.stderr:  # a busy machine may give it no CPU in 20 ms
                self.assertEqual(ran.returncode, 0, ran.stderr)
        for _ in range(sized(3, 20)):
            attached = subprocess.Popen([COMMAND, "attach", "-f", "none", "-o", self.directory / "killed", str(server.pid)], text=True,
                                        stderr=subprocess.PIPE, env=clean_environment())
            self.assertIn("attached", attached.stderr.readline())
            attached.kill()
            attached.wait()
            attached.stderr.close()
        self.assertEqual(self.facts_of(server.pid), before)
        self.assertIsNone(clients.poll())
        clients.send_signal(signal.SIGTERM)
        out, err = clients.communicate(timeout=60)
        self.assertNotIn("rror", out + err)
        wait_until(lambda: not list(self.directory.glob("*.run")), 60, "the end of all recorders")


class Look(Attach):
    """top and live of a process that was started without FlameProbe: nothing is left of it."""

    def setUp(self):
        super().setUp()
        self.env = clean_environment(TMPDIR=self.directory)

    def assert_nothing_left(self):
        wait_until(lambda: not list(self.directory.glob("flameprobe-look-*")), 30, "the end of the recording")

    def test_top_prints_what_it_does(self):
        program = self.start(target("shares"), "leaves", "100000000")
        done = run([COMMAND, "top", "--once", program.pid], self.directory, self.env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("leaf_70", done.stdout)
        self.assert_nothing_left()

    def test_top_of_one_that_does_nothing(self):
        program = self.python("time.sleep(1000)")
        wait_until(lambda: "hrtimer" in Path(f"/proc/{program.pid}/wchan").read_text(), 20, "its sleep")
        done = run([COMMAND, "top", "--once", program.pid], self.directory, self.env)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"there is no sample of process {program.pid} yet, since it uses little CPU time; "
                      f"flameprobe attach -e offcpu {program.pid} shows where it waits", done.stderr)
        self.assert_nothing_left()

    def test_top_goes_over_to_the_program_that_is_executed(self):
        self.need("perl")
        go = self.directory / "go"
        program = self.python(f"while not os.path.exists('{go}'): sum(range(1000))\n"
                              "os.execvp('perl', ['perl', '-e', 'my $n = 0; for (;;) { $n += 3 }'])")

        def profiles():
            return list(self.directory.glob("flameprobe-look-*/**/*.fprobe"))

        def has_found_one(top):
            with contextlib.suppress(OSError):
                return any(os.readlink(fd).endswith(".fprobe") for fd in Path(f"/proc/{top.pid}/fd").iterdir())
            return False
        with started([COMMAND, "top", "--once", str(program.pid)], self.directory, self.env, stdout=subprocess.PIPE) as top:
            wait_until(lambda: has_found_one(top), 60, "the profile of the first program")
            os.kill(top.pid, signal.SIGSTOP)  # so that it reads when there is a second; the recorder works on
            first = profiles()
            go.touch()
            wait_until(lambda: any(path.stat().st_size > 0 for path in set(profiles()) - set(first)), 60, "the second one's profile")
            time.sleep(2)  # for its first samples
            os.kill(top.pid, signal.SIGCONT)
            out, _ = top.communicate(timeout=60)
        self.assertEqual(top.returncode, 0)
        self.assertIn("Perl_", out)
        self.assertNotIn("PyEval", out)
        self.assert_nothing_left()

    def test_descriptors_that_threads_share_are_not_read_of_each(self):
        """It is looked for whether the process is profiled, and nothing else: there is no place for a recording."""
        program = self.python("files = [open('/dev/null', 'r+') for _ in range(100)]\n"
                              "for _ in range(50): threading.Thread(target=time.sleep, args=[1000], daemon=True).start()\n"
                              "print(flush=True)\ntime.sleep(1000)", stdout=subprocess.PIPE)
        self.addCleanup(program.stdout.close)
        program.stdout.readline()
        report = self.directory / "report"
        ran = run([target("inject"), "readlink", "1000000", "EPERM", "--report", report, "--", COMMAND, "top", "--once", program.pid],
                  self.directory, {**self.env, "TMPDIR": "/nonexistent"})
        self.assertEqual(ran.returncode, 1, ran.stderr)
        self.assertIn("no temporary files can be made", ran.stderr)
        self.assertLess(int(report.read_text().split()[0]), 1000)

    def test_live_serves_a_page(self):
        program = self.start(target("shares"), "leaves", "100000000")
        for ends in (signal.SIGINT, signal.SIGKILL):
            page = self.enterContext(started([COMMAND, "live", str(program.pid)], self.directory, self.env, stdout=subprocess.PIPE))
            url = page.stdout.readline().strip()
            page.stdout.close()

            def has_samples():
                with contextlib.suppress(OSError), urllib.request.urlopen(url + "data", timeout=30) as answer:
                    return answer.status == 200
                return False
            wait_until(has_samples, 60, "samples")
            page.send_signal(ends)
            page.wait(60)
            self.assert_nothing_left()
        self.assertIsNone(program.poll())

    def test_top_lists_busy_processes(self):
        program = self.python("spin()")

        def is_listed():  # it may not have had a CPU in the part of a second that top looked at
            done = run([COMMAND, "top"], self.directory, self.env)
            self.assertEqual(done.returncode, 0, done.stderr)
            return re.search(rf"(?m)^ *{program.pid} +[0-9.]+ +1  python3", done.stdout)
        wait_until(is_listed, 60, "a busy process in the list")


class Refused(Attach):
    def refused(self, pid, *parts, user=(), code=1, options=()):
        ran = run([*user, COMMAND, "attach", *options, str(pid)], self.directory, clean_environment())
        self.assertEqual(ran.returncode, code, ran.stderr)
        self.assertEqual(ran.stderr.count("\n"), 1, ran.stderr)
        for part in parts:
            self.assertIn(part, ran.stderr)
        return ran.stderr

    def assert_left(self, told, pid, before=()):
        """What needs no right works, and the refusal names it."""
        left = ["stat", "-p", str(pid)]
        self.assertIn(f"; flameprobe {' '.join(left)} needs no right\n", told)
        ran = run([*before, COMMAND, *left, "-d", "200ms"], self.directory, clean_environment())
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertRegex(ran.stderr, r"\d ms +task-clock")

    def test_what_is_no_process_to_look_at(self):
        ended = subprocess.Popen(["true"])
        ended.wait()
        self.refused(ended.pid, f"there is no process {ended.pid}")
        zombie = self.start("true")
        wait_until(lambda: f"{zombie.pid} (true) Z" in Path(f"/proc/{zombie.pid}/stat").read_text(), 20, "a zombie")
        self.refused(zombie.pid, "has ended")
        self.refused("x1", "'x1' is no process number", code=2)
        self.refused("", "is no process number", code=2)
        self.refused(os.getpid(), "--duration: 'soon' is not accepted", code=2, options=["-d", "soon"])
        self.refused(os.getpid(), "--freq: '0'", "from 1 to 20000", code=2, options=["-F", "0"])

    def test_the_name_of_a_process(self):
        """As pgrep(1) takes it: what several have is refused with their numbers."""
        copy = self.directory / f"only{os.getpid()}"
        shutil.copy(target("shares"), copy)
        program, directory = self.start(copy, "leaves", "100000000"), self.fresh_directory("names")
        ran = run([COMMAND, "attach", "-d", "1s", "-F", "999", "-f", "folded", copy.name], directory, clean_environment())
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertTrue((directory / f"flameprobe.{copy.name}.{program.pid}.folded").exists(), ran.stderr)
        other = self.start(copy, "leaves", "100000000")
        wait_until(lambda: Path(f"/proc/{other.pid}/comm").read_text().strip() == copy.name, 20, "the program")
        told = self.refused(copy.name, f"2 processes have the name '{copy.name}': ", "; name one by its number", code=2)
        self.assertEqual(set(re.findall(r"\d+", told.split(": ")[2])), {str(program.pid), str(other.pid)})

    def test_a_thread_is_no_process(self):
        program = self.python("threading.Thread(target=spin).start()\nspin()")
        wait_until(lambda: len(os.listdir(f"/proc/{program.pid}/task")) == 2, 30, "a second thread")
        thread = max(os.listdir(f"/proc/{program.pid}/task"), key=int)
        self.refused(thread, f"is a thread of process {program.pid}")

    def test_perf_refused_by_a_filter(self):
        program = self.python("spin()")
        refused = [target("inject"), "perf_event_open", "1+", "EPERM", "--"]
        ran = run([*refused, COMMAND, "attach", "-d", "1s", program.pid], self.directory, clean_environment())
        self.assertEqual(ran.returncode, 1, ran.stderr)
        self.assertRegex(ran.stderr, rf"process {program.pid} cannot be sampled: .*seccomp.*--cap-add PERFMON.*"
                                     rf"; flameprobe attach -e offcpu {program.pid} shows where its threads wait; ")
        self.assert_left(ran.stderr, program.pid, refused)
        ran = run([*refused, COMMAND, "top"], self.directory, clean_environment())
        self.assertRegex(ran.stdout, r"(?m)^ *\d+ +\d")  # of some process there are the waits

    def test_paranoid_3(self):
        """The sysctl is the machine's: a file that says 3 is laid over it, and perf refuses as it would."""
        if os.geteuid() != 0:
            self.skipTest("needs root, to mount")
        program, three = self.python("spin()"), self.directory / "three"
        three.write_text("3\n")
        script = (f"mount --bind {three} /proc/sys/kernel/perf_event_paranoid && "
                  f"exec {target('inject')} perf_event_open 1+ EACCES -- {COMMAND} attach -d 1s {program.pid}")
        ran = run(["unshare", "-m", "sh", "-c", script], self.directory, clean_environment())
        self.assertEqual(ran.returncode, 1, ran.stderr)
        self.assertRegex(ran.stderr, rf"^flameprobe: process {program.pid} cannot be sampled: .*kernel.perf_event_paranoid is 3 "
                                     r"\(2 or less is needed: sysctl kernel.perf_event_paranoid=2\); "
                                     r"flameprobe attach -e offcpu \d+ shows where its threads wait; flameprobe stat -p \d+ needs no right\n$")

    def test_memory_that_may_not_be_read(self):
        """As Yama has it: perf may look, and compiled code has its stacks. Each try is a line in the kernel's log, so there is one of
        each of flameprobe's three processes, whatever the program does."""
        waits = self.python("while True:\n    time.sleep(0.002)\n    sum(range(20000))")
        for program, events in ((self.start(target("shares"), "leaves", "100000000"), "cpu"), (waits, "cpu,offcpu")):
            with self.subTest(events=events):
                stem, report = self.fresh_directory(events) / "out", self.directory / f"report-{events}"
                ran = run([target("inject"), "process_vm_readv", "1+", "EPERM", "--report", report, "--", COMMAND, "attach", "-d", "1s",
                           "-e", events, "-F", "499", "-f", "folded", "-o", stem, program.pid], self.directory, clean_environment())
                self.assertEqual(ran.returncode, 0, ran.stderr)
                self.assertEqual(ran.stderr.count("its memory may not be read"), 1, ran.stderr)
                self.assertLessEqual(int(report.read_text().split()[0]), 3)
                if program is waits:
                    self.assertIn("where some threads wait is not known: the process's memory may not be read", ran.stderr)
                else:
                    self.assert_function(self.stacks(stem), "leaf_70", at_least=20)

    def test_hidden_processes(self):
        user = ordinary_user(self)
        if os.geteuid() != 0:
            self.skipTest("needs root")
        program = self.python("spin()")
        hidden = f"mount --make-rprivate / && mount -t proc -o hidepid=2 none /proc && exec {' '.join(user)} {COMMAND} attach {program.pid}"
        ran = run(["unshare", "-m", "sh", "-c", hidden], self.directory, clean_environment())
        if ran.returncode == 32 or "mount" in ran.stderr and "hidepid" not in ran.stderr:
            self.skipTest(f"no /proc can be mounted here: {ran.stderr}")
        self.assertEqual(ran.returncode, 1, ran.stderr)
        self.assertIn("is hidden (/proc is mounted with hidepid)", ran.stderr)

    def test_another_namespaces_proc(self):
        """Its numbers mean other processes."""
        program = self.python("spin()")
        for command, code in ((["attach", program.pid], 1), (["top"], 1), (["top", "--once", program.pid], 1), (["stat", "-p", program.pid], 1)):
            with self.subTest(command=command[0]):
                ran = run(["unshare", "-p", "-f", COMMAND, *command], self.directory, clean_environment(), timeout=60)
                if "unshare" in ran.stderr:
                    self.skipTest(f"no namespaces can be made here: {ran.stderr}")
                self.assertEqual((ran.returncode, ran.stdout, ran.stderr),
                                 (code, "", "flameprobe: /proc is another pid namespace's, where processes have other numbers: "
                                            "mount -t proc proc /proc\n"))

    def test_the_kernels_threads(self):
        found = [p for p in os.listdir("/proc") if p.isdigit() and self.is_kernel_thread(p)]
        if not found:
            self.skipTest("no thread of the kernel is seen here")
        self.refused(found[0], "thread of the kernel")

    @staticmethod
    def is_kernel_thread(pid):
        try:
            return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[6]) & 0x200000 != 0
        except OSError:
            return False

    def test_another_users_process(self):
        user = ordinary_user(self)
        if os.geteuid() != 0:
            self.skipTest("needs root")
        program = self.python("spin()")
        self.assert_left(self.refused(program.pid, "belongs to another user, 0", "as root", user=user), program.pid, user)

    def test_one_that_may_not_be_dumped(self):
        user = ordinary_user(self)
        program = self.start(*user, sys.executable, "-c", "import ctypes\nctypes.CDLL(None).prctl(4, 0)\nprint(flush=True)\nwhile True: pass",
                             stdout=subprocess.PIPE)
        program.stdout.readline()
        self.addCleanup(program.stdout.close)
        self.assert_left(self.refused(program.pid, "PR_SET_DUMPABLE", "as root", user=user), program.pid, user)
        if os.geteuid() == 0:
            stem, _ = self.attach("-d", "1s", program.pid)
            self.assertGreater(len(self.stacks(stem)), 0)


if __name__ == "__main__":
    unittest.main()
