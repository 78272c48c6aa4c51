"""Go programs with C code in them: a goroutine's stack is whole and named, stripped or not. Only the ring engine can sample
one: Go's runtime takes every signal for itself, by system calls of its own. The others say so."""

import os
import unittest

from formats.tools import Missing, go
from harness import ENGINES, SIZE, Case, clean_environment, profiled, run, shares

PROGRAM = """
package main

// static unsigned long __attribute__((noinline)) c_work(unsigned long n) {
//     volatile unsigned long sum = 1;
//     for (unsigned long i = 0; i < n; i++) sum = sum * 2862933555777941757ul + 3037000493ul;
//     return sum;
// }
import "C"

//go:noinline
func leaf(n int) uint64 {
	sum := uint64(1)
	for i := 0; i < n; i++ {
		sum = sum*6364136223846793005 + 1442695040888963407
	}
	return sum
}

//go:noinline
func middle(n int) uint64 { return leaf(n) + 1 }

func main() {
	done := make(chan bool)
	for worker := 0; worker < 2; worker++ {
		go func() {
			for i := 0; i < 40; i++ {
				middle(4000000)
				C.c_work(2000000)
			}
			done <- true
		}()
	}
	<-done
	<-done
	println("done")
}
"""

LIBRARY_SOURCE = """
package main

import "C"
import "runtime"

//export collect_garbage
func collect_garbage(rounds C.int) C.int {
	total := 0
	for i := 0; i < int(rounds); i++ {
		total += len(make([]byte, 100))
		if i%5000 == 0 {
			runtime.GC() // the runtime sends itself signals for it
		}
	}
	return C.int(total / 100)
}

func main() {}
"""

HOST = """
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
int collect_garbage(int);
static void* work(void* given) {
    const stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    sigaltstack(&stack, NULL);
    printf("%d\\n", collect_garbage(100000));
    return given;
}
int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(threads + i, NULL, work, NULL);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    return 0;
}
"""


class Go(Case):
    def build(self, *build, program=PROGRAM, output="sample"):
        source = self.fresh_directory("source")
        (source / "main.go").write_text(program)
        (source / "go.mod").write_text("module sample\n\ngo 1.19\n")
        try:
            compiler = go()
        except Missing as missing:
            self.skipTest(missing)
        environment = clean_environment(CGO_ENABLED=1, GOTOOLCHAIN="local", GOPROXY="off", GOFLAGS=None,
                                        HOME=os.environ.get("HOME", self.directory))
        built = run([compiler, "build", *build, "-o", self.directory / output, "."], source, env=environment, timeout=200)
        self.assertEqual(built.returncode, 0, built.stderr)

    def profile(self, *build):
        self.build(*build)
        ran = run([self.directory / "sample"], self.fresh_directory("out"), env=profiled(ENGINE="ring", FREQ=997))
        self.assertEqual((ran.returncode, ran.stderr), (0, "done\n"))
        return ran.result().stacks()

    def check(self, *build):
        stacks = self.profile(*build)
        leaves = [(frames, count) for frames, count in stacks if shares([(frames, 1)], "main.leaf")[0]]
        goroutines = [(frames, count) for frames, count in leaves
                      if frames[1].startswith("runtime.goexit") and frames[2:5] == ["main.main.func1", "main.middle", "main.leaf"]]
        whole, every = (sum(count for _, count in some) for some in (goroutines, leaves))
        self.assertGreater(every, 100, stacks)
        self.assertGreaterEqual(whole, 0.99 * every, leaves)
        # C code runs on another stack; what called it is not in the copy, and must not be guessed from old bytes there.
        callers = {tuple(frames[1:frames.index(frame)]) for frames, _ in stacks for frame in frames if "runtime.asmcgocall" in frame}
        self.assertIn(("[truncated]",), callers)
        # systemstack leaves the goroutine's stack too, and starts threads by it.
        self.assertEqual([each for each in callers if each[0] not in ("[truncated]", "runtime.mcall") and not each[0].startswith("runtime.goexit")], [])

    def test_goroutines_are_whole(self):
        self.check()

    def test_stripped(self):
        self.check("-ldflags=-s -w")

    @unittest.skipUnless(SIZE == "all", "Go compiles its library anew for it; the quick set has host-alternate_stacks")
    def test_a_library_in_threads_that_have_an_alternate_stack(self):
        """Go's runtime asks the kernel for it, and ends the process if its handlers run elsewhere."""
        self.need("gcc")
        self.build("-buildmode=c-shared", program=LIBRARY_SOURCE, output="libgarbage.so")
        source = self.directory / "host.c"
        source.write_text(HOST)
        built = run(["gcc", source, "-o", self.directory / "host", self.directory / "libgarbage.so", "-pthread",
                     f"-Wl,-rpath,{self.directory}"], self.directory)
        self.assertEqual(built.returncode, 0, built.stderr)
        for engine in ENGINES:
            with self.subTest(engine=engine):
                self.need_engine(engine)
                ran = run([self.directory / "host"], self.fresh_directory(engine), env=profiled(ENGINE=engine, FREQ=997))
                self.assertEqual((ran.returncode, ran.stdout), (0, "100000\n" * 4), ran.stderr[-2000:])

    def test_engines_that_need_a_signal_say_why_there_is_no_sample(self):
        self.build()
        ran = run([self.directory / "sample"], self.fresh_directory("timer"), env=profiled(ENGINE="timer", FREQ=997))
        told = [line for line in ran.stderr.splitlines() if line != "done"]
        self.assertEqual((ran.returncode, len(told)), (0, 1), ran.stderr)
        self.assertRegex(told[0], "^flameprobe: .*FLAMEPROBE_ENGINE=ring needs no(ne| signal)$")


if __name__ == "__main__":
    unittest.main()
