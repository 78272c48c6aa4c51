"""Stacks that a program makes for itself, as libraries of coroutines do: each is whole from its first function on, deep
ones too. Where nothing proves that a stack begins there, it says so."""

import platform
import subprocess
import unittest

from figures import is_sample
from harness import EMULATED, ENGINES, Case, profiled, run, shares, sized, target

# As GHC's code: without tables, it is jumped into by run_in_frame, in whose frame it runs. That function's tables say where the
# caller's stack pointer is, which is not the CFA.
IN_A_FRAME = r"""
#include <time.h>
void run_in_frame(void (*code)(long), long rounds);
void code_without_tables(long rounds);
__asm__(".text\n"
        ".type run_in_frame, @function\n.globl run_in_frame\nrun_in_frame:\n"
        ".cfi_startproc simple\nsub $0x30, %rsp\nmov %rsp, %rax\nsub $0x4000, %rsp\nmov %rbp, 8(%rax)\n"
        ".cfi_def_cfa rsp, 0\n.cfi_offset rbp, 0x4008\n.cfi_offset rip, 0x4030\n"
        ".cfi_escape 0x16, 0x07, 0x04, 0x77, 0xb8, 0x80, 0x01\n"
        "mov %rdi, %rax\nmov %rsi, %rdi\njmp *%rax\n"
        ".globl leave_frame\nleave_frame:\nadd $0x4000, %rsp\nmov 8(%rsp), %rbp\nadd $0x30, %rsp\nret\n"
        ".cfi_endproc\n.size run_in_frame, . - run_in_frame\n.balign 16\n"
        ".type code_without_tables, @function\n.globl code_without_tables\ncode_without_tables:\n"
        "mov $1, %ebp\n1: dec %rdi\njnz 1b\njmp leave_frame\n"
        ".size code_without_tables, . - code_without_tables\n");
__attribute__((noinline)) static int enter(void) { run_in_frame(code_without_tables, 5000000); return 0; }
int main(void) { int sum = 0; while (clock() < CLOCKS_PER_SEC / 2) sum += enter(); return sum; }
"""

# Two coroutines that take turns all the time, by a switch without tables that jumps to where the other goes on, as libaco's and
# Boost's do. How a stack begins is the program's argument.
SWITCHED = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#define FAR __attribute__((noinline))
void switch_to(uint64_t *from, uint64_t *to);
void trampoline(void);
void trampoline_with_tables(void);
void protector(void);
__asm__(".text\n"
        ".type switch_to, @function\n.globl switch_to\nswitch_to:\n"
        "mov (%rsp), %rdx\nlea 8(%rsp), %rcx\nmov %rdx, (%rdi)\nmov %rcx, 8(%rdi)\nmov %rbx, 16(%rdi)\nmov %rbp, 24(%rdi)\n"
        "mov %r12, 32(%rdi)\nmov %r13, 40(%rdi)\nmov %r14, 48(%rdi)\nmov %r15, 56(%rdi)\n"
        "mov (%rsi), %rax\nmov 8(%rsi), %rsp\nmov 16(%rsi), %rbx\nmov 24(%rsi), %rbp\n"
        "mov 32(%rsi), %r12\nmov 40(%rsi), %r13\nmov 48(%rsi), %r14\nmov 56(%rsi), %r15\njmp *%rax\n"
        ".size switch_to, . - switch_to\n.balign 16\n"
        ".type trampoline, @function\n.globl trampoline\ntrampoline:\ncall *%rbx\nmov %rax, %rdi\ncall exit@PLT\nhlt\n"
        ".size trampoline, . - trampoline\n.balign 16\n"
        ".type trampoline_with_tables, @function\n.globl trampoline_with_tables\ntrampoline_with_tables:\n.cfi_startproc\n"
        "call *%rbx\nmov %rax, %rdi\ncall exit@PLT\nhlt\n.cfi_endproc\n"
        ".size trampoline_with_tables, . - trampoline_with_tables\n.balign 16\n"
        ".type protector, @function\n.globl protector\nprotector:\nand $-16, %rsp\ncall abort@PLT\nret\n"
        ".size protector, . - protector\n");
static uint64_t saved[3][8];
static volatile unsigned long sink;
static unsigned long turns;
static void *volatile behind_call;
FAR static void remember(void) { behind_call = __builtin_return_address(0); }
FAR static void swap(int me) { switch_to(saved[me], saved[1 - me]); sink++; }
#define COROUTINE(name, number) \
    FAR static void work_##name(void) { for (int i = 0; i < 4; ++i) sink += i; } \
    FAR static void turn_##name(void) { for (;;) { work_##name(); if (++turns % 4096 == 0 && clock() > CLOCKS_PER_SEC / 2) _exit(0); swap(number); } } \
    FAR static void first_##name(void) { turn_##name(); sink++; }
COROUTINE(a, 0)
COROUTINE(b, 1)
int main(int argc, char **argv) {
    void (*first[])(void) = {first_a, first_b};
    remember();
    for (int i = 0; i < 2; ++i) {
        char *memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        uint64_t *top = (uint64_t *)(memory + (1 << 20) - 512);
        if (!strcmp(argv[1], "minus one")) *--top = -1;
        else if (!strcmp(argv[1], "code without tables")) *--top = (uint64_t)protector;
        else if (!strncmp(argv[1], "trampoline", 10)) top[0] = (uint64_t)saved;
        else *--top = 0;
        if (!strcmp(argv[1], "registers saved above")) top[16] = (uint64_t)behind_call;
        saved[i][0] = (uint64_t)first[i];
        if (!strcmp(argv[1], "trampoline")) saved[i][0] = (uint64_t)trampoline;
        if (!strcmp(argv[1], "trampoline_with_tables")) saved[i][0] = (uint64_t)trampoline_with_tables;
        saved[i][1] = (uint64_t)top;
        saved[i][2] = (uint64_t)first[i];
        saved[i][3] = 0x1234;
    }
    switch_to(saved[2], saved[0]);
    return argc;
}
"""
BEGINNINGS = ("zero", "minus one", "code without tables", "trampoline", "trampoline_with_tables", "registers saved above")


CUT = ("[truncated]", "[callers read later]")


def short(frame):
    return frame.split("::")[-1]


class Fibers(Case):
    def stacks(self, engine, kind, kibibytes=0, count=1, **settings):
        directory = self.fresh_directory(f"{kind}-{engine}-{kibibytes}-{count}-{settings.get('UNWIND', '')}")
        # Live memory has to show a deep stack often before it is believed.
        ran = run([target("fibers"), kind, 1.5 if kibibytes > 20 else sized(0.3, 1.5), kibibytes, count], directory,
                  profiled(ENGINE=engine, FREQ=499, FORMAT="folded", KERNEL="off", **settings))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        working = [([short(frame) for frame in frames[1:]], hits) for frames, hits in ran.result().stacks()]
        working = [(frames, hits) for frames, hits in working if "work" in frames]
        self.assertGreater(sum(hits for _, hits in working), 30, ran.stderr)
        return working

    def whole(self, working, kind, kibibytes=0):
        """The share of samples whose stack is whole, and then it must be this one from its first function to work()."""
        start = ["context_entry", "first"] if kind == "context" else ["first"]
        levels = ["recurse"] * (kibibytes + 1)
        for frames, _ in working:
            if frames[0] not in CUT:
                self.assertEqual(frames, start + (["[recursion]", "recurse"] if "[recursion]" in frames else levels) + ["work"])
        every = sum(hits for _, hits in working)
        return sum(hits for frames, hits in working if frames[0] not in CUT) / every

    def test_each_kind_ends_where_it_began(self):
        for engine in ENGINES:
            for kind in ("context", "zero", "minicoro", "libco", "boost", "corosensei"):
                with self.subTest(engine=engine, kind=kind):
                    self.assertGreaterEqual(self.whole(self.stacks(engine, kind), kind), 0.98)

    def test_a_stack_that_a_function_calls_on_goes_on_to_its_caller(self):
        for engine in ENGINES:
            for kind, switches in (("called", 1), ("called-below", 2)):
                with self.subTest(engine=engine, kind=kind):
                    stacks = self.stacks(engine, kind, 30)
                    whole = later = 0
                    for frames, hits in stacks:
                        if frames[0] in CUT:
                            later += hits * (frames[0] != "[truncated]")
                            continue
                        self.assertIn("main", frames)
                        if "[recursion]" in frames:  # through call_on, too
                            whole += hits
                            continue
                        above, below = frames[:frames.index("first")], frames[frames.index("first"):]
                        self.assertEqual(below, ["first"] + ["recurse"] * 31 + ["work"])
                        self.assertEqual(above.count("call_on"), switches, above)
                        self.assertEqual(above[-2:], ["call_first", "call_on"])
                        whole += hits
                    # A slow machine reads late, never wrongly. Frames that lead down are not compared with other samples'.
                    if not EMULATED and kind == "called":
                        every = sum(hits for _, hits in stacks)
                        self.assertGreater((whole + later) / every, 0.8)
                        self.assertGreater(whole / every, 0.6)

    def test_code_in_another_functions_frame(self):
        if platform.machine() != "x86_64":
            self.skipTest("its code is x86-64's")
        self.need("cc")
        (self.directory / "frame.c").write_text(IN_A_FRAME)
        subprocess.run(["cc", "-O1", "-o", "frame", "frame.c"], cwd=self.directory, check=True)
        for engine in ENGINES:
            with self.subTest(engine=engine):
                ran = run([self.directory / "frame"], self.fresh_directory(engine), profiled(ENGINE=engine, FREQ=499, KERNEL="off"))
                self.assertEqual(ran.returncode, 0, ran.stderr)
                stacks = [(frames, hits) for frames, hits in ran.result().stacks() if frames[-1] == "code_without_tables"]
                whole = sum(hits for frames, hits in stacks if frames[-3:-1] == ["main", "enter"])
                self.assertGreater(whole, 100, stacks)
                self.assertGreaterEqual(whole, 0.95 * shares(ran.result().stacks(), "code_without_tables")[0], stacks)

    def test_coroutines_that_a_jump_switches(self):
        if platform.machine() != "x86_64":
            self.skipTest("its code is x86-64's")
        self.need("cc")
        (self.directory / "switched.c").write_text(SWITCHED)
        subprocess.run(["cc", "-O1", "-fno-ipa-icf", "-o", "switched", "switched.c"], cwd=self.directory, check=True)
        for engine in ENGINES:
            for kind in BEGINNINGS:
                with self.subTest(engine=engine, kind=kind):
                    ran = run([self.directory / "switched", kind], self.fresh_directory(f"{kind}-{engine}"),
                              profiled(ENGINE=engine, FREQ=499, KERNEL="off"))
                    self.assertEqual(ran.returncode, 0, ran.stderr)
                    stacks = [(frames[1:], hits) for frames, hits in ran.result().stacks() if is_sample(frames)]
                    every = sum(hits for _, hits in stacks)
                    self.assertGreater(every, 100)
                    whole = [(frames, hits) for frames, hits in stacks if "[truncated]" not in frames]
                    self.assertGreaterEqual(sum(hits for _, hits in whole) / every, 0.98, stacks)
                    for frames, _ in whole:
                        if "main" in frames:
                            continue
                        start = frames.pop(0) if "trampoline" in kind else kind
                        name = frames[0].removeprefix("first_")
                        expected = [f"first_{name}", f"turn_{name}"]
                        self.assertIn(name, "ab")
                        self.assertEqual([start, *frames[:2]], [kind, *expected[:len(frames)]])
                        called = {f"work_{name}", "swap", "clock", "_exit"}
                        self.assertLessEqual({frame.removesuffix("@plt") for frame in frames[2:3]}, called)

    def test_coroutines_of_boost(self):
        if not target("fibers-boost").exists():
            self.skipTest("libboost-context-dev and libboost-fiber-dev are not installed")
        for engine in ENGINES:
            for kind in ("context", "fiber"):
                with self.subTest(engine=engine, kind=kind):
                    ran = run([target("fibers-boost"), kind, sized(0.3, 1.5)], self.fresh_directory(f"{kind}-{engine}"),
                              profiled(ENGINE=engine, FREQ=499, FORMAT="folded", KERNEL="off"))
                    self.assertEqual(ran.returncode, 0, ran.stderr)
                    working = [(frames[1], hits) for frames, hits in ran.result().stacks() if short(frames[-1]) == "work"]
                    every = sum(hits for _, hits in working)
                    self.assertGreater(every, 30, ran.stderr)
                    starts = sum(hits for first, hits in working if "fiber_entry<" in first)
                    self.assertGreaterEqual(starts / every, 0.98, working)

    def test_what_proves_no_start_is_truncated(self):
        for kind in ("redirected", "elsewhere"):
            with self.subTest(kind=kind):
                for frames, _ in self.stacks(ENGINES[0], kind):
                    self.assertEqual(frames[0], "[truncated]")

    def test_frame_pointers_end_there_too(self):
        for kind in ("context", "zero", "boost"):
            with self.subTest(kind=kind):
                self.assertGreaterEqual(self.whole(self.stacks(ENGINES[0], kind, UNWIND="fp"), kind), 0.98)

    def check_deep(self, stacks):
        """A slow or busy machine reads late, never wrongly: what is not whole is behind the note of that, and seldom cut."""
        whole = self.whole(stacks, "context", 95)
        every = sum(hits for _, hits in stacks)
        later = sum(hits for frames, hits in stacks if frames[0] == "[callers read later]")
        if not EMULATED:
            self.assertGreater(whole + later / every, 0.8)

    def test_deep_recursion_on_one_stack(self):
        for engine in ENGINES:
            with self.subTest(engine=engine):
                self.check_deep(self.stacks(engine, "context", 95, STACK=61440))

    def test_deep_recursion_on_stacks_that_take_turns(self):
        for engine in ENGINES:
            with self.subTest(engine=engine):
                self.check_deep(self.stacks(engine, "context", 95, 3, STACK=61440))


if __name__ == "__main__":
    unittest.main()
