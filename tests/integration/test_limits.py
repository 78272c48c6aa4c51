"""Missing resources cost samples at most, and a message says so: no descriptor, no locked memory, no free signal, no /proc, a
kernel that permits less, a file name in use, a seccomp filter for every thread."""

import contextlib
import itertools
import json
import os
import re
import resource
import shutil
import subprocess
import unittest
from pathlib import Path

from harness import (BUILD, ENGINES, LIBRARY, Case, Result, clean_environment, host, ordinary_user, profiled, read_folded,
                     render, run, shares, sized)

NOBODY = 65534
ALL_TAKEN = "the program uses every signal that could carry samples"


def summary(result):
    return json.loads(result.path("json").read_text())


class LateStart(Case):
    """The host has used up a resource before sampling begins."""

    def late(self, mode, how, engine, **settings):
        if how == "signal":
            settings["SIGNAL"] = "USR2"
        ran = run([host("late"), mode, how], self.fresh_directory(f"{mode}-{how}-{engine}"),
                  profiled(ENGINE=engine, START="0", FREQ=499, FORMAT="json,folded", **settings))
        self.assertEqual((ran.returncode, ran.stdout), (0, f"{mode} {how} done\n"), ran.stderr)
        return ran

    def test_no_descriptor_left(self):
        for engine in ENGINES:
            for how in ("api", "signal"):
                with self.subTest(engine=engine, how=how):
                    stacks = self.late("descriptors", how, engine).result().stacks()
                    self.assert_function(stacks, "late_work", at_least=20)
                    self.assertEqual(shares(stacks, "early_work")[0], 0)

    def test_every_signal_is_the_hosts(self):
        self.assert_function(self.late("signals", "api", "auto").result().stacks(), "late_work", at_least=20)
        ran = self.late("signals", "api", "timer")
        refusals = [line for line in ran.stderr.splitlines() if line.startswith("refused: ")]
        self.assertEqual(len(refusals), 1, ran.stderr)
        self.assertIn(ALL_TAKEN, refusals[0])
        self.assertEqual(ran.results(), {})

    def test_more_threads_than_descriptors(self):
        told = summary(self.late("threads", "api", "auto").result())
        self.assertEqual(told["sampling"]["engine"], "timer")
        self.assertIn("threads are not sampled", told["sampling"]["engine_reason"])
        ran = self.late("threads", "api", "ring")
        self.assertIn("threads are not sampled", ran.stderr)
        self.assert_function(ran.result().stacks(), "late_work", at_least=20)


class Taken(Case):
    """The host uses up a resource while it is sampled."""

    def test_signals(self):
        ran = run([host("late"), "yield"], self.directory, profiled(ENGINE="timer", FREQ=499))
        self.assertEqual((ran.returncode, ran.stdout), (0, "yield api done\n"), ran.stderr)
        self.assertIn(ALL_TAKEN, ran.stderr)
        self.assertIn(ALL_TAKEN, render(ran.result().path("fprobe"), "--info").stdout)
        self.assert_function(ran.result().stacks(), "early_work", at_least=15)

    def test_blocked_signals(self):
        ran = run([host("blocked_signals")], self.directory, profiled(ENGINE="timer", FREQ=499))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertRegex(render(ran.result().path("fprobe"), "--info").stdout,
                         "threads? could not be sampled while blocking the signal for it")

    def test_system_calls(self):
        """A filter for every thread is the collector's too: it ends before one that would kill, and says so. With the rings
        the collector is no thread of the host, and goes on."""
        result = self.ended_by_filter("kill_everyone", "timer", "into a seccomp filter that kills for system calls of the collector")
        self.assertLessEqual({"folded", "svg"}, result.endings)
        ran = run([host("sandbox"), "kill_everyone"], self.fresh_directory("ring"), profiled(ENGINE="ring", FREQ=499))
        self.assertEqual((ran.returncode, ran.stdout), (0, "done\n"), ran.stderr)
        self.assertNotIn("seccomp", ran.stderr)
        self.assert_function(ran.result().stacks(), "open_work", at_least=20)

    def test_return(self):
        """If no handler can return in a filter, an engine with a handler ends before and says so; the ring engine goes on."""
        result = self.ended_by_filter("no_return", "timer", "a seccomp filter in which no signal handler can return")
        self.assertFalse(any("sandboxed_work" in stack for stack, _ in result.stacks()))
        ran = run([host("sandbox"), "no_return"], self.fresh_directory("ring"), profiled(ENGINE="ring", FREQ=499))
        self.assertEqual((ran.returncode, ran.stdout), (0, "done\n"), ran.stderr)
        self.assert_function(ran.result().stacks(), "sandboxed_work", at_least=25)

    def ended_by_filter(self, mode, engine, why):
        ran = run([host("sandbox"), mode], self.fresh_directory(engine), profiled(ENGINE=engine, FREQ=499))
        self.assertEqual((ran.returncode, ran.stdout), (0, "done\n"), ran.stderr)
        result = ran.result()
        self.assertIn(why, ran.stderr)
        self.assertIn(why, render(result.path("fprobe"), "--info").stdout)
        # Half of what is expected: a tick that comes late, on a busy machine, finds the code behind it.
        self.assert_function(result.stacks(), "open_work", at_least=12)
        return result


class Messages(Case):
    def limited(self, limit, **settings):
        env = profiled(FREQ=499, **settings)
        before = ["env", f"LD_PRELOAD={env.pop('LD_PRELOAD')}"]
        return run(["prlimit", limit, *before, host("ends"), "return", "200"], self.directory, env)

    def test_few_descriptors(self):
        ran = self.limited("--nofile=4")
        self.assertEqual((ran.returncode, ran.stdout), (6, "ending by return\n"), ran.stderr)
        self.assertIn("ulimit -n", ran.stderr)
        for wrong in ("in the system", "/proc is not mounted", "a directory that can be written"):
            self.assertNotIn(wrong, ran.stderr)

    def test_no_descriptor_any_more(self):
        """poll(2) is refused then, by which it was found out whether stderr takes a message."""
        ran = run([host("limits"), "none_left"], self.directory, profiled(FREQ=499, ENGINE="timer"))
        self.assertEqual((ran.returncode, ran.stdout), (0, "no descriptors, and on\n"), ran.stderr)
        self.assertIn("ulimit -n", ran.stderr)

    def test_children_without_the_runs_folder(self):
        """Each of them wrote two lines or three."""
        if os.geteuid() != 0:
            self.skipTest("a change of the root is root's")
        for engine, mode in itertools.product(ENGINES, ("chroot_children", "pivot_children")):
            with self.subTest(engine=engine, mode=mode):
                directory = self.fresh_directory(f"{engine}-{mode}")
                (directory / "root").mkdir()
                ran = run([host("privileges"), mode, directory / "root"], directory, profiled(FREQ=499, ENGINE=engine))
                if ran.returncode == 77:
                    self.skipTest("no mount namespace can be made here")
                self.assertEqual((ran.returncode, ran.stdout), (0, f"{mode} done\n"), ran.stderr)
                self.assertRegex(ran.stderr, r"\Aflameprobe: processes that are forked after chroot\(\) or pivot_root\(\) are not sampled: "
                                             r"they cannot reach \S+\.run\n\Z")

    def test_no_thread(self):
        """A preloaded library's start has no caller that could be told."""
        os.chmod(self.directory, 0o755)
        env = profiled(FREQ=499)
        before = [*ordinary_user(self), "prlimit", "--nproc=1", "env", f"LD_PRELOAD={env.pop('LD_PRELOAD')}"]
        ran = run([*before, host("ends"), "return", "20"], self.directory, env)
        self.assertEqual((ran.returncode, ran.stdout), (6, "ending by return\n"), ran.stderr)
        self.assertEqual(len(re.findall("nothing is sampled: no thread can be created.*ulimit -u", ran.stderr)), 1, ran.stderr)

    def test_no_thread_but_of_its_children(self):
        """After unshare -p the kernel gives a process no more threads, whatever the limits are."""
        unshare = ["unshare", "--user", "--map-root-user", "--pid"]
        if run([*unshare, "true"], self.directory).returncode != 0:
            self.skipTest("this user may not make namespaces")
        env = profiled(FREQ=499)
        ran = run([*unshare, "env", f"LD_PRELOAD={env.pop('LD_PRELOAD')}", host("ends"), "return", "60"], self.directory, env)
        self.assertEqual((ran.returncode, ran.stdout), (6, "ending by return\n"), ran.stderr)
        self.assertEqual(ran.stderr, "flameprobe: nothing is sampled: after unshare -p a process may have no new thread, only its "
                                     "children may (unshare -f)\n")

    def test_nobody_reads_them(self):
        """A write to a pipe without a reader ends a program by default. One to a pipe that is full waits for its reader."""
        for engine in ENGINES:
            for full in (False, True):
                with self.subTest(engine=engine, full=full):
                    reader, writer = os.pipe()
                    if full:
                        os.set_blocking(writer, False)
                        with contextlib.suppress(BlockingIOError):
                            while os.write(writer, bytes(4096)):
                                continue
                        os.set_blocking(writer, True)
                    else:
                        os.close(reader)
                    ran = run([host("ends"), "return", "200"], self.fresh_directory(f"{engine}-{full}"),
                              profiled(ENGINE=engine, FREQ=499, LOG="stderr"), timeout=60, stderr=writer)
                    os.close(writer)
                    if full:
                        os.close(reader)
                    self.assertFalse(ran.timed_out)
                    self.assertEqual((ran.returncode, ran.stdout), (6, "ending by return\n"))
                    self.assertIn("svg", ran.result().endings)

    def test_no_file_may_grow(self):
        env = profiled(FREQ=499, LOG="stderr")
        with open(self.directory / "log", "w") as log:
            ran = run(["prlimit", "--fsize=0", "env", f"LD_PRELOAD={env.pop('LD_PRELOAD')}", host("ends"), "return", "200"], self.directory, env, stderr=log)
        self.assertEqual((ran.returncode, ran.stdout), (6, "ending by return\n"))

    def test_little_stack(self):
        """The limit is the drawing program's too."""
        ran = self.limited(f"--stack={128 << 10}")
        self.assertEqual((ran.returncode, ran.stdout), (6, "ending by return\n"), ran.stderr)
        self.assertLessEqual({"svg", "folded", "fprobe"}, ran.result("host-ends").endings, ran.stderr)

    def test_little_memory(self):
        """It is the host's: what runs alone runs with the library, that itself has .3 MB, too. From 64 MB on both have enough."""
        program = "memory = [list(range(10000)) for turn in range({})]; print('done')"
        ran_alone = 0
        for kilobytes, lists in itertools.product((14000, 16000, 20000, 24000, 30000), (1, 10, 20)):
            def limited(kilobytes, *preload, lists=lists):
                return run(["prlimit", f"--as={kilobytes * 1024}", "env", *preload, "python3", "-S", "-c", program.format(lists)],
                           self.directory, clean_environment())
            if limited(kilobytes - 400).returncode == 0:
                ran_alone += 1
                ran = limited(kilobytes, f"LD_PRELOAD={LIBRARY}")
                self.assertEqual((ran.returncode, ran.stdout), (0, "done\n"), ran.stderr)
                self.assertIn("nothing is sampled: the program may use less than 64 MB of memory (ulimit -v)", ran.stderr)
        self.assertGreater(ran_alone, 1)
        ran = self.limited(f"--as={80 << 20}")
        self.assertEqual(ran.returncode, 6, ran.stderr)
        self.assertNotIn("nothing is sampled", ran.stderr)


class Processes(Case):
    """A program that may have two processes or threads has both: the collector, which is one of them, leaves."""

    SCRIPT = """if True:
        import os, sys, threading, time
        def work():
            end = time.process_time() + .15
            while time.process_time() < end: pass
        def fork():
            child = os.fork()
            if child == 0: os._exit(7)
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        def thread():
            thread = threading.Thread(target=work)
            thread.start(), thread.join()
            # The kernel still counts a thread that was joined until it has left /proc.
            while os.path.exists(f"/proc/self/task/{thread.native_id}"): pass
            return 7
        def spawn():
            child = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 7"], os.environ)
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        def system(): return os.waitstatus_to_exitcode(os.system("exit 7"))
        work()
        sys.exit(all(globals()[sys.argv[1]]() == 7 for turn in range(3)) and 6)
    """

    def test_the_host_has_all(self):
        if os.geteuid() != 0:
            self.skipTest("only root can take a user who has no other process")
        self.directory.chmod(0o777)
        for engine in ("ring", "timer"):
            for call in ("fork", "thread", "spawn", "system"):
                with self.subTest(engine=engine, call=call):
                    user = 1_000_000 + os.getpid()
                    limited = ["prlimit", "--nproc=2", "setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "env"]
                    settings = profiled(ENGINE=engine, OUT=f"{self.directory}/{engine}-{call}", FORMAT="folded")
                    # Only python3 itself is sampled: of the programs before it one is root.
                    preload = [f"{name}={settings[name]}" for name in settings if name.startswith(("LD_", "FLAMEPROBE_"))]
                    ran = run([*limited, *preload, "python3", "-c", self.SCRIPT, call], self.directory, clean_environment())
                    self.assertEqual(ran.returncode, 6, ran.stderr)
                    self.assertIn("sampling ends: the program may have no more processes and threads than it needs", ran.stderr)
                    self.assertTrue((self.directory / f"{engine}-{call}.fprobe").exists(), ran.stderr)


class Refused(Case):
    def test_no_locked_memory(self):
        """Four processes at once, whose user may lock nothing: perf's own budget is small, and shared."""
        for user in {os.geteuid(), NOBODY if os.geteuid() == 0 else os.geteuid()}:
            with self.subTest(user=user):
                self.lock_nothing(user)

    def lock_nothing(self, user):
        directory = self.fresh_directory(f"user-{user}")
        os.chmod(self.directory, 0o755)
        os.chmod(directory, 0o777)
        who = {} if user == os.geteuid() else {"user": user, "group": user, "extra_groups": []}
        command = [str(host("ends")), "return", "300"]
        try:
            subprocess.run(command, cwd=directory, env=clean_environment(), capture_output=True, check=False, **who)
        except PermissionError:
            self.skipTest(f"user {user} cannot enter the build directory")
        processes = [subprocess.Popen(command, cwd=directory, env=profiled(FREQ=4000, FORMAT="json,folded"), text=True,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      start_new_session=True,
                                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0)), **who)
                     for _ in range(4)]
        for process in processes:
            out, err = process.communicate(timeout=120)
            self.assertEqual((process.returncode, out), (6, "ending by return\n"), err)
            result = Result(directory / f"flameprobe.host-ends.{process.pid}")
            told = summary(result)
            self.assertIn(told["sampling"]["engine"], ("ring", "timer"), err)
            self.assertNotEqual(told["sampling"]["engine_reason"], "")
            self.assert_function(result.stacks(), "work_ms", at_least=50)


class Locked(Case):
    """mlockall(2) counts the address space: a user whose program is small enough may lock it with FlameProbe too."""

    def test_ordinary_user(self):
        user = ordinary_user(self)
        self.directory.chmod(0o777)
        alone = run([*user, host("limits"), "locked"], self.directory)
        self.assertEqual((alone.returncode, alone.stdout), (0, "locked 0 0 0, mapped 1 0\n"), alone.stderr)
        for engine in sized(("auto", "timer"), ("auto", *ENGINES)):
            # Waits need rings of their own, whoever samples.
            for event in sized(("cpu",) if engine != "auto" else ("cpu", "cpu,offcpu"), ("cpu", "cpu,offcpu")):
                with self.subTest(engine=engine, event=event):
                    place = self.fresh_directory(f"{engine}-{event}")
                    place.chmod(0o777)
                    ran = run([*user, host("limits"), "locked"], place, profiled(ENGINE=engine, EVENT=event, FREQ=499))
                    self.assertEqual((ran.returncode, ran.stdout), (0, alone.stdout), ran.stderr)
                    self.assert_function(ran.result().stacks(), "work_ms", at_least=30)
        with self.subTest("allocations"):
            allocating = profiled(EVENT="heap", FORMAT="none") | {"LD_PRELOAD": f"{LIBRARY}:{BUILD}/preload/alloc/libflameprobe-alloc.so"}
            ran = run([*user, host("limits"), "locked"], self.directory, allocating)
            self.assertEqual((ran.returncode, ran.stdout), (0, alone.stdout), ran.stderr)


class SmallGroup(Case):
    """A memory cgroup (cgroups(7)) with room for the host and the recorder, but not for the drawing program beside them."""

    def group(self):
        for root, limit, swap in (("memory", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"), ("", "memory.max", "memory.swap.max")):
            group = Path("/sys/fs/cgroup", root, f"flameprobe-test-{os.getpid()}")
            try:
                group.mkdir()
                self.addCleanup(group.rmdir)
                (group / limit).write_text(str(64 << 20))
            except OSError:
                continue
            with contextlib.suppress(OSError):
                (group / swap).write_text("0" if limit == "memory.max" else str(64 << 20))
            return group
        return self.skipTest("no memory cgroup can be made here")

    def test_the_host_is_not_killed_for_its_picture(self):
        group = self.group()
        for engine in ENGINES:
            for size in (40, 52, 55, 57):
                with self.subTest(engine=engine, mebibytes=size):
                    place = self.fresh_directory(f"{engine}-{size}")
                    ran = run(["sh", "-c", 'echo $$ > "$1/cgroup.procs" && shift && exec "$@"', "sh", group, "env", f"LD_PRELOAD={LIBRARY}",
                               host("limits"), "held", size], place, clean_environment(FLAMEPROBE_ENGINE=engine, FLAMEPROBE_FREQ="499", FLAMEPROBE_OUT="x"))
                    self.assertEqual((ran.returncode, ran.stdout), (0, "held\n"), ran.stderr)
                    if not (place / "x.svg").exists():
                        self.assertRegex(ran.stderr, "this draws it: flameprobe-render .*x|there is not enough memory .the samples are safe in .*x.fprobe"
                                                     "|x.fprobe: there is not enough memory to load it; flameprobe-render can")
                    profile = place / ("x.fprobe" if (place / "x.fprobe").exists() else "x.run")
                    self.assert_function(read_folded(render(profile, "-o", "-", "--format", "folded").stdout), "work_ms", at_least=15)


class Elsewhere(Case):
    """A program in namespaces of its own, with another /proc, pid or mount table."""

    def inside(self, name, before, argv, *unshare, **settings):
        """Runs the program in new namespaces, after the shell commands `before`."""
        directory = self.fresh_directory(name)
        self.need("unshare")
        own = ["unshare", "-r", *unshare, "sh", "-c"]
        if run([*own, before], directory).returncode != 0:
            self.skipTest(f"this user may not: {before}")
        variables = [f"FLAMEPROBE_{key}={value}" for key, value in settings.items()]
        return run([*own, before + ' && exec "$@"', "sh", "env", f"LD_PRELOAD={LIBRARY}", *variables, *argv], directory,
                   timeout=60)

    def test_kernel_permits_a_lower_frequency(self):
        limit = self.directory / "limit"
        limit.write_text("1000\n")
        ran = self.inside("ring", f"mount --bind '{limit}' /proc/sys/kernel/perf_event_max_sample_rate",
                          [host("ends"), "return", "200"], "-m", ENGINE="ring", FREQ=4000, FORMAT="json")
        self.assertEqual(ran.returncode, 6, ran.stderr)
        self.assertIn("FLAMEPROBE_FREQ was lowered from 4000 to 960", ran.stderr)
        told = summary(ran.result("host-ends"))["sampling"]
        self.assertEqual(told["frequency_asked_hz"], 4000)
        self.assertEqual(told["period_ns"], 1_000_000_000 // 960, told)

    def test_without_proc(self):
        hosts = {("ends", "return", "200"): (6, "ending by return\n"), ("ends", "int", "200"): (-2, "ending by int\n"),
                 ("threads", "short", "200"): (0, "200 short threads\n"), ("last_thread", "pthread_exit"): (0, ""),
                 ("family", "fork"): (0, "fork done\n")}
        for engine in ENGINES:
            for argv, expected in hosts.items():
                with self.subTest(engine=engine, host=argv):
                    ran = self.inside(f"{engine}-{'-'.join(argv)}", "mount -t tmpfs none /proc",
                                      [host(argv[0]), *argv[1:]], "-m", ENGINE=engine, FREQ=499)
                    self.assertEqual((ran.returncode, ran.stdout), expected, ran.stderr)
                    self.assertEqual(ran.stderr.count("/proc is not mounted"), 1, ran.stderr)  # not by each child
                    if argv[0] == "ends":
                        self.assertGreater(sum(count for _, count in ran.result("host-ends").stacks()), 30)

    def test_without_devices(self):
        """As in a root directory that holds a program's files only."""
        for engine in ENGINES:
            with self.subTest(engine=engine):
                ran = self.inside(engine, "mount -t tmpfs none /dev", [host("ends"), "return", "200"], "-m", ENGINE=engine, FREQ=499)
                self.assertEqual((ran.returncode, ran.stdout), (6, "ending by return\n"), ran.stderr)
                self.assertLessEqual({"svg", "folded", "fprobe"}, ran.result("host-ends").endings, ran.stderr)

    def test_pid_that_comes_again(self):
        """Every run is process 1 of a namespace of its own."""
        directory = None
        for _ in range(3):
            own = ["unshare", "-r", "-p", "-f", "sh", "-c", 'exec "$@"', "sh"]
            if run([*own, "true"], self.directory).returncode != 0:
                self.skipTest("this user may not make pid namespaces")
            directory = directory or self.fresh_directory("pids")
            ran = run([*own, "env", f"LD_PRELOAD={LIBRARY}", "FLAMEPROBE_FREQ=499", host("ends"), "return", "150"],
                      directory)
            self.assertEqual(ran.returncode, 6, ran.stderr)
            self.assertIn("another pid namespace", ran.stderr)  # whose /proc this one is
        for stem in ("flameprobe.host-ends.1", "flameprobe.host-ends.1.2", "flameprobe.host-ends.1.3"):
            self.assert_function(read_folded((directory / f"{stem}.folded").read_text()), "work_ms", at_least=20)


class Names(Case):
    def test_result_that_is_there_already(self):
        """A profile under the same name stays as it is: the shell knows its pid, and exec keeps it."""
        ran = run(["sh", "-c", 'for e in fprobe svg folded; do echo theirs > "flameprobe.host-ends.$$.$e"; done; '
                   f'exec env LD_PRELOAD={LIBRARY} "$@"', "sh", host("ends"), "return", "150"], self.directory,
                  clean_environment(FLAMEPROBE_FREQ="499"))
        self.assertEqual(ran.returncode, 6, ran.stderr)
        stem = self.directory / f"flameprobe.host-ends.{ran.pid}"
        for ending in ("fprobe", "svg", "folded"):
            self.assertEqual(Result(stem).path(ending).read_text(), "theirs\n")
        self.assert_function(read_folded((self.directory / f"{stem.name}.2.folded").read_text()), "work_ms", at_least=20)


class Cores(Case):
    def status_of(self, mode, directory, env):
        def may_dump():
            resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        process = subprocess.Popen([host("ends"), mode, "50"], cwd=directory, env=env, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                                   preexec_fn=may_dump)
        status = os.waitpid(process.pid, 0)[1]
        process.returncode = 0
        return status, sorted(path.name.split(".")[0] for path in directory.glob("core*"))

    def test_dumped_as_without(self):
        if resource.getrlimit(resource.RLIMIT_CORE)[1] != resource.RLIM_INFINITY and os.geteuid() != 0:
            self.skipTest("no core files are permitted")
        for mode in ("segv", "abort", "fpe", "ill", "kill"):
            with self.subTest(mode=mode):
                alone = self.status_of(mode, self.fresh_directory(mode + "-alone"), clean_environment())
                for engine in ENGINES:
                    directory = self.fresh_directory(f"{mode}-{engine}")
                    self.assertEqual(self.status_of(mode, directory, profiled(ENGINE=engine, FREQ=499, FORMAT="none")), alone)
                    shutil.rmtree(directory)
                self.assertEqual(os.WCOREDUMP(alone[0]), mode != "kill")


if __name__ == "__main__":
    unittest.main()
