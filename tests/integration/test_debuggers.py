"""Debuggers and tracers: they stop the host, and plant breakpoints in memory that the collector runs in too."""

import os
import subprocess
import unittest

from harness import ENGINES, LIBRARY, Case, clean_environment, ordinary_user, run, sized, wait_until

PROGRAM = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int work(double seconds) {
    volatile int x = 0;
    for (clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC); clock() < end;) for (int i = 0; i < 100000; ++i) x = x * 3 + i;
    return x;
}
__attribute__((noinline)) void planted(void) { __asm__ volatile("" ::: "memory"); }
int main(int argc, char** argv) {
    work(0.3);
    planted();
    pthread_mutex_lock(&mutex);
    free(malloc(argc));
    pthread_mutex_unlock(&mutex);
    work(argc > 1 ? atof(argv[1]) : 0.3);
    puts("fine");
    fflush(stdout);
    return 7;
}
"""
GDB = ["gdb", "-batch", "-nx", "-iex", "set debuginfod enabled off", "-iex", "set auto-load off", "-ex", "set confirm off",
       "-ex", "set width 0", "-ex", "set breakpoint pending on"]
FUNCTIONS = ("malloc", "write", "pthread_mutex_lock", "mmap", "openat")


def gdb_commands(*commands):
    return [word for command in commands for word in ("-ex", command)]


class Debuggers(Case):
    def setUp(self):
        super().setUp()
        self.need("gdb", "cc")
        self.directory.chmod(0o777)
        (self.directory / "prog.c").write_text(PROGRAM)
        subprocess.run(["cc", "-O1", "-g", "-o", "prog", "prog.c", "-lpthread"], cwd=self.directory, check=True)
        self.program = self.directory / "prog"

    def settings(self, engine):
        return {"FLAMEPROBE_ENGINE": engine, "FLAMEPROBE_FREQ": "499", "FLAMEPROBE_OUT": str(self.directory / "out"),
                "FLAMEPROBE_LOG": "quiet"}

    def check(self, status_text, ran):
        self.assertFalse(ran.timed_out, ran.stdout + ran.stderr)
        self.assertIn(status_text, ran.stdout, ran.stderr)
        self.assertIn("fine", ran.stdout, ran.stderr)
        # The collector may go on after its host.
        wait_until(lambda: (self.directory / "out.svg").exists(), 60, "out.svg")
        self.assertIn(";work ", (self.directory / "out.folded").read_text())
        for path in self.directory.glob("out.*"):
            path.unlink()

    def run_in_gdb(self, engine, *commands, user=()):
        variables = {**self.settings(engine), "LD_PRELOAD": str(LIBRARY)}
        by_gdb = [f"set environment {name}={value}" for name, value in variables.items()]
        return run([*user, *GDB, *gdb_commands("set startup-with-shell off", *by_gdb, *commands), "--args", self.program], self.directory, clean_environment(), timeout=90)

    def test_run(self):
        for engine in ENGINES:
            with self.subTest(engine=engine):
                self.check("exited with code 07", self.run_in_gdb(engine, "run"))

    def test_run_through_env(self):
        """The library comes with the second program; gdb sees one exec."""
        for engine in ENGINES:
            with self.subTest(engine=engine):
                variables = [f"{name}={value}" for name, value in self.settings(engine).items()]
                ran = run([*GDB, *gdb_commands("run"), "--args", "env", *variables, f"LD_PRELOAD={LIBRARY}", self.program],
                          self.directory, clean_environment(), timeout=90)
                self.check("exited with code 07", ran)

    def test_run_as_ordinary_user(self):
        user = ordinary_user(self)
        for engine in sized(("auto",), ("auto", *ENGINES)):
            with self.subTest(engine=engine):
                self.check("exited with code 07", self.run_in_gdb(engine, "run", user=user))

    def test_breakpoints(self):
        """They stay until the program has ended; each stop goes on."""
        plant = [f"break {function}" for function in FUNCTIONS]
        passes = [f"ignore {number + 2} 100000" for number in range(len(FUNCTIONS))]
        for engine in ENGINES:
            with self.subTest(engine=engine):
                ran = self.run_in_gdb(engine, "break planted", "run", *plant, *passes, "continue", "info breakpoints")
                self.check("exited with code 07", ran)
                self.assertGreaterEqual(ran.stdout.count("breakpoint already hit"), 3, ran.stdout)

    def test_attach(self):
        """To a program that runs; the breakpoints are there until it writes."""
        breaks = [f"break {function}" for function in FUNCTIONS]
        passes = [f"ignore {number + 1} 100000" for number, function in enumerate(FUNCTIONS) if function != "write"]
        for engine in ENGINES:
            with self.subTest(engine=engine):
                process = subprocess.Popen([self.program, "2"], cwd=self.directory, stdout=subprocess.PIPE, text=True,
                                           env=clean_environment(LD_PRELOAD=LIBRARY, **self.settings(engine)))
                self.addCleanup(process.kill)
                wait_until(lambda: list(self.directory.glob("out.run/*.fprobe")), 30, "a profile")
                ran = run([*GDB, "-p", str(process.pid), *gdb_commands(*breaks, *passes, "continue", "detach")],
                          self.directory, clean_environment(), timeout=60)
                self.assertFalse(ran.timed_out, ran.stderr)
                self.assertRegex(ran.stdout, r"Breakpoint 2(\.\d+)?, ", ran.stderr)  # in a function called write
                out, _ = process.communicate(timeout=60)
                self.assertEqual((process.returncode, out), (7, "fine\n"))
                wait_until(lambda: (self.directory / "out.svg").exists(), 60, "out.svg")
                for path in self.directory.glob("out.*"):
                    path.unlink()

    def test_a_breakpoint_under_mallocs_lock(self):
        """The thread stands there with the lock held, and the collector may need the lock."""
        for engine in ENGINES:
            with self.subTest(engine=engine):
                ran = self.run_in_gdb(engine, "break planted", "run", "break *_int_malloc", "ignore 2 100000", "continue",
                                      "info breakpoints")
                if "No symbol" in ran.stdout + ran.stderr:
                    self.skipTest("libc6-dbg is not installed")
                self.check("exited with code 07", ran)
                self.assertEqual(ran.stdout.count("breakpoint already hit"), 2, ran.stdout)

    def traced_by(self, tracer, engines, status):
        for engine in engines:
            with self.subTest(engine=engine):
                ran = run([*tracer, self.program], self.directory,
                          clean_environment(**self.settings(engine), LD_PRELOAD=LIBRARY), timeout=90)
                self.assertEqual((ran.returncode, ran.stdout, ran.timed_out), (status, "fine\n", False), ran.stderr)
                wait_until(lambda: (self.directory / "out.svg").exists(), 60, "out.svg")
                for path in self.directory.glob("out.*"):
                    path.unlink()

    def test_strace(self):
        self.need("strace")
        self.traced_by(["strace", "-f", "-o", os.devnull], ENGINES, 7)

    def test_the_collectors_thread_looks_up_nothing_of_its_own(self):
        """In /proc: at a thread's end the kernel drops that from its cache, and who reaps the process may wait for it, busy."""
        self.need("strace")
        trace = self.directory / "trace"
        for engine in ENGINES:
            with self.subTest(engine=engine):
                self.traced_by(["strace", "-f", "-e", "trace=prctl,open,openat,readlink,access", "-o", trace], [engine], 7)
                lines = trace.read_text().splitlines()
                own = {line.split()[0] for line in lines if 'PR_SET_NAME, "flameprobe"' in line}
                self.assertTrue(own, lines)
                self.assertEqual([line for line in lines if line.split()[0] in own and "/proc/thread-self" in line], [])

    def test_ltrace(self):
        """It plants a breakpoint in each function of a library that the program calls, and gives signals on as its own, those
        of CPU timers too. Its own exit status is 0."""
        self.need("ltrace")
        self.traced_by(["ltrace", "-f", "-o", os.devnull], ENGINES, 0)


if __name__ == "__main__":
    unittest.main()
