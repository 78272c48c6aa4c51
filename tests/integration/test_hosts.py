"""A host behaves under FlameProbe as it does alone: output, exit status, and how it ends. Every program of tests/hosts, in
every engine, is compared with the same program alone; and its profile must hold certain functions."""

import json
import os
import re
import signal
import stat
import subprocess
import unittest
from pathlib import Path

from harness import (EMULATED, ENGINES, LIBRARY, MISSES_TICKS, ROOT, SIZE, Case, clean_environment, host, ordinary_user, profiled,
                     read_folded, render, run, sized, started, target, wait_until)

# (program and arguments, functions that must be in some result). {dir} is the test's directory.
HOSTS = [
    (("handlers",), ("work_after_none",)),
    (("blocked_signals",), ()),
    (("blocked_signals", "number"), ()),
    (("blocked_signals", "in_waits"), ()),
    (("blocked_signals", "handler"), ()),
    (("blocked_signals", "exec"), ()),
    (("family", "fork"), ("parent_work", "child_work")),
    (("family", "exec"), ("child_work",)),
    (("family", "vfork"), ("parent_work", "child_work")),
    (("family", "spawn"), ("child_work",)),
    (("family", "system"), ("child_work",)),
    (("family", "chain", sized("30", "100", "5")), ()),
    (("family", "lowest"), ()),
    (("family", "handler"), ()),
    (("family", "crowd", sized("2", "12", "1")), ("allocate", "child_work")),
    (("privileges", "setuid"), ("before_change", "after_change")),
    (("privileges", "chroot", "{dir}"), ("before_change", "after_change")),
    (("privileges", "chroot_in_child", "{dir}"), ("after_change",)),
    (("privileges", "undumpable"), ("before_change", "after_change")),
    (("privileges", "chdir", "/"), ("before_change", "after_change")),
    (("privileges", "umask"), ("before_change", "after_change")),
    (("privileges", "unshare"), ("before_change", "after_change")),
    (("privileges", "unshare_by_number"), ("before_change", "after_change")),
    (("privileges", "unshare_in_thread"), ("before_change", "after_change")),
    (("privileges", "setns"), ("before_change", "after_change")),
    (("privileges", "crowd"), ("before_change", "after_change")),
    (("privileges", "unmount", "{dir}"), ("before_change", "after_change")),
    (("privileges", "pid_namespace"), ("before_change", "after_change")),
    (("privileges", "vfork"), ("before_change", "launched_work", "after_change")),
    (("privileges", "no_new_privs"), ("before_change", "late_work", "launched_work", "after_change")),
    (("threads", "short", sized("2000", "10000", "200")), ()),
    (("threads", "living", sized("200", "2000", "50")), ("long_life",)),
    (("threads", "raw", sized("10", "20", "4")), ("raw_work",)),
    (("last_thread", "pthread_exit"), ("worker",)),
    (("last_thread", "exit_thread"), ("worker",)),
    (("last_thread", "c11"), ("c11_worker",)),
    (("last_thread", "uring"), ("uring_worker",)),
    (("last_thread", "alone"), ("worker",)),
    (("last_thread", "race"), ()),
    (("dlopen_loop", "{plugin}", sized("1000", "1000", "100")), ("plugin_work",)),
    (("stacks", "switch"), ("fiber",)),
    (("stacks", "alternate"), ("work_in_handler",)),
    (("alternate_stacks", "shared"), ("work_on_shared",)),
    (("alternate_stacks", "small"), ("work_on_small",)),
    (("alternate_stacks", "unmapped"), ("work_on_unmapped",)),
    (("alternate_stacks", "many"), ("work_on_many",)),
    (("alternate_stacks", "in_use"), ("at_work",)),
    (("alternate_stacks", "disarm"), ("disarm",)),
    (("alternate_stacks", "by_signal"), ("coroutine",)),
    (("alternate_stacks", "overflow"), ("overflow_often",)),
    (("alternate_stacks", "rules"), ("rules",)),
    (("alternate_stacks", "in_a_child"), ("in_a_child",)),
    (("alternate_stacks", "inherited"), ("inherit_none",)),
    (("storms", "throw"), ("throw_storm",)),
    (("storms", "longjmp"), ("longjmp_storm",)),
    (("storms", "aligned"), ("aligned_storm",)),
    (("destructors",), ("work_before_main", "work_in_thread_local", "work_in_key", "work_in_atexit", "work_in_static")),
    (("sandbox", "strict"), ("sandboxed_work",)),
    (("sandbox", "filter"), ("sandboxed_work",)),
    # The filter refuses the collector every file, so also the unwind tables: only the leaf is known.
    (("sandbox", "everyone"), ("crunch",)),
    (("sandbox", "kill"), ("sandboxed_work",)),  # for any other call, such as a futex's: at exit nothing may be asked for
    (("sandbox", "fault"), ("sandboxed_work",)),
    (("sandbox", "no_return"), ("open_work",)),
    (("sandbox", "kill_everyone"), ("open_work",)),  # sampling ends before a filter that would kill for what it does
    (("sandbox", "child"), ("sandboxed_work",)),
    (("sandbox", "deny_everyone"), ("open_work", "sandboxed_work")),
    (("sandbox", "no_counter"), ("sandboxed_work",)),
    (("own_malloc",), ("allocate_often",)),
    (("limits", "descriptors"), ("all_descriptors",)),
    (("limits", "memory"), ("all_memory",)),
    (("limits", "files"), ()),
    (("limits", "signals"), ("signals_of_a_crowd",)),
    (("limits", "real_time"), ("no_real_time",)),
    (("system_calls",), ("child_of_asker_work",)),
    (("registers",), ("watch_errno", "watch_rounding", "watch_sums")),
    (("registers", "traps"), ("trap_in_children",)),
    (("forking_server", "4"), ("answer",)),
    (("sanitized", "none"), ("sanitized_work",)),
    (("sanitized", "leak"), ("sanitized_work",)),
]

# Hosts that a signal handler may disturb: signals, threads, stacks, libc's locks, sandboxes. In the quick set the engines with
# handlers run only these, in the full set every host.
HANDLER_HOSTS = {
    ("handlers",), ("blocked_signals",), ("blocked_signals", "number"), ("blocked_signals", "in_waits"), ("blocked_signals", "handler"), ("blocked_signals", "exec"), ("limits", "signals"), ("limits", "real_time"), ("registers", "traps"), ("storms", "aligned"), ("family", "fork"), ("family", "exec"), ("family", "vfork"), ("family", "handler"), ("threads", "short"),
    ("threads", "raw"),
    ("privileges", "unshare_by_number"), ("privileges", "unshare_in_thread"),
    ("last_thread", "pthread_exit"), ("last_thread", "c11"), ("last_thread", "uring"), ("dlopen_loop", "{plugin}"), ("stacks", "switch"), ("stacks", "alternate"),
    ("alternate_stacks", "shared"), ("alternate_stacks", "small"), ("alternate_stacks", "unmapped"), ("alternate_stacks", "many"),
    ("alternate_stacks", "in_use"), ("alternate_stacks", "disarm"), ("alternate_stacks", "by_signal"), ("alternate_stacks", "overflow"),
    ("alternate_stacks", "rules"), ("alternate_stacks", "in_a_child"), ("alternate_stacks", "inherited"),
    ("storms", "longjmp"), ("sandbox", "filter"), ("sandbox", "no_return"), ("sandbox", "kill_everyone"), ("sandbox", "no_counter"), ("privileges", "vfork"),
    ("privileges", "no_new_privs"), ("limits", "memory"), ("registers",), ("sanitized", "none"), ("own_malloc",),
}
assert HANDLER_HOSTS <= {argv[:2] for argv, _ in HOSTS}
# To these programs the handler does the same whoever sends its signal: in the quick set it is the timer only.
SAME_FROM_ANY_SOURCE = {"alternate_stacks", "dlopen_loop", "registers", "sanitized", "stacks", "storms"}
assert SAME_FROM_ANY_SOURCE <= {argv[0] for argv in HANDLER_HOSTS}
# Programs about signals and their stacks. Rings send none: what is left is that the library takes nothing from such a host, which
# one of each shows. As an ordinary user they are in test_signals_in_every_engine.
OF_SIGNALS = {"alternate_stacks", "blocked_signals"}
OF_SIGNALS_WITHOUT = {("alternate_stacks", "rules"), ("blocked_signals",)}
# Of these, what an emulated CPU runs; and one of each other program in the ring engine.
EMULATED_HOSTS = {("handlers",), ("blocked_signals",), ("family", "fork"), ("threads", "raw"), ("stacks", "switch"),
                  ("stacks", "alternate"), ("storms", "longjmp"), ("sandbox", "filter")}
EMULATED_OTHERS = {("family", "spawn"), ("privileges", "setuid"), ("last_thread", "alone"), ("storms", "throw"), ("destructors",),
                   ("sandbox", "child"), ("limits", "descriptors"), ("system_calls",), ("forking_server", "4")}
assert EMULATED_HOSTS | EMULATED_OTHERS | OF_SIGNALS_WITHOUT <= {argv[:2] for argv, _ in HOSTS}


def takes_part(argv, engine):
    """Whether a host is run in an engine: where its code is what the host may meet. auto: of an ordinary user."""
    key = argv[:2]
    if EMULATED:
        return key in (HANDLER_HOSTS | EMULATED_OTHERS if engine == "ring" else EMULATED_HOSTS)
    if SIZE == "all":
        return True
    if engine == "ring":
        return argv[0] not in OF_SIGNALS or key in OF_SIGNALS_WITHOUT
    if engine == "timer":
        return key in HANDLER_HOSTS
    return key in HANDLER_HOSTS and argv[0] not in SAME_FROM_ANY_SOURCE and argv[0] not in OF_SIGNALS


# How a host ends, and its results: with a folded file, or only the .fprobe.
ENDS = {
    "return": 6, "exit": 7, "_exit": 8, "_Exit": 9, "quick_exit": 10, "exit_group": 11, "exit_thread": 12,
    "abort": -signal.SIGABRT, "throw": -signal.SIGABRT, "terminate": -signal.SIGABRT, "segv": -signal.SIGSEGV,
    "overflow": -signal.SIGSEGV, "bus": -signal.SIGBUS, "fpe": -signal.SIGFPE, "ill": -signal.SIGILL, "trap": -signal.SIGTRAP, "int": -signal.SIGINT, "term": -signal.SIGTERM,
    "once": -signal.SIGTERM, "once_on_stack": -signal.SIGTERM, "once_segv": -signal.SIGSEGV, "hup": -signal.SIGHUP, "usr1": -signal.SIGUSR1, "kill": -signal.SIGKILL,
    "two_exits": 13, "exit_beside": 13, "prof": -signal.SIGPROF, "prof_timer": -signal.SIGPROF, "real_time": -(signal.SIGRTMIN + 5),
}
ONLY_SPOOL = {"kill"}  # where the collector is a thread
HANDLER_ENDS = {"return", "_exit", "abort", "segv", "overflow", "trap", "term", "kill", "once", "once_on_stack", "once_segv", "exit_group", "exit_thread", "two_exits", "exit_beside", "prof", "prof_timer", "real_time"}
assert HANDLER_ENDS <= ENDS.keys()


class HostCase(Case):
    alone = {}  # what each host does without FlameProbe
    user = []  # the command that changes the user, and its successor that preloads

    def fill_in(self, argv, directory):
        return [str(a).format(dir=directory, plugin=host("plugin").with_name("libhost-plugin.so")) for a in argv]

    def run_alone(self, argv, where, timeout):
        key = (*self.user, *map(str, argv))
        if key not in self.alone:
            directory = self.fresh_directory(where + "-alone")
            os.chmod(directory, 0o777)
            ran = run([*self.user, *self.fill_in(argv, directory)], directory, clean_environment(), timeout)
            self.assertFalse(ran.timed_out, "the host itself takes too long")
            self.alone[key] = ran.returncode, ran.stdout
        return self.alone[key]

    def beside(self, argv, where, settings, timeout=60):
        """Runs a host alone and profiled; both must have the same output and end. Returns the profiled run."""
        alone = self.run_alone(argv, where, timeout)
        if alone[0] == 77:
            self.skipTest(f"{argv[1:]} needs rights that this user has not")
        directory = self.fresh_directory(where)
        os.chmod(directory, 0o777)  # for hosts that drop their rights
        env = profiled(**settings)
        before = [*self.user, "env", f"LD_PRELOAD={env.pop('LD_PRELOAD')}"] if self.user else []
        mine = run([*before, *self.fill_in(argv, directory)], directory, env, timeout)
        self.assertFalse(mine.timed_out, f"hangs under FlameProbe; stdout {mine.stdout!r}, stderr {mine.stderr!r}")
        self.assertEqual((mine.returncode, mine.stdout), alone, mine.stderr)
        return mine

    def check_whole(self, ran):
        """Every .fprobe can be read, by the drawing program or by us, and every folded file is well-formed and has samples. One
        may be empty beside others: of a child that a signal ended just when its collector, a thread there, had made the file."""
        results = ran.results().values()
        written = [result for result in results if result.path("fprobe").stat().st_size > 0]
        self.assertGreaterEqual(len(written), min(len(results), max(len(results) - 1, 1)))
        for result in written:
            if "folded" in result.endings:
                self.assertGreater(sum(count for _, count in read_folded(result.path("folded").read_text())), 0)
                continue
            info = render(result.path("fprobe"), "--info")
            self.assertEqual(info.returncode, 0, info.stderr)
        # After a signal that ends the host the collector may still be writing.
        wait_until(lambda: not list(ran.directory.glob("*.tmp*")), what="the end of temporary files")

    def live(self, argv, functions, where, settings):
        """Names take more CPU time than most hosts: they are looked up where they are looked at."""
        ran = self.beside([str(host(argv[0])), *argv[1:]], where.replace("/", ""), settings | {"FREQ": 997, "FORMAT": "folded" if functions else "none"})
        self.check_whole(ran)
        stacks = [stack for result in ran.results().values() for stack in result.stacks()] if functions else []
        for function in functions:
            self.assert_function(stacks, function)


class Lives(HostCase):
    def check(self, engine):
        self.need_engine(engine)
        for argv, functions in HOSTS:
            if not takes_part(argv, engine):
                continue
            with self.subTest(engine=engine, host=" ".join(argv)):
                self.live(argv, functions, f"{'-'.join(argv[:2])}-{engine}", {"ENGINE": engine})

    def test_ring(self):
        self.check("ring")

    def test_timer(self):
        self.check("timer")

    def test_what_a_handler_interrupted_stands_behind_it(self):
        for engine in ENGINES:
            with self.subTest(engine=engine):
                ran = self.beside([str(host("stacks")), "alternate"], engine, {"ENGINE": engine, "FREQ": 997})
                behind = [(frames[1:frames.index("work_in_handler")], count) for frames, count in ran.result().stacks()
                          if "work_in_handler" in frames]  # of the caller's stack no more may be known than its end
                known = sum(count for frames, count in behind if len([f for f in frames if f != "[truncated]"]) > 1)
                self.assertGreater(known, 0.9 * sum(count for _, count in behind))

    def test_the_main_thread_on_a_stack_that_is_nearly_full(self):
        """It did not get an alternate stack: a signal's frame was written past the end."""
        for engine in ENGINES:
            with self.subTest(engine=engine):
                ran = self.beside([str(host("stacks")), "full"], engine, {"ENGINE": engine, "FREQ": 997})
                self.assert_function(ran.result().stacks(), "work_on_little")

    def test_own_sigprof(self):
        for engine in sized(ENGINES, ("auto", *ENGINES)):  # as root auto is the rings
            for whose in ([], ["libc"]):
                with self.subTest(engine=engine, whose=whose):
                    self.beside([host("sigprof").as_posix(), *whose], f"sigprof-{engine}-{len(whose)}",
                                {"ENGINE": engine, "FREQ": 997, "FORMAT": "none"})

    def check_sanitized(self, program, functions):
        """Alone it says nothing on stderr; so whatever is there is FlameProbe's, or of the sanitizer about FlameProbe."""
        for mode in ("none", "fork"):
            if self.run_alone([program, mode], f"{program.name}-{mode}", 60)[0] != 0:
                self.skipTest(f"the sanitizer of {program.name} does not work here, or was not linked in")
            for engine in ENGINES:
                with self.subTest(mode=mode, engine=engine):
                    ran = self.beside([program, mode], f"{program.name}-{mode}-{engine}", {"ENGINE": engine, "FREQ": 997})
                    self.assertEqual([line for line in ran.stderr.splitlines() if not line.startswith("flameprobe: ")], [])
                    for function in functions if mode == "fork" and "thread" not in program.name else functions[:1]:
                        self.assert_function(ran.result().stacks(), function)

    def test_sanitizers(self):
        for name in ("sanitized", "sanitized_threads"):
            with self.subTest(host=name):
                self.check_sanitized(host(name), ("sanitized_work", "childs_work"))

    def test_sanitizers_of_clang(self):
        self.need("clang-14")
        for kind in sized(("memory", "thread"), ("memory", "thread", "address", "undefined")):
            with self.subTest(kind=kind):
                program = self.directory / kind
                built = run(["clang-14", "-O1", "-g", f"-fsanitize={kind}", "-DSANITIZED", ROOT / "tests" / "hosts" / "sanitized.c", "-o", program, "-lpthread"],
                            self.directory)
                self.assertEqual(built.returncode, 0, built.stderr)
                self.check_sanitized(program, ("sanitized_work", "childs_work"))


    def test_musl(self):
        """Its dynamic linker ends a program for which a preloaded library misses a symbol."""
        self.need("musl-gcc")
        (self.directory / "musl.c").write_text('#include <stdio.h>\nint main(void) { puts("here"); return 3; }\n')
        built = run(["musl-gcc", "-o", self.directory / "musl", self.directory / "musl.c"], self.directory)
        self.assertEqual(built.returncode, 0, built.stderr)
        self.beside([self.directory / "musl"], "ran", {"FREQ": 997, "FORMAT": "none"})
        # Of a run's child not a word.
        shell = run(["/bin/sh", "-c", f"{self.directory / 'musl'}; exit $?"], self.directory, profiled(FORMAT="none"))
        self.assertEqual((shell.returncode, shell.stdout, shell.stderr), (3, "here\n", ""))


class OrdinaryUser(HostCase):
    """Without a setting, where perf may not sample the kernel: its rings have the user time, CPU timers the kernel's."""

    def setUp(self):
        super().setUp()
        self.user = ordinary_user(self)
        os.chmod(self.directory, 0o755)

    def test_lives(self):
        for argv, functions in HOSTS:
            if not takes_part(argv, "auto"):
                continue
            with self.subTest(host=" ".join(argv)):
                self.live(argv, functions, "-".join(argv[:2]), {})

    def test_an_image_that_the_kernel_hides(self):
        """The collector that is a task took it for another one, and ended."""
        ran = self.beside([str(host("privileges")), "undumpable"], "undumpable", {"ENGINE": "ring", "FREQ": 997})
        if "the ring engine cannot run" in ran.stderr:
            self.skipTest("perf is refused here, or Linux is older than 5.13")
        self.assert_function([stack for result in ran.results().values() for stack in result.stacks()], "after_change", at_least=10)

    def test_own_sigprof(self):
        self.beside([host("sigprof").as_posix()], "sigprof", {"FREQ": 997, "FORMAT": "none"})

    def test_ends(self):
        for mode, expected in ENDS.items():
            if SIZE == "quick" and (mode not in HANDLER_ENDS or mode.startswith("once")):  # see test_signals_in_every_engine
                continue
            with self.subTest(mode=mode):
                ran = self.beside([str(host("ends")), mode], mode, {"FREQ": 997})
                self.assertEqual(ran.returncode, expected)
                if MISSES_TICKS and not list(ran.directory.glob("*.fprobe")):
                    continue
                endings = {"fprobe"} if mode in ONLY_SPOOL else {"fprobe", "folded", "svg"}
                wait_until(lambda: endings <= ran.result().endings, 20, f"{endings} after {mode}")
                self.check_whole(ran)

    def test_signals_in_every_engine(self):
        """What a host does with signals and their stacks, and how it ends by them."""
        hosts = [argv for argv, _ in HOSTS if argv[0] in OF_SIGNALS or argv == ("limits", "signals")]
        hosts += [("ends", mode) for mode in ENDS if mode.startswith("once")]
        for number, engine in enumerate(engines := sized(("auto", *ENGINES[1:]), ("auto", *ENGINES))):
            # Each host in one engine: as root they are in Lives. Auto has the rings too.
            for argv in hosts[number::len(engines)] if SIZE == "quick" else hosts:
                with self.subTest(engine=engine, host=" ".join(argv)):
                    ran = self.beside([str(host(argv[0])), *argv[1:]], f"{'-'.join(argv)}-{engine}", {"ENGINE": engine, "FREQ": 997})
                    if "exec" in argv:
                        continue  # the next image, which draws no picture of this one, is not profiled
                    if "engine cannot run: perf_event_open is refused" in ran.stderr:
                        continue  # by Debian's kernels, where kernel.perf_event_paranoid is 3
                    wait_until(lambda: any("svg" in each.endings for each in ran.results().values()), 20, "the picture")

    def test_nothing_is_interrupted(self):
        ran = self.beside([str(host("eintr")), "4000"], "eintr", {"FREQ": 4000, "FORMAT": "none"}, timeout=120)
        self.assertEqual((ran.returncode, ran.stdout), (0, "0 interrupted\n"), ran.stderr)


class Processes(HostCase):
    """With CHILDREN=separate: one result per process, none overwritten."""

    def test_every_process_leaves_its_own(self):
        for mode, processes in (("fork", 5), ("exec", 3), ("vfork", 3), ("spawn", 3)):
            with self.subTest(mode=mode):
                ran = self.beside([str(host("family")), mode], mode, {"FREQ": 499, "CHILDREN": "separate"})
                results = [r for r in ran.results().values() if r.executable == "host-family"]
                self.assertGreaterEqual(len(results), processes)
                for result in results:
                    self.assertLessEqual({"fprobe", "folded", "svg"}, result.endings)

    def test_a_child_whose_collector_gets_no_cpu_time(self):
        """It does not live too briefly, so its CPU time is in a result of its own."""
        for engine in ENGINES:
            with self.subTest(engine=engine):
                ran = self.beside([str(host("starved"))], engine, {"ENGINE": engine, "FORMAT": "folded,json", "CHILDREN": "separate"})
                children = [result for (pid, _), result in ran.results().items() if pid != ran.pid]
                self.assertEqual(len(children), 1)
                told = json.loads(children[0].path("json").read_text())
                self.assertGreater(told["cpu_time"]["process_ns"], 55e6)
                sampled = sum(count for _, count in children[0].stacks()) * told["sampling"]["period_ns"]
                self.assertGreater(sampled, 40e6)
                if not MISSES_TICKS:
                    self.assertFalse([frames for frames, _ in children[0].stacks() if frames[-1] == "[kernel, not permitted]"])

    def test_a_host_that_takes_orphans_meets_its_own_only(self):
        """The collectors of its children came to it, and its wait for any child gave their ends."""
        program = f"""import ctypes, os, subprocess, sys, time
assert ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0  # PR_SET_CHILD_SUBREAPER
def work():
    end = time.process_time() + 0.06
    while time.process_time() < end: sum(range(1000))
def wait():
    try: print(os.waitpid(-1, 0) > (0, 0))
    except ChildProcessError: print("none")
for _ in range(3): subprocess.run([{str(host("ends"))!r}, "return", "60"], check=False)
wait()
for _ in range(3):
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    os.waitpid(child, 0)
wait()
child = os.fork()
if child == 0:
    if os.fork() == 0: work()
    os._exit(0)
os.waitpid(child, 0)
wait()
wait()
work()"""
        for engine in ENGINES:
            with self.subTest(engine=engine):
                ran = self.beside(["/usr/bin/python3", "-u", "-c", program], engine, {"ENGINE": engine, "FREQ": 997, "FORMAT": "none"})
                self.assertTrue(ran.stdout.endswith("none\nnone\nTrue\nnone\n"), ran.stdout)

    def test_children_off(self):
        ran = self.beside([str(host("family")), "fork"], "off", {"FREQ": 499, "CHILDREN": "off"})
        self.assert_function(ran.result().stacks(), "parent_work")

    def test_orphan(self):
        ran = run([host("family"), "orphan"], self.directory, profiled(FREQ=499))
        self.assertEqual((ran.returncode, ran.stdout), (0, "orphan done\n"), ran.stderr)
        wait_until(lambda: not list(self.directory.glob("*.run")), 60, "the end of the run's folder")
        self.assert_function(ran.result().stacks(), "child_work")

    def test_a_child_of_a_function_at_quick_exit(self):
        """It began when the results were written already, and its own stayed in the run's folder."""
        for engine in ENGINES:
            with self.subTest(engine=engine):
                ran = self.beside([str(host("family")), "quick_exit"], engine, {"FREQ": 997, "ENGINE": engine})
                self.assertEqual(list(ran.directory.glob("*.run")), [])
                stacks = ran.result().stacks()
                for function in ("parent_work", "child_work", "work_at_quick_exit"):
                    self.assert_function(stacks, function)

    def test_daemon(self):
        for engine in ENGINES:
            with self.subTest(engine=engine):
                directory = self.fresh_directory(engine)
                ran = run([host("daemon"), directory / "verdict"], directory, profiled(FREQ=997, ENGINE=engine))
                self.assertEqual((ran.returncode, ran.stdout), (0, "daemon started\n"), ran.stderr)

                def with_work():
                    for result in ran.results().values():
                        if "svg" in result.endings and any("daemon_work" in ";".join(f) for f, _ in result.stacks()):
                            return True
                    return False

                if not MISSES_TICKS:
                    wait_until(with_work, 30, f"a picture of the daemon in {directory}")
                verdict = directory / "verdict"
                self.assertEqual(wait_until(lambda: verdict.exists() and verdict.read_text(), 30, "its verdict"), "right\n")

    def test_the_profilers_own_end_is_not_in_the_picture(self):
        for engine in ENGINES:
            with self.subTest(engine=engine):
                for number in range(sized(3, 10)):
                    ran = run([host("ends"), "exit"], self.fresh_directory(f"{engine}-{number}"),
                              profiled(ENGINE=engine, FREQ=20000, FORMAT="folded"))
                    ours = [frames for frames, _ in ran.result().stacks() if any("flameprobe::close_connections" in frame for frame in frames)]
                    self.assertEqual(ours, [], ran.stderr)

    def test_exec_chain_at_4000(self):
        for engine in ENGINES:
            with self.subTest(engine=engine):
                self.beside([str(host("family")), "chain", sized("100", "1000", "10")], f"chain-{engine}",
                            {"FREQ": 4000, "ENGINE": engine, "FORMAT": "none"}, timeout=240)

    def test_results_go_where_the_run_began(self):
        ran = self.beside([str(host("privileges")), "chdir", "/"], "chdir", {"FREQ": 499})
        self.assertLessEqual({"fprobe", "folded", "svg"}, ran.result().endings)

    def test_umask_is_the_hosts(self):
        ran = self.beside([str(host("privileges")), "umask"], "umask", {"FREQ": 499})
        self.assertTrue(stat.S_ISREG(ran.result().path("fprobe").stat().st_mode))


    def test_a_host_that_wants_no_new_rights(self):
        """It counted as one in a filter: what it forked was not sampled, and SIGTERM left its profile undrawn."""
        for engine in ENGINES:
            with self.subTest(engine=engine):
                ran = self.beside([str(host("privileges")), "no_new_privs"], engine, {"FREQ": 997, "ENGINE": engine})
                wait_until(lambda: not list(ran.directory.glob("*.run")), 20, "the end of the run's folder")
                self.assertIn("svg", ran.result().endings)
                self.assert_function(ran.result().stacks(), "launched_work")


class Ends(HostCase):
    def check(self, engine):
        self.need_engine(engine)
        for mode, expected in ENDS.items():
            if SIZE == "quick" and engine != "ring" and mode not in HANDLER_ENDS:
                continue
            with self.subTest(mode=mode, engine=engine):
                ran = self.beside([str(host("ends")), mode], f"{mode}-{engine}", {"FREQ": 997, "ENGINE": engine})
                self.assertEqual(ran.returncode, expected)
                if MISSES_TICKS and not list(ran.directory.glob("*.fprobe")):
                    continue
                endings = {"fprobe"} if mode in ONLY_SPOOL and engine != "ring" else {"fprobe", "folded", "svg"}
                wait_until(lambda: endings <= ran.result().endings, 20, f"{endings} after {mode}")
                stacks = ran.result().stacks()
                self.assert_function(stacks, "work_ms", at_least=25 if engine == "ring" else 6)
                self.check_whole(ran)
                no_stack = mode == "overflow" and engine == "ring"  # for the handler that tells where it ended
                if expected in (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS, -signal.SIGFPE, -signal.SIGILL) and not no_stack:
                    self.assertIn("last_function", render(ran.result().path("fprobe"), "--info").stdout)

    def test_ring(self):
        self.check("ring")

    def test_timer(self):
        self.check("timer")

    def test_an_interval_timer_does_not_end_it_while_the_results_are_written(self):
        for n in range(10):  # on a busy machine its thread may not run in that time
            ran = run([host("ends"), "timer"], self.fresh_directory(f"timer-{n}"), profiled(FREQ=997))
            self.assertEqual(ran.returncode, 7)
            if ran.stdout == "ending by timer\nthe timer is off\n":
                return
        self.fail("the timer was never off")


class Node(Case):
    """Its handler of the signals that end it has SA_RESETHAND, and raises them again."""

    WORK = """const end = Date.now() + 150; let sum = 0;
        (function work() { for (let i = 0; i < 1e6; i++) sum += i;
                           Date.now() < end ? setImmediate(work) : process.kill(process.pid, process.argv[1]); })();
        setTimeout(() => {}, 60000);"""

    def check(self, engines, user):
        self.need("node")
        for engine in engines:
            for number in (signal.SIGTERM, signal.SIGINT):
                with self.subTest(engine=engine, signal=number.name):
                    directory = self.fresh_directory(f"{engine}-{number.name}")
                    os.chmod(directory, 0o777)
                    env = profiled(ENGINE=engine, FREQ=499)
                    ran = run([*user, "env", f"LD_PRELOAD={env.pop('LD_PRELOAD')}", "node", "-e", self.WORK, number.name], directory, env)
                    self.assertEqual(ran.returncode, -number, ran.stderr)
                    wait_until(lambda: "svg" in ran.result("node").endings, 20, "the picture")

    def test_every_engine(self):
        self.check(ENGINES, [])

    def test_ordinary_user(self):
        user = ordinary_user(self)
        os.chmod(self.directory, 0o755)
        self.check(sized(("auto", ENGINES[-1]), ("auto", *ENGINES)), user)


class Init(HostCase):
    """The first process of a pid namespace, as in containers, is not ended by signals that end others."""

    def first(self, engine, program, *words):
        unshare = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
        if run([*self.user, *unshare, "true"], self.directory).returncode != 0:
            self.skipTest("this user may not make namespaces")
        directory = self.fresh_directory(engine)
        os.chmod(directory, 0o777)
        env = profiled(ENGINE=engine, FREQ=997)
        return run([*self.user, *unshare, "env", f"LD_PRELOAD={env.pop('LD_PRELOAD')}", program, *words], directory, env)

    def check(self, engines):
        for engine in engines:
            with self.subTest(engine=engine):
                ran = self.first(engine, host("ends"), "ignored")
                self.assertEqual((ran.returncode, ran.stdout), (6, "ending by ignored\n"), ran.stderr)
                stacks = ran.result("host-ends").stacks()
                self.assert_function(stacks, "work_after_signals", at_least=40)

    def test_children_leave_no_zombies(self):
        """As a container's program may be, it is no init: it waits for its own children only."""
        program = "import os, subprocess\nfor _ in range(4):\n    subprocess.run(['/usr/bin/python3', '-c', 'sum(range(3000000))'], check=True)\n" \
                  "try:\n    print(os.waitpid(-1, os.WNOHANG))\nexcept ChildProcessError:\n    print('none')"
        for engine in ENGINES:
            with self.subTest(engine=engine):
                ran = self.first(engine, "/usr/bin/python3", "-c", program)
                self.assertEqual((ran.returncode, ran.stdout), (0, "none\n"), ran.stderr)
                self.assertGreater(len(render(ran.result("python3").path("fprobe"), "--tree", "--top", "1").stdout.splitlines()), 4)

    def test_dumps_leave_no_zombies(self):
        """What draws them is an orphan, which a container's first process takes."""
        program = "import ctypes, os, time\nlibrary = ctypes.CDLL(None)\nfor number in range(3):\n    end = time.process_time() + 0.1\n" \
                  "    while time.process_time() < end: sum(range(1000))\n    print(library.flameprobe_dump(b'd%d' % number, None))\n" \
                  "try:\n    print(os.waitpid(-1, os.WNOHANG))\nexcept ChildProcessError:\n    print('none')"
        for engine in ENGINES:
            with self.subTest(engine=engine):
                ran = self.first(engine, "/usr/bin/python3", "-c", program)
                self.assertEqual((ran.returncode, ran.stdout), (0, "0\n0\n0\nnone\n"), ran.stderr)

    def test_of_a_namespace_in_it(self):
        """The two have one number. The inner one waited for a collector that it does not have, and was not sampled."""
        for engine in ENGINES:
            with self.subTest(engine=engine):
                ran = self.first(engine, host("privileges"), "pid_namespace")
                self.assertEqual((ran.returncode, ran.stdout), (0, "pid_namespace done\n"), ran.stderr)
                self.assert_function(ran.result("host-privileges").stacks(), "after_change", at_least=10)

    def test_every_engine(self):
        self.check(ENGINES)

    def test_ordinary_user(self):
        self.user = ordinary_user(self)
        os.chmod(self.directory, 0o755)
        self.check(sized(("auto",), ("auto", *ENGINES)))


class OtherUser(Case):
    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_capabilities_kept_over_a_change_of_user(self):
        """setpriv keeps capabilities for itself alone, and libc ends a process whose threads differ in what they may."""
        for engine in ENGINES:
            with self.subTest(engine=engine):
                done = run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "echo", "here"],
                           self.fresh_directory(engine), profiled(FREQ=997, ENGINE=engine, FORMAT="none"))
                self.assertEqual((done.returncode, done.stdout), (0, "here\n"), done.stderr)


    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_the_results_are_not_given_to_the_user_of_a_vfork_child(self):
        for engine in ENGINES:
            with self.subTest(engine=engine):
                ran = run([host("privileges"), "vfork"], self.fresh_directory(engine), profiled(FREQ=997, ENGINE=engine, FORMAT="none"))
                self.assertEqual((ran.returncode, ran.stdout), (0, "vfork done\n"), ran.stderr)
                self.assertEqual({path.stat().st_uid for path in ran.directory.iterdir()}, {0})

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_threads_born_after_rights_were_given_up(self):
        """The collector may not open perf events for them any more."""
        for engine in ENGINES:
            with self.subTest(engine=engine):
                self.directory.chmod(0o755)
                place = self.fresh_directory(engine)
                place.chmod(0o1777)
                done = run([target("late_threads"), "65534", "300"], place, profiled(ENGINE=engine, FREQ=499, OUT=place / "x"))
                self.assertEqual(done.returncode, 0, done.stderr)
                stacks = read_folded((place / "x.folded").read_text())
                every = sum(weight for _, weight in stacks)
                at_work = sum(weight for frames, weight in stacks if "work" in frames and frames[-1] != "[not sampled]")
                self.assertGreater(at_work, 0.6 * every, stacks)  # on a busy machine ticks are missed


class UserNamespace(Case):
    def test_root_is_not_mapped(self):
        """Files of root seem to be another user's there, the drawing program among them."""
        self.need("unshare")
        user = ordinary_user(self)
        self.directory.chmod(0o777)
        if subprocess.run([*user, "unshare", "-Ur", "true"], check=False, capture_output=True).returncode != 0:
            self.skipTest("no user namespaces here")
        ran = run([*user, "unshare", "-Ur", host("ends"), "return", "300"], self.directory, profiled(FREQ=499))
        self.assertEqual(ran.returncode, 6, ran.stderr)
        self.assertLessEqual({"svg", "folded", "fprobe"}, ran.result("host-ends").endings, ran.stderr)


class RealTime(Case):
    def test_the_collector_does_not_have_the_hosts_priority(self):
        def become_real_time():
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))

        try:
            run(["true"], self.directory, clean_environment(), preexec_fn=become_real_time)
        except subprocess.SubprocessError:
            self.skipTest("real-time priority is not permitted (RLIMIT_RTPRIO)")
        # With timers it is a thread of the host.
        with started([host("single"), "work", "20"], self.directory, profiled(ENGINE="timer"), preexec_fn=become_real_time) as process:
            def policies():
                named = {(task / "comm").read_text().strip(): os.sched_getscheduler(int(task.name))
                         for task in Path(f"/proc/{process.pid}/task").iterdir()}
                return named == {"host-single": os.SCHED_FIFO, "flameprobe": os.SCHED_OTHER}
            wait_until(policies, what="the collector's own policy")


class AtExit(Case):
    def test_nothing_of_the_core_is_destroyed(self):
        """The host would do that while the collector is at work: what that needs would be gone, and where both are in malloc
        the host makes a futex call, for which its seccomp filter may kill it. libstdc++ registers one of its own."""
        self.need("objdump")
        code = run(["objdump", "-d", "--no-show-raw-insn", LIBRARY.with_name("libflameprobe-core.so")], self.directory).stdout
        self.assertLessEqual(len(re.findall(r"(?:call|bl) +\w+ <__cxa_atexit@plt>", code)), 1)


class OwnTimers(HostCase):
    """Each signal ended a turn of the wait for the results, whose turns were counted: a host with such a timer had no picture."""

    def check(self, engines):
        fatal = [number for number in signal.valid_signals() if number not in
                 (signal.SIGKILL, signal.SIGSTOP, signal.SIGPROF, signal.SIGVTALRM, signal.SIGALRM)]
        cases = [("real", signal.SIGALRM, 10000), ("prof", signal.SIGPROF, 250), ("virtual", signal.SIGVTALRM, 250)]
        rates = (100, 1000, 5000, 20000)
        kinds = ("monotonic", "realtime", "cpu")
        for turn, number in enumerate(sized((signal.SIGUSR2, signal.SIGCHLD, signal.SIGALRM, signal.SIGRTMAX), fatal)):
            cases.append((kinds[turn % len(kinds)], number, rates[-1 - turn % len(rates)]))
        for turn, (kind, number, rate) in enumerate(cases):
            for engine in [engines[(turn + 1) % len(engines)]] if SIZE == "quick" else engines:
                with self.subTest(kind=kind, signal=int(number), rate=rate, engine=engine):
                    ran = self.beside([host("own_timer"), kind, str(int(number)), str(rate)], f"{kind}-{int(number)}-{engine}", {"FREQ": 199, "ENGINE": engine})
                    self.assertLessEqual({"fprobe", "folded", "svg"}, ran.result().endings, ran.stderr)

    def test_root(self):
        self.check(ENGINES)

    def test_ordinary_user(self):
        self.user = ordinary_user(self)
        os.chmod(self.directory, 0o755)
        self.check(("auto", "timer"))


class Census(Case):
    def test_nothing_is_interrupted(self):
        for engine in ENGINES:
            with self.subTest(engine=engine):
                ran = run([host("eintr"), "4000"], self.fresh_directory(engine), profiled(FREQ=4000, ENGINE=engine, FORMAT="none"))
                self.assertEqual((ran.returncode, ran.stdout), (0, "0 interrupted\n"), ran.stderr)

    def test_nothing_is_interrupted_where_waits_are_sampled(self):
        ran = run([host("eintr"), "4000"], self.directory, profiled(EVENT="offcpu", OFFCPU_FREQ=999, FORMAT="none"))
        self.assertEqual((ran.returncode, ran.stdout), (0, "0 interrupted\n"), ran.stderr)


class Refused(HostCase):
    """Where perf_event_open is refused, as in containers, another engine samples; the host notices nothing."""

    def test_without_perf(self):
        for error in ("EPERM", "ENOSYS", "EACCES"):
            with self.subTest(error=error):
                directory = self.fresh_directory(error)
                ran = run([target("inject"), "perf_event_open", "1+", error, "--report", directory / "report", "--",
                           host("ends"), "return", "500"], directory, profiled(FREQ=199))
                self.assertEqual((ran.returncode, ran.stdout), (6, "ending by return\n"), ran.stderr)
                self.assertNotEqual((directory / "report").read_text(), "0 0\n", "perf was never asked for")
                self.assert_function(ran.result().stacks(), "work_ms", at_least=20)


if __name__ == "__main__":
    unittest.main()
