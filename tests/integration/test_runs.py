"""One run, one result: the tree of processes that begins with the first one that loaded FlameProbe."""

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import time
from pathlib import Path

from harness import (AS_ORDINARY_USER, BUILD, COMMAND, ENGINES, LIBRARY, SIZE, Case, clean_environment, host, profiled, read_folded, render, run,
                     shares, sized, started, target, wait_until)
from programs import Missing, nginx_masters

TREE = r"""
import os, sys, time
def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: sum(range(1000))
children = []
for number in range(int(sys.argv[1])):
    child = os.fork()
    if child == 0:
        work(float(sys.argv[2]))
        os._exit(0)
    children.append(child)
if sys.argv[3] == "wait":
    for child in children: os.waitpid(child, 0)
print(*children, flush=True)
work(float(sys.argv[4]))
"""

# Says what each process is for, a moment after it began, as many servers do (proc(5): arg_start, arg_end).
TITLES = r"""
import ctypes, os, time
def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: sum(range(1000))
def become(title):
    with open("/proc/self/stat") as file: begin, end = map(int, file.read().rpartition(")")[2].split()[45:47])
    ctypes.memmove(begin, title.ljust(end - begin, b"\0"), end - begin)
work(0.1)
become(b"server: master process ./server -x")
children = []
for number in range(2):
    children.append(os.fork())
    if children[-1] == 0:
        work(0.1)
        become(b"server: worker process")
        work(0.2)
        os._exit(0)
for child in children: os.waitpid(child, 0)
print(*children)
work(0.1)
"""

DUMPS = r"""
import ctypes, sys, time
class Error(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("code", ctypes.c_int32), ("message", ctypes.c_char * 500)]
def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: sum(range(1000))
work(0.3)
error = Error(size=ctypes.sizeof(Error))
code = ctypes.CDLL(None).flameprobe_dump(sys.argv[1].encode(), ctypes.byref(error))
print(code, error.message.decode(), flush=True)
work(0.3)
"""
# In the place of the drawing program: notes what it was started for; then it is that program, late at dumps.
NOTING = """#!/bin/sh
echo "$*" >> {log}
case "$*" in *--low-priority*) sleep 0.5;; esac
exec {program} "$@"
"""


# As PHP-FPM ends its children: by SIGTERM, and by SIGKILL at once. They are another user's where root began.
KILLS = r"""
import os, signal, time
def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: sum(range(1000))
children = []
for number in range(int(os.environ["CHILDREN"])):
    ready, tell = os.pipe()
    child = os.fork()
    if child == 0:
        if os.geteuid() == 0: os.setuid(65534)
        work(0.05)
        os.write(tell, b".")
        time.sleep(60)
    os.read(ready, 1)
    children.append(child)
for number, child in enumerate(children):
    os.kill(child, signal.SIGTERM)
    time.sleep(number * 0.0001)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""


class RunCase(Case):
    def tree(self, children, seconds, then="wait", own=0.1, change=None, **settings):
        return run(["/usr/bin/python3", "-c", TREE, str(children), str(seconds), then, str(own)], self.directory,
                   profiled(KERNEL="off", **settings) | (change or {}), timeout=120)

    def names(self):
        return sorted(path.name for path in self.directory.iterdir())

    def files_of(self, stem, *endings):
        return sorted(f"{stem}.{ending}" for ending in endings)

    def folded(self, stem):
        return read_folded((self.directory / f"{stem}.folded").read_text())

    def processes(self, profile):
        """{(name, pid): samples} by the table of processes."""
        text = render(self.directory / profile, "--tree", "--top", "1").stdout
        return {(name, int(pid)): int(samples.replace(",", "")) for samples, name, pid in re.findall(r" ([\d,]+) +\S+ %   (.+) (\d+)$", text, re.M)}


class Runs(RunCase):
    def test_a_tree_leaves_four_files_and_one_picture_of_all(self):
        for engine in ENGINES:
            with self.subTest(engine=engine):
                self.directory = self.fresh_directory(engine)
                ran = self.tree(3, 0.12, OUT="tree", FREQ=499, ENGINE=engine)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                self.assertEqual(self.names(), self.files_of("tree", "folded", "fprobe", "svg", "txt"))
                children = [int(word) for word in ran.stdout.split()]
                first = {frames[0] for frames, _ in self.folded("tree")}
                for pid in (ran.pid, *children):
                    self.assertIn(f"python3 {pid}", first)
                table = self.processes("tree.fprobe")
                self.assertEqual({pid for _, pid in table}, {ran.pid, *children})
                for pid in children:
                    alone = render(self.directory / "tree.fprobe", "--pid", pid, "-o", "-", "--format", "folded").stdout
                    self.assertGreater(sum(count for _, count in read_folded(alone)), 20, f"of process {pid}")

    def test_processes_are_called_after_their_titles(self):
        ran = run(["/usr/bin/python3", "-c", TITLES], self.directory, profiled(OUT="tree", FREQ=499, KERNEL="off"), timeout=120)
        workers = [int(word) for word in ran.stdout.split()]
        named = {f"server: worker process {pid}" for pid in workers}
        self.assertEqual({frames[0] for frames, _ in self.folded("tree")}, {f"server: master process {ran.pid}", *named})
        self.assertEqual(set(self.processes("tree.fprobe")), {("server: master process", ran.pid), *(("server: worker process", pid) for pid in workers)})
        self.assertTrue((self.directory / "tree.txt").read_text().startswith("command: /usr/bin/python3 -c "))  # of the first one
        selected = render(self.directory / "tree.fprobe", "--process", "worker", "-o", "-", "--format", "folded").stdout
        self.assertEqual({frames[0] for frames, _ in read_folded(selected)}, named)

    def test_the_sum_over_processes_is_the_sum_of_their_profiles(self):
        self.tree(3, 0.1, OUT="tree", FREQ=499, FORMAT="none")
        def weight(*options):
            text = render(self.directory / "tree.fprobe", *options, "-o", "-", "--format", "json").stdout
            return json.loads(text)["stack_ns"]
        self.assertEqual(weight(), sum(weight("--pid", pid) for _, pid in self.processes("tree.fprobe")))

    def test_names_are_stored_for_each_process(self):
        self.tree(2, 0.1, OUT="tree", FREQ=499, FORMAT="none")
        before = render(self.directory / "tree.fprobe", "-o", "-", "--format", "folded").stdout
        stored = render("--archive", self.directory / "tree.fprobe", "-o", self.directory / "stored.fprobe")
        self.assertEqual((stored.returncode, stored.stderr), (0, ""))
        self.assertEqual(render(self.directory / "stored.fprobe", "-o", "-", "--format", "folded").stdout, before)
        self.assertEqual(self.processes("stored.fprobe"), self.processes("tree.fprobe"))

    def test_processes_by_name(self):
        script = TREE + "import subprocess\nsubprocess.run([sys.argv[5], 'return', '200'], stdout=subprocess.DEVNULL)"
        ran = run(["/usr/bin/python3", "-c", script, "0", "0", "leave", "0.2", host("ends")], self.directory,
                  profiled(OUT="tree", FREQ=499, KERNEL="off"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        profile = self.directory / "tree.fprobe"
        select = lambda text: read_folded(render(profile, "--process", text, "-o", "-", "--format", "folded").stdout)  # noqa: E731
        parts = [select("^host"), select("python3?$")]
        for part, name in zip(parts, ("host-ends ", "python3 ")):
            self.assertGreater(sum(count for _, count in part), 50, name)
            self.assertTrue(all(frames[0].startswith(name) for frames, _ in part), {frames[0] for frames, _ in part})
        # Each is rounded to periods.
        self.assertAlmostEqual(sum(count for part in parts for _, count in part), sum(count for _, count in self.folded("tree")), delta=2)
        self.assertEqual(render(profile, "--process", "nothing", "-o", "-", "--format", "folded").returncode, 1)
        self.assertEqual(render(profile, "--process", "(", "--info").returncode, 2)
        rows = [line.split()[-2:] for line in render(profile, "--info").stdout.splitlines()[-2:]]
        self.assertEqual({name for name, _ in rows}, {"host-ends", "python3"})
        self.assertIn(["python3", str(ran.pid)], rows)

    def test_a_stretch_of_time_is_the_run_s(self):
        # A child, two seconds of nothing, another child: each counts from its own start.
        script = """import os, subprocess, sys, time
def child():
    one = subprocess.Popen([sys.argv[1], "return", "150"], stdout=subprocess.DEVNULL)
    one.wait()
    return one.pid
first = child()
begun = int(open("/proc/self/stat").read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
print(first, time.clock_gettime(time.CLOCK_BOOTTIME) - begun)
time.sleep(2)
print(child())"""
        ran = run(["/usr/bin/python3", "-c", script, host("ends")], self.directory, profiled(OUT="run", FREQ=499, FORMAT="none"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        first, between, second = ran.stdout.split()
        select = lambda *window: {frames[0] for frames, _ in  # noqa: E731
                                  read_folded(render(self.directory / "run.fprobe", *window, "-o", "-", "--format", "folded").stdout)}
        before, after = select("--to", between + "s"), select("--from", between + "s")
        self.assertIn(f"host-ends {first}", before)
        self.assertNotIn(f"host-ends {second}", before)
        self.assertIn(f"host-ends {second}", after)
        self.assertNotIn(f"host-ends {first}", after)

    def test_many_of_one_name_are_one_frame(self):
        ran = self.tree(10, 0.06, OUT="many", FREQ=499)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        first = {frames[0] for frames, _ in self.folded("many")}
        self.assertEqual(len(first), 1, first)
        self.assertRegex(first.pop(), r"^python3 × (9|10|11)$")

    def test_a_launcher_leaves_its_name_to_the_program(self):
        """Whatever is sampled: its waits, a few milliseconds, are not what the user asked for. At a low frequency, since it keeps
        its name where a sample hit it by chance: once in a hundred launchers at 499 Hz."""
        self.directory.chmod(0o777)
        for engine in ENGINES:
            for user in ((), AS_ORDINARY_USER) if os.geteuid() == 0 else ((),):
                events = ("cpu", "cpu,offcpu", "wall")
                # In the quick set all events once, and each user in each engine.
                for event in events if SIZE == "all" or not user and engine == "ring" else events[bool(user):bool(user) + 1]:
                    with self.subTest(engine=engine, user=bool(user), event=event):
                        place = self.fresh_directory(f"{engine}-{event}-{len(user)}")
                        place.chmod(0o777)
                        ran = run([*user, "/usr/bin/env", "-u", "NOTHING", "nice", "-n", "0", host("ends"), "return", "300"], place,
                                  profiled(ENGINE=engine, EVENT=event, FREQ=19, OUT=place / "%e"))
                        self.assertEqual((ran.returncode, ran.stdout), (6, "ending by return\n"), ran.stderr)
                        self.assertEqual({path.name.split(".")[0] for path in place.iterdir()}, {"host-ends"}, ran.stderr)
                        self.assertEqual({key[0] for key in self.processes(place / "host-ends.fprobe")}, {"host-ends"})

    def test_a_program_that_begins_late_goes_on_with_its_launchers_result(self):
        """As PostgreSQL's server, with its forty libraries: what the launcher recorded is a result before it begins."""
        launcher = ("import os, time\nwhile time.process_time() < 0.2: pass\nenv = dict(os.environ)\n"
                    f"os.execve('/bin/sh', ['sh', '-c', 'sleep 0.5; LD_PRELOAD=' + env.pop('LD_PRELOAD') + ' exec {host('ends')} return 200'], env)")
        for engine in ENGINES:
            with self.subTest(engine=engine):
                place = self.fresh_directory(engine)
                ran = run(["/usr/bin/python3", "-c", launcher], place, profiled(ENGINE=engine, FREQ=499, FORMAT="none", OUT=place / "x"))
                self.assertEqual((ran.returncode, ran.stdout), (6, "ending by return\n"), ran.stderr)
                self.assertEqual([path.name for path in place.glob("x*")], ["x.fprobe"], ran.stderr)
                self.assertEqual({name for name, _ in self.processes(place / "x.fprobe")}, {"python3", "host-ends"})

    def test_children_of_a_launchers_program_are_in_its_result(self):
        """A shell has a setenv of its own, which hid the mark that its children got from their run's program."""
        for shell in ("bash", "sh"):
            with self.subTest(shell):
                work = f"{host('ends')} return 200; true"
                ran = run(["/usr/bin/env", "A=1", shell, "-c", f"{work}; {shell} -c '{work}'; true"], self.fresh_directory(shell),
                          profiled(OUT="%e", FREQ=499, KERNEL="off"))
                self.assertEqual(sorted(path.name for path in ran.directory.glob("*.run")), [], ran.stderr)
                [result] = ran.directory.glob("*.fprobe")  # env.fprobe where env used that much before the shell
                names = [name for name, _ in self.processes(result)]
                self.assertEqual(names.count("host-ends"), 2, names)

    def test_threads_of_the_next_program_are_not_the_launchers(self):
        """A launcher that executes at once a program that begins with threads: one result, of the program, by its name."""
        self.directory.chmod(0o777)
        for engine in ENGINES:
            for user in ((), AS_ORDINARY_USER) if os.geteuid() == 0 else ((),):
                for number in range(sized(1, 10)):
                    with self.subTest(engine=engine, user=bool(user), number=number):
                        place = self.fresh_directory(f"{engine}-{len(user)}-{number}")
                        place.chmod(0o777)
                        ran = run([*user, host("family"), "launch"], place, profiled(ENGINE=engine, FREQ=499))
                        self.assertEqual((ran.returncode, ran.stdout), (0, "threads done\n"), ran.stderr)
                        self.assertEqual([key[1] for key in ran.results()], ["host-family"], ran.stderr)
                        stacks = ran.result().stacks()
                        hits, every = shares(stacks, "work_100_ms")
                        self.assertGreater(hits, 0.8 * every, stacks)
                        self.assertLess(every, 1.3 * 0.3 * 499)

    def test_a_first_process_that_becomes_another_program(self):
        """Both programs are in the one result, whether or not the first one's was drawn already."""
        again = "end = __import__('time').process_time() + 0.2\nwhile __import__('time').process_time() < end: sum(range(1000))"
        first = again + "\n__import__('os').execv('/usr/bin/python3', ['/usr/bin/python3', '-c', 'import time\\n' + " + repr(again) + "])"
        for engine in ENGINES:
            for number in range(sized(1, 20)):
                with self.subTest(engine=engine, number=number):
                    place = self.fresh_directory(f"{engine}-{number}")
                    ran = run(["/usr/bin/python3", "-c", first], place, profiled(ENGINE=engine, OUT=place / "x", FREQ=499, KERNEL="off"))
                    self.assertEqual(ran.returncode, 0, ran.stderr)
                    names = sorted(path.name for path in place.iterdir())
                    self.assertEqual(names, ["x.folded", "x.fprobe", "x.svg", "x.txt"], ran.stderr)

    def test_each_image_that_exec_replaces_is_counted_once(self):
        """For root and an ordinary user: one result, with the CPU time of all images and no more."""
        count = sized(6, 40)
        self.directory.chmod(0o777)
        for number, engine in enumerate(ENGINES):
            for user in ((), AS_ORDINARY_USER) if os.geteuid() == 0 else ((),):
                # In the quick set two by two: each way as root and as another user, in one engine at least.
                # Without random addresses each image is where the last one was.
                ways = ("exec", "number", "thread", "failing", "same")
                for how in ways[(number + bool(user)) % 2::2] if SIZE == "quick" else ways:
                    with self.subTest(engine=engine, user=bool(user), how=how):
                        place = self.fresh_directory(f"{engine}-{how}-{len(user)}")
                        place.chmod(0o777)
                        fixed = ["setarch", "-R"] if how == "same" else []
                        ran = run([*user, *fixed, host("family"), "images", count, "exec" if fixed else how], place,
                                  profiled(ENGINE=engine, FREQ=499, KERNEL="off", FORMAT="folded,json"))
                        self.assertEqual((ran.returncode, ran.stdout), (0, "images done\n"), ran.stderr)
                        name = ran.result().stem.name
                        # A launcher that a sample hit by chance keeps its name.
                        self.assertIn(name, [f"flameprobe.{program}.{ran.pid}" for program in ("host-family", *fixed[:1])], ran.stderr)
                        self.assertEqual(sorted(path.name for path in place.iterdir()),
                                         [f"{name}.{ending}" for ending in ("folded", "fprobe", "json")], ran.stderr)
                        truth = 30e6 * (2 * count - 1 if how == "failing" else count)
                        told = json.loads((place / f"{name}.json").read_text())
                        self.assertGreater(told["cpu_time"]["process_ns"], (1 - 0.5 / count) * truth)  # no image is missing
                        self.assertLess(told["cpu_time"]["process_ns"], 1.25 * truth)
                        shown = sum(hits for _, hits in ran.result().stacks()) * told["sampling"]["period_ns"]
                        self.assertGreater(shown, 0.65 * truth)
                        self.assertLess(shown, 1.35 * truth)

    def test_a_launcher_that_gives_up_roots_rights_leaves_its_name_too(self):
        """It makes nothing that the program, which runs as another user, could neither use nor remove."""
        self.need("setpriv")
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        self.directory.chmod(0o1777)
        for engine in ENGINES:
            with self.subTest(engine=engine):
                ran = run(["setpriv", "--clear-groups", "--reuid=65534", "--regid=65534", "/usr/bin/python3", "-c", TREE, "0", "0", "", "0.3"],
                          self.directory, profiled(ENGINE=engine, OUT=self.directory / engine))
                self.assertEqual(ran.returncode, 0, ran.stderr)
                names = [name for name in self.names() if name.startswith(engine)]
                self.assertEqual(names, [engine + ending for ending in (".folded", ".fprobe", ".svg", ".txt")], ran.stderr)

    def test_a_first_process_that_gives_up_roots_rights(self):
        """It has its result where it may write, and the command that draws it where it may not."""
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        for engine in ENGINES:
            for mode, umask in ((0o1777, 0o22), (0o1777, 0o77), (0o755, 0o22), (0o700, 0o22)):
                with self.subTest(engine=engine, mode=oct(mode), umask=oct(umask)):
                    self.directory.chmod(0o755)
                    place = self.fresh_directory(f"{engine}-{mode:o}-{umask:o}")
                    place.chmod(mode)
                    ran = run([host("privileges"), "setuid"], place, profiled(ENGINE=engine, OUT=place / "x", FREQ=999), umask=umask)
                    self.assertEqual(ran.returncode, 0, ran.stderr)
                    names = sorted(path.name for path in place.iterdir())
                    if mode == 0o1777:
                        self.assertEqual(names, ["x.folded", "x.fprobe", "x.svg", "x.txt"], ran.stderr)
                    else:
                        self.assertEqual(names, ["x.run"], ran.stderr)
                        self.assertIn("x.run", ran.stderr)

    def test_a_first_process_that_may_become_root_again(self):
        """As squid does. The folder is root's, and stays under its name."""
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        self.directory.chmod(0o777)
        program = "import os, time\nos.setresuid(65534, 65534, 0)\nwhile time.process_time() < 0.3: sum(range(1000))"
        ran = run(["/usr/bin/python3", "-c", program], self.directory, profiled(OUT=self.directory / "x", FREQ=999))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(self.names(), ["x.folded", "x.fprobe", "x.run", "x.svg", "x.txt"], ran.stderr)
        self.assertIn("x.run stays, since it is another user's", ran.stderr)

    def test_children_that_outlive_the_first_process_draw_it_again(self):
        ran = self.tree(2, 0.5, then="leave", own=0.2, OUT="daemon", FREQ=499)
        children = [int(word) for word in ran.stdout.split()]
        wait_until(lambda: not (self.directory / "daemon.run").exists(), 60, "the end of the run's folder")
        self.assertEqual(self.names(), self.files_of("daemon", "folded", "fprobe", "svg", "txt"))
        table = self.processes("daemon.fprobe")
        self.assertEqual({pid for _, pid in table}, {ran.pid, *children})
        for pid in children:
            self.assertGreater(table["python3", pid], 150, table)  # 0.5 s of CPU time at 499 Hz

    def test_a_killed_first_process_leaves_the_rest_to_its_children(self):
        for engine in sized(("timer",), ENGINES):
            with self.subTest(engine=engine):
                self.directory = self.fresh_directory(engine)
                first = subprocess.Popen(["/usr/bin/python3", "-c", TREE, "2", "1", "leave", "10"], cwd=self.directory,
                                         env=profiled(OUT="killed", FREQ=499, ENGINE=engine), stdout=subprocess.PIPE, text=True)
                children = [int(word) for word in first.stdout.readline().split()]
                wait_until(lambda: len(list(self.directory.glob("killed.run/*.fprobe"))) == 3, 60, "three profiles")
                first.kill()
                first.communicate()
                wait_until(lambda: not (self.directory / "killed.run").exists(), 60, "the end of the run's folder")
                self.assertEqual({pid for _, pid in self.processes("killed.fprobe")}, {first.pid, *children})

    def test_children_that_are_killed_while_they_end_are_whole(self):
        """Where the collector is a task: a thread is killed with its process."""
        if ENGINES[0] != "ring":
            self.skipTest("this kernel's collector is a thread")
        ran = run(["/usr/bin/python3", "-c", KILLS], self.directory, profiled(OUT="kills", FREQ=499, ENGINE=ENGINES[0]) | {"CHILDREN": "20"},
                  timeout=120)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(self.names(), self.files_of("kills", "folded", "fprobe", "svg", "txt"))
        self.assertNotIn("did not end in order", render(self.directory / "kills.fprobe", "--info").stdout)

    def test_all_are_killed(self):
        """The folder is left: flameprobe-render takes it."""
        leader = subprocess.Popen(["/usr/bin/python3", "-c", TREE, "2", "10", "leave", "10"], cwd=self.directory,
                                  env=profiled(OUT="killed", FREQ=499, ENGINE="timer"), stdout=subprocess.PIPE, text=True,
                                  start_new_session=True)
        children = [int(word) for word in leader.stdout.readline().split()]
        wait_until(lambda: len([p for p in self.directory.glob("killed.run/*.fprobe") if p.stat().st_size > 2_000]) == 3, 60,
                   "three profiles")
        os.killpg(leader.pid, signal.SIGKILL)
        leader.communicate()
        self.assertEqual({pid for _, pid in self.processes("killed.run")}, {leader.pid, *children})

    def test_run_draws_what_a_killed_command_left(self):
        ran = subprocess.run([COMMAND, "run", "-o", "left", "--engine", "timer", "-F", "499", "--", "/usr/bin/python3", "-c",
                              "import os, signal, time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass\n"
                              "os.kill(os.getpid(), signal.SIGKILL)"],
                             cwd=self.directory, env=clean_environment(), capture_output=True, text=True, timeout=60)
        self.assertEqual(ran.returncode, -signal.SIGKILL, ran.stderr)
        self.assertIn("left.html", ran.stderr)
        self.assertEqual(self.names(), self.files_of("left", "folded", "fprobe", "html", "svg", "txt"))

    def test_the_only_profile_becomes_the_result_without_a_copy(self):
        """It keeps its inode; a result that the user made private stays so."""
        for private in (False, True):
            with self.subTest(private=private):
                if private:
                    (self.directory / "one.fprobe").chmod(0o600)
                with started([host("ends"), "return", "600"], self.directory, profiled(OUT="one", FREQ=499, KERNEL="off")) as first:
                    wait_until(lambda: any(p.stat().st_size for p in self.directory.glob("one.run/*.fprobe")), 60, "a profile")
                    growing = next(self.directory.glob("one.run/*.fprobe")).stat()
                    self.assertEqual(first.wait(60), 6)
                found = (self.directory / "one.fprobe").stat()
                self.assertEqual(found.st_ino, growing.st_ino)
                self.assertEqual(stat.S_IMODE(found.st_mode), 0o600 if private else stat.S_IMODE(growing.st_mode))
                self.assertEqual(sorted(p.name for p in self.directory.glob("one*")),
                                 self.files_of("one", "folded", "fprobe", "svg", "txt"))
                facts = render(self.directory / "one.fprobe", "--info").stdout
                self.assertIn("compiler", facts)  # what only the drawing program looks up

    def test_processes_are_a_table_in_the_page(self):
        ran = self.tree(2, 0.1, OUT="tree", FREQ=499, FORMAT="html")
        children = [int(word) for word in ran.stdout.split()]
        rows = re.findall(r"<tr><td>python3 (\d+)</td><td>([^<]*)</td><td>([\d,]+)</td><td>[\d.]+ %</td></tr>",
                          (self.directory / "tree.html").read_text())
        self.assertEqual({int(pid) for pid, _, _ in rows}, {ran.pid, *children})
        self.assertEqual({("python3", int(pid)): int(samples.replace(",", "")) for pid, _, samples in rows},
                         self.processes("tree.fprobe"))
        render(self.directory / "tree.fprobe", "--pid", str(children[0]), "-o", self.directory / "one.html")
        self.assertNotIn("<td>python3", (self.directory / "one.html").read_text())

    def test_compare_takes_some_processes(self):
        trees = []
        for name in ("old", "new"):
            ran = self.tree(2, 0.1, OUT=name, FREQ=499, FORMAT="none")
            trees.append([ran.pid, *map(int, ran.stdout.split())])
        def compared(*options):
            return run([COMMAND, "compare", *options, "old.fprobe", "new.fprobe"], self.directory)
        self.assertEqual(compared("--process", "^python3$").stdout, compared().stdout)
        self.assertIn("there are no samples before", compared("--process", "^nothing$").stderr)
        self.assertIn("there are no samples after", compared("--pid", str(trees[0][1])).stderr)
        self.assertEqual(compared("--process", "(").returncode, 2)
        self.assertEqual(compared("--pid", "x").returncode, 2)

    def test_two_runs_of_one_name_at_once(self):
        both = [subprocess.Popen([str(host("ends")), "return", "600"], cwd=self.directory,
                                 env=profiled(OUT="same", FREQ=499, KERNEL="off"), stdout=subprocess.DEVNULL) for _ in range(2)]
        self.assertEqual([one.wait(60) for one in both], [6, 6])
        self.assertEqual(self.names(), sorted(self.files_of("same", "folded", "fprobe", "svg", "txt") +
                                              self.files_of("same.2", "folded", "fprobe", "svg", "txt")))
        pids = {pid for stem in ("same", "same.2") for _, pid in self.processes(f"{stem}.fprobe")}
        self.assertEqual(pids, {one.pid for one in both})

    def test_a_later_run_replaces_the_result(self):
        for _ in range(2):
            ran = run([host("ends"), "return", "100"], self.directory, profiled(OUT="same", FREQ=499, KERNEL="off"))
            time.sleep(0.05)  # file times are of the kernel's tick
        self.assertEqual(self.names(), self.files_of("same", "folded", "fprobe", "svg", "txt"))
        self.assertEqual({pid for _, pid in self.processes("same.fprobe")}, {ran.pid})

    def installed(self):
        """A copy of what is installed, for tests that change it."""
        place = self.directory / "lib"
        place.mkdir(mode=0o755)
        for name in ("libflameprobe.so", "libflameprobe-core.so"):
            shutil.copy(LIBRARY.parent / name, place)
        return place

    def test_without_the_drawing_program_the_profile_is_there(self):
        place = self.installed()
        env = profiled(OUT="here", FREQ=499, KERNEL="off") | {"LD_PRELOAD": str(place / "libflameprobe.so")}
        ran = run([host("ends"), "return", "100"], self.directory, env)
        self.assertEqual((ran.returncode, ran.stdout), (6, "ending by return\n"))
        self.assertIn("flameprobe-draw is not installed", ran.stderr)
        self.assertIn(f"flameprobe-render {self.directory}/here.fprobe -o {self.directory}/here.html", ran.stderr)
        self.assertEqual(self.names(), ["here.fprobe", "lib"])
        self.assert_function(read_folded(render(self.directory / "here.fprobe", "-o", "-", "--format", "folded").stdout), "work_ms")

    def test_without_pictures_its_absence_is_told_only_where_profiles_are_not_put_together(self):
        place = self.installed()
        env = profiled(OUT="here", FREQ=499, FORMAT="none") | {"LD_PRELOAD": str(place / "libflameprobe.so")}
        ran = run([host("ends"), "return", "100"], self.directory, env)
        self.assertEqual((ran.stderr, self.names()), ("", ["here.fprobe", "lib"]))
        (self.directory / "here.fprobe").unlink()
        ran = run([host("family"), "fork"], self.directory, env)
        self.assertIn("the run's profiles are not put together: ", ran.stderr)
        self.assertEqual(self.names(), ["here.run", "lib"])

    def test_a_drawing_program_that_fails_changes_nothing_for_the_host(self):
        place = self.installed()
        env = profiled(OUT="here", FREQ=499, KERNEL="off") | {"LD_PRELOAD": str(place / "libflameprobe.so")}
        program = place / "flameprobe-draw"
        ways = (("ends at once", "#!/bin/sh\nexit 1\n", 0o755), ("is killed", "#!/bin/sh\nkill -9 $$\n", 0o755),
                ("is no program", "nothing", 0o755), ("others may write it", "#!/bin/sh\nexit 0\n", 0o777),
                ("hangs", "#!/bin/sh\nexec sleep 45\n", 0o755))
        for name, text, mode in ways:
            with self.subTest(name):
                program.write_text(text)
                program.chmod(mode)
                ran = run([host("ends"), "return", "100"], self.directory, env)
                self.assertEqual((ran.returncode, ran.stdout), (6, "ending by return\n"))
                self.assertIn("no picture is drawn", ran.stderr)
                self.assertEqual(ran.stderr.count("\n"), 1, ran.stderr)
                (self.directory / "here.fprobe").unlink()

    def test_a_drawing_program_without_memory(self):
        """From too little to start, over too little to draw, to enough: a picture, without names perhaps, or one sentence."""
        place, drawer = self.installed(), BUILD / "tools" / "draw" / "flameprobe-draw"
        env = profiled(OUT="here", FREQ=499, KERNEL="off", FORMAT="svg") | {"LD_PRELOAD": str(place / "libflameprobe.so")}
        drawn = set()
        for kilobytes in (2000, 8000, 9500, 10000, 10500, 12000, 200000):
            with self.subTest(kilobytes=kilobytes):
                (place / "flameprobe-draw").write_text(f"#!/bin/sh\nulimit -v {kilobytes}\nexec {drawer} \"$@\"\n")
                (place / "flameprobe-draw").chmod(0o755)
                ran = run([host("ends"), "return", "100"], self.directory, env)
                self.assertEqual((ran.returncode, ran.stdout), (6, "ending by return\n"))
                has_picture = (self.directory / "here.svg").exists()
                self.assertNotEqual("no picture is drawn" in ran.stderr, has_picture, ran.stderr)
                self.assertTrue(has_picture or ran.stderr.count("\n") == 1, ran.stderr)
                drawn.add(has_picture)
                for file in self.directory.glob("here.*"):
                    file.unlink()
        self.assertEqual(drawn, {False, True})

    def noting(self):
        """The library beside a drawing program that notes its arguments; the environment's change, and the notes."""
        place, log = self.installed(), self.directory / "lib" / "log"
        (place / "flameprobe-draw").write_text(NOTING.format(log=log, program=BUILD / "tools" / "draw" / "flameprobe-draw"))
        (place / "flameprobe-draw").chmod(0o755)
        return {"LD_PRELOAD": str(place / "libflameprobe.so")}, log

    def test_dumps_are_drawn_by_another_process_while_sampling_goes_on(self):
        change, log = self.noting()
        ran = run(["/usr/bin/python3", "-c", DUMPS, "middle"], self.directory, profiled(OUT="here", FREQ=499, KERNEL="off") | change)
        self.assertEqual((ran.returncode, ran.stdout), (0, "0 \n"), ran.stderr)
        dump, end = log.read_text().splitlines()
        self.assertIn(f"--stem={self.directory}/middle --low-priority", dump)
        self.assertRegex(end, r"/here\.run --format")
        self.assertEqual(self.names(), ["here.folded", "here.fprobe", "here.svg", "here.txt", "lib", "middle.folded", "middle.svg",
                                        "middle.txt"])
        halves = sum(count for _, count in self.folded("middle")), sum(count for _, count in self.folded("here"))
        self.assertGreater(halves[0], 100)
        self.assertGreater(halves[1], halves[0] + 100)

    def test_numbered_results_and_separate_ones_are_drawn_by_another_process(self):
        change, log = self.noting()
        ran = run([host("ends"), "return", "1600"], self.directory, profiled(OUT="part.%n", FREQ=499, KERNEL="off", DUMP_EVERY="1s") | change)
        self.assertEqual(ran.returncode, 6, ran.stderr)
        lines = log.read_text().splitlines()
        dumps = [line for line in lines if "--low-priority" in line]  # and so may begin after what is drawn at the end
        self.assertGreaterEqual(len(dumps), 1)
        # A dump that is due at the end is the end's, also on a busy machine. Without a sample since the last one it has none.
        if len(lines) == len(dumps):
            facts = [(self.directory / f"part.{number}.txt").read_text() for number in range(1, len(dumps) + 1)]
            used = [float(re.search("^CPU time: ([0-9.]+) s", text, re.M)[1]) for text in facts]
            self.assertGreater(sum(used), 1.58, used)
        else:
            self.assertEqual(len(lines), len(dumps) + 1)
        for number in range(1, len(dumps) + 1):
            self.assertIn(f"part.{number}.fprobe --stem={self.directory}/part.{number} --low-priority", "\n".join(dumps))
        sums = [sum(count for _, count in self.folded(f"part.{number}")) for number in range(1, len(lines) + 1)]
        self.assertGreater(sum(sums), 0.9 * 1.6 * 499, sums)  # nothing is lost while one is drawn
        log.unlink()
        ran = self.tree(1, 0.3, OUT="alone.%p", FREQ=499, CHILDREN="separate", change=change)
        stems = {f"alone.{pid}" for pid in (ran.pid, *map(int, ran.stdout.split()))}
        self.assertEqual({line.split("--stem=")[1].split()[0].rsplit("/", 1)[1] for line in log.read_text().splitlines()}, stems)
        for stem in stems:
            self.assertTrue((self.directory / f"{stem}.svg").exists())

    def test_a_dump_without_the_drawing_program_names_the_command(self):
        place = self.installed()
        env = profiled(OUT="here", FREQ=499, KERNEL="off") | {"LD_PRELOAD": str(place / "libflameprobe.so")}
        ran = run(["/usr/bin/python3", "-c", DUMPS, "middle"], self.directory, env)
        code, message = ran.stdout.split(" ", 1)
        self.assertNotEqual(code, "0")
        self.assertRegex(message, rf"not installed.*this draws it: flameprobe-render {self.directory}/here.run/\S+.fprobe "
                                  rf"-o {self.directory}/middle.html$")

    def test_a_file_system_that_cannot_rename_without_replacing(self):
        """As NFS, 9p, and most of FUSE (rename(2): RENAME_NOREPLACE)."""
        for formats in ("folded", "none"):
            with self.subTest(formats=formats):
                self.directory = self.fresh_directory(formats)
                report = self.directory.parent / f"{formats}.report"
                refused = [target("inject"), "renameat2", "1+", "EINVAL", "--report", report]
                env = profiled(OUT="here", FREQ=499, KERNEL="off", FORMAT=formats, ENGINE="timer")
                ran = run([*refused, "--", "env", f"LD_PRELOAD={env.pop('LD_PRELOAD')}", "/usr/bin/python3", "-c", TREE, "2", "0.1", "wait", "0.1"],
                          self.directory, env)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                self.assertNotEqual(report.read_text(), "0 0\n")
                self.assertIn("here.fprobe", self.names(), ran.stderr)
                self.assertNotIn("here.run", self.names(), ran.stderr)
                self.assertEqual(len(self.processes("here.fprobe")), 3)

    def test_a_place_that_cannot_be_written(self):
        ran = self.tree(2, 0.1, OUT="/proc/nothing/here", FREQ=499)
        self.assertEqual(ran.returncode, 0)
        self.assertIn("/proc/nothing/here.run cannot be created", ran.stderr)
        self.assertEqual(self.names(), [])

    def test_without_descriptors_the_folder_stays_and_is_told(self):
        """A collector that is a thread has the program's limit: it can neither list the folder nor start a program."""
        work = "import resource, time\ndef work():\n    end = time.process_time() + 0.2\n    while time.process_time() < end: pass\n" \
               "work(); resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3)); work()"
        ran = run(["/usr/bin/python3", "-c", work], self.directory, profiled(OUT="few", FREQ=499, KERNEL="off", ENGINE="timer"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(self.names(), ["few.run"], ran.stderr)
        self.assertIn(f"this draws it: flameprobe-render {self.directory}/few.run", ran.stderr)
        self.assertEqual({pid for _, pid in self.processes("few.run")}, {ran.pid})

    def test_nothing_but_the_result_and_the_folder_is_ever_there(self):
        first = subprocess.Popen(["/usr/bin/python3", "-c", TREE, "2", "0.4", "wait", "0.4"], cwd=self.directory,
                                 env=profiled(OUT="seen", FREQ=499, KERNEL="off"), stdout=subprocess.DEVNULL)
        seen = set()
        while first.poll() is None:
            seen.update(self.names())
            time.sleep(0.002)
        # A result is written under a hidden name first.
        self.assertEqual({name for name in seen if not name.startswith(("seen.", ".flameprobe."))}, set())
        self.assertFalse({name for name in seen if name.startswith("seen.") and name.endswith(".fprobe")} - {"seen.fprobe"})
        self.assertEqual(self.names(), self.files_of("seen", "folded", "fprobe", "svg", "txt"))


class NginxUpgrade(RunCase):
    """nginx starts its new binary (USR2) with an environment that its configuration names; both serve, then the old one ends
    (WINCH, QUIT)."""

    def upgrade(self, keeps=()):
        """The workers of the old master and of the new one, each of which answered."""
        self.directory.chmod(0o777)
        env = profiled(FREQ=499, OUT=self.directory / "web")
        try:
            with nginx_masters(self.fresh_directory("nginx"), env, keeps) as upgrade:
                self.assertGreater(upgrade.serve(), 0)
                old = upgrade.children(upgrade.masters[0])
                upgrade.begin()
                new = wait_until(lambda: len(found := upgrade.children(upgrade.masters[1])) == 2 and found, what="the new workers")
                self.assertGreater(upgrade.serve(), 0)
                upgrade.retire_workers()
                self.assertGreater(upgrade.serve(), 0)
                self.assertEqual(upgrade.end(upgrade.masters[0]), 0)
                self.assertGreater(upgrade.serve(), 0)
                self.assertEqual(upgrade.end(upgrade.masters[1]), 0)
        except Missing as what:
            self.skipTest(f"{what} is not installed")
        wait_until(lambda: not list(self.directory.glob("*.run")), 60, "the end of the run's folder")
        self.assertEqual(self.names(), ["nginx", *self.files_of("web", "folded", "fprobe", "svg", "txt")])
        return set(map(int, old)), set(map(int, new))

    def test_the_new_one_is_of_the_run_where_its_environment_says_so(self):
        old, new = self.upgrade(("LD_PRELOAD", "FLAMEPROBE_OUT", "FLAMEPROBE_FREQ", "FLAMEPROBE_ROOT"))
        table = self.processes("web.fprobe")
        # Each is called after its title. A master had its first sample before it had one.
        self.assertLessEqual({name for name, _ in table}, {"nginx", "nginx: master process", "nginx: worker process"})
        workers = {pid for name, pid in table if name == "nginx: worker process"}
        self.assertTrue(old & workers, table)
        self.assertTrue(new & workers, table)

    def test_the_old_one_is_whole_where_the_new_one_is_not_profiled(self):
        old, new = self.upgrade()
        pids = {pid for _, pid in self.processes("web.fprobe")}
        self.assertTrue(old & pids, pids)
        self.assertFalse(new & pids, pids)
