"""Stacks deeper than any copy: what is shown whole is right, and what could not be proven is cut and says so."""

import os
import unittest

from deep_stacks import caller_is_right, judge, path_is_right, recursion_is_right
from harness import EMULATED, ENGINES, Case, Result, profiled, run, sized, target


class Deep(Case):
    def verdict(self, engine, mode, amount, frequency, is_right, seconds=sized(0.3, 1.5), **settings):
        directory = self.fresh_directory(f"{mode}-{amount}-{engine}-{len(os.listdir(self.directory))}")
        ran = run([target("deep"), mode, amount, seconds], directory, profiled(ENGINE=engine, FREQ=frequency, FORMAT="folded", **settings))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        verdict = judge(ran.result().stacks(), is_right)
        self.assertGreater(verdict.all, 50, ran.stderr)
        return verdict

    def test_recursion_that_fits_has_its_number_of_frames(self):
        for engine in ENGINES:
            with self.subTest(engine=engine):
                verdict = self.verdict(engine, "recursion", 48, 999, lambda frames: recursion_is_right(frames, 48),
                                       STACK=61440)
                self.assertEqual(verdict.wrong, 0)
                self.assertGreater(verdict.whole, verdict.all * 0.9)

    def test_recursion_has_no_caller_that_is_not_proven(self):
        """Beyond the copy a recursion looks the same whoever called it, in live memory and in the samples around it."""
        for engine in ENGINES:
            for mode, amount in (("callers", 224), ("recursion", 4096)):
                with self.subTest(engine=engine, mode=mode):
                    is_right = caller_is_right if mode == "callers" else lambda frames: recursion_is_right(frames, 4096)
                    verdict = self.verdict(engine, mode, amount, 999, is_right)
                    self.assertEqual(verdict.wrong, 0)
                    self.assertGreater(verdict.truncated, verdict.all * 0.9)

    def test_calls_that_are_repeated_for_two_callers_prove_nothing(self):
        """The samples before and after agree in all that the copy holds, and live memory only now and then contradicts. Once in
        90,000 times it shows the same caller for so long that it is believed."""
        for engine in ENGINES:
            for kibibytes in (95, 224):
                with self.subTest(engine=engine, kibibytes=kibibytes):
                    verdict = self.verdict(engine, "repeated", kibibytes, 999, caller_is_right)
                    self.assertEqual(verdict.wrong, 0)

    def test_a_frame_of_33_kibibytes(self):
        """PCRE2's matcher has one, so grep -P. Up to 1,000 Hz it is in the copy; beyond, nothing proves who called it."""
        for engine in ENGINES:
            for frequency in (499, 999, 4000):
                with self.subTest(engine=engine, frequency=frequency):
                    # The kernel copies no page that was never touched. So the first samples are cut, until live memory is read.
                    verdict = self.verdict(engine, "frame", 33, frequency, caller_is_right, seconds=1)
                    self.assertEqual(verdict.wrong, 0)
                    self.assertGreater(verdict.truncated if frequency > 1000 else verdict.whole, verdict.all * 0.9)

    def test_callers_are_right_where_the_copy_has_them(self):
        verdict = self.verdict("timer", "callers", 224, 999, caller_is_right, STACK=262144)
        self.assertEqual(verdict.wrong, 0)
        self.assertGreater(verdict.whole, verdict.all * 0.9)

    def test_a_standing_path_is_whole(self):
        """Its calls tell which path it is, so that live memory can be believed once it has shown them often enough."""
        for engine in ENGINES:
            with self.subTest(engine=engine):
                verdict = self.verdict(engine, "tree", 1_500_000, 999, path_is_right, seconds=1.5)
                self.assertEqual(verdict.wrong, 0)
                # A loaded machine reads late, never wrongly.
                self.assertGreater(verdict.whole, verdict.all / 2)

    def test_paths_that_change_are_never_mixed(self):
        """One in a thousand may be wrong: two paths may agree by chance in all frames that are compared."""
        for engine in ENGINES:
            whole = wrong = 0
            enough = 10 if EMULATED else 100  # one slow CPU
            # On a busy machine the collector often reads when the program has gone on; and where one stack is wrong, a
            # thousand tell whether that was chance.
            for _ in range(12):
                for mode, microseconds in (("tree", 20), ("even-tree", 200), ("even-tree", 2000), ("tree", 20000)):
                    verdict = self.verdict(engine, mode, microseconds, 4000, path_is_right)
                    whole, wrong = whole + verdict.whole, wrong + verdict.wrong
                if whole > enough and wrong <= whole / 1000:
                    break
            with self.subTest(engine=engine):
                self.assertGreater(whole, enough)
                self.assertLessEqual(wrong, whole / 1000)

    def test_handlers_copy_as_much_as_is_asked_for(self):
        """Stacks that fit into the copy need no proof, however fast they change."""
        verdict = self.verdict("timer", "tree", 20, 4000, path_is_right, STACK=262144)
        self.assertEqual(verdict.wrong, 0)
        self.assertGreater(verdict.whole, verdict.all * 0.99)

    def test_memory_is_read_where_process_vm_readv_is_refused(self):
        """Where process_vm_readv is refused, as in some containers, the stack beyond the copy is read through /proc."""
        directory = self.fresh_directory("refused")
        ran = run([target("inject"), "process_vm_readv", "1+", "EPERM", "--after", "libflameprobe-core.so", "--report",
                   directory / "report", "--", target("deep"), "tree", int(sized(0.6, 1.5) * 1e6), sized(0.6, 1.5)], directory,
                  profiled(ENGINE="timer", FREQ=999, FORMAT="folded", STACK=16384), timeout=60)
        if ran.returncode == 125:
            self.skipTest(f"no tracing here: {ran.stderr.strip()}")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertGreater(int((directory / "report").read_text().split()[1]), 0, "nothing was refused")
        result = Result(next(directory.glob("flameprobe.*.fprobe")).with_suffix(""))
        verdict = judge(result.stacks(), path_is_right)
        self.assertEqual(verdict.wrong, 0)
        self.assertGreater(verdict.whole, verdict.all / 2)

    def test_cut_stacks_name_the_setting(self):
        """A copy of 1 KiB holds two frames of the recursion, from which nothing can be proven."""
        for engine in ENGINES:
            for size in (1024, 61440):
                with self.subTest(engine=engine, size=size):
                    directory = self.fresh_directory(f"advice-{engine}-{size}")
                    ran = run([target("deep"), "recursion", 16, sized(0.3, 1.5)], directory,
                              profiled(ENGINE=engine, FREQ=499, STACK=size))
                    facts = next(directory.glob("*.txt")).read_text()
                    self.assertEqual(": FLAMEPROBE_STACK=" in facts, size == 1024, facts)

    def test_rings_take_what_the_kernel_copies(self):
        directory = self.fresh_directory("ring")
        ran = run([target("deep"), "tree", 20000, 0.3], directory, profiled(ENGINE="ring", STACK=262144))
        self.assertIn("FLAMEPROBE_STACK was lowered from 262144 to 61440 bytes", ran.stderr)


if __name__ == "__main__":
    unittest.main()
