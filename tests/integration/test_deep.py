"""Stacks deeper than any copy: what is shown whole is right, and what could not be proven is cut and says so."""

import os
import re
import sys
import unittest

from deep_stacks import caller_is_right, judge, levels_are_right, path_is_right, recursion_is_right
from harness import COMMAND, EMULATED, ENGINES, SIZE, Case, Result, clean_environment, profiled, run, sized, target


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

    def test_two_callers_are_never_mixed(self):
        """Beyond the copy a recursion looks the same whoever called it, in live memory too."""
        turns = [(mode, *shares) for mode in ("callers", "repeated", "varied") for shares in ((70, 1000), (97, 1000), (90, 100_000))]
        for engine in ENGINES:
            whole = wrong = 0
            for mode, share, microseconds in turns if SIZE == "all" else turns[::2]:
                with self.subTest(engine=engine, mode=mode, share=share, microseconds=microseconds):
                    directory = self.fresh_directory(f"turns-{engine}-{mode}-{share}-{microseconds}")
                    ran = run([target("deep"), mode, "224", sized("0.6", "2"), str(share), str(microseconds)], directory,
                              profiled(ENGINE=engine, FREQ=997, FORMAT="folded"))
                    self.assertEqual(ran.returncode, 0, ran.stderr)
                    verdict = judge(ran.result().stacks(), caller_is_right)
                    self.assertGreater(verdict.all, 50, ran.stderr)
                    self.assertLessEqual(verdict.wrong, verdict.whole * 0.02)
                    whole, wrong = whole + verdict.whole, wrong + verdict.wrong
            self.assertLessEqual(wrong, whole * 0.005)

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
                   directory / "report", "--", target("deep"), "tree", int(1.5e6), 1.5], directory,
                  profiled(ENGINE="timer", FREQ=999, FORMAT="folded", STACK=16384), timeout=60)
        if ran.returncode == 125:
            self.skipTest(f"no tracing here: {ran.stderr.strip()}")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertGreater(int((directory / "report").read_text().split()[1]), 0, "nothing was refused")
        result = Result(next(directory.glob("flameprobe.*.fprobe")).with_suffix(""))
        verdict = judge(result.stacks(), path_is_right)
        self.assertEqual(verdict.wrong, 0)
        self.assertGreater(verdict.whole, verdict.all / 2)

    def test_what_cut_stacks_advise_helps(self):
        """Two callers in turn: only a copy of the whole stack tells which one it was."""
        directory = self.fresh_directory("advice")
        argv = [target("deep"), "callers", "224", sized("1", "2")]
        ran = run([COMMAND, "run", "-F", "499", "-o", directory / "cut.svg", "--", *argv], directory, clean_environment())
        self.assertEqual(ran.returncode, 0, ran.stderr)
        advised = re.search(r"% of the time is \[truncated\].*(--engine \w+) (--stack \d+) copies more", ran.stderr)
        self.assertTrue(advised, ran.stderr)
        ran = run([COMMAND, "run", *" ".join(advised.groups()).split(), "-o", directory / "whole.svg", "--", *argv], directory,
                  clean_environment())
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertNotIn("% of the time is [truncated]", ran.stderr)

    def test_a_preloaded_hosts_log_says_what_is_missing(self):
        directory = self.fresh_directory("log")
        for program, said in (([target("deep"), "callers", "224", "1"], r"% of the stacks are deeper .* copies more"),
                              ([target("deep"), "tree", "20000", "0.3"], None)):
            log = directory / "log"
            ran = run(program, directory, profiled(FREQ=499, FORMAT="folded", LOG=log, STACK=262144 if said is None else 8192))
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertEqual(bool(re.search(said or "% of the", log.read_text())), said is not None, log.read_text())
            log.unlink()

    def test_rings_take_what_the_kernel_copies(self):
        directory = self.fresh_directory("ring")
        ran = run([target("deep"), "tree", 20000, 0.3], directory, profiled(ENGINE="ring", STACK=262144))
        self.assertIn("FLAMEPROBE_STACK was lowered from 262144 to 61440 bytes", ran.stderr)


class Recursions(Case):
    """As programs have them: the callers outside of a recursion are known after half a second at most."""

    def shares(self, engine, kind, amount, seconds, frequency=997):
        directory = self.fresh_directory(f"{kind}-{amount}-{engine}-{len(os.listdir(self.directory))}")
        ran = run([target("recursions"), kind, str(seconds), str(amount)], directory,
                  profiled(ENGINE=engine, FREQ=frequency, FORMAT="folded"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        all_time = sum(weight for _, weight in ran.result().stacks())
        with_main = read_later = 0
        for frames, weight in ran.result().stacks():
            if "[callers read later]" in frames:
                read_later += weight
            elif "main" in frames and "[truncated]" not in frames:
                with_main += weight
            if kind == "levels":
                self.assertTrue(levels_are_right(frames, amount), frames)
        self.assertGreater(all_time, 0)
        return with_main / all_time, read_later / all_time

    def test_callers_are_known(self):
        kinds = [("levels", 400), ("json", 300), ("regex", 2000), ("levels", 100), ("levels", 7500), ("varied", 2000),
                 ("expression", 2000), ("list", 5000), ("fill", 300)]
        for engine in ENGINES:
            for kind, amount in kinds if SIZE == "all" else kinds[:3]:
                with self.subTest(engine=engine, kind=kind, amount=amount):
                    rooted, read_later = self.shares(engine, kind, amount, sized(1.5, 3))
                    # A busy machine reads late. Then callers are behind the other note; those of a stack that is gone within a
                    # tick, as this regex's, are cut where timers tick and no look has met it.
                    self.assertGreater(rooted + read_later, 0.75 if (engine, kind) == ("timer", "regex") else 0.9)
                    self.assertGreater(rooted, 0.6)

    def test_an_interpreter_that_recurses_through_c(self):
        """Python's calls are tail calls in a row, by registers too."""
        directory = self.fresh_directory("python")
        (directory / "through.py").write_text("""import sys, threading, time
sys.setrecursionlimit(100000)
threading.stack_size(256 << 20)
def work():
    end, total = time.process_time() + 0.002, 0
    while time.process_time() < end: total += 1
    return total
def down(levels): return work() if levels == 0 else max([levels], key=lambda one: down(levels - 1))
def main():
    end = time.process_time() + 1.5
    while time.process_time() < end: down(1500)
thread = threading.Thread(target=main)
thread.start()
thread.join()
""")
        ran = run([sys.executable, directory / "through.py"], directory, profiled(ENGINE=ENGINES[0], FREQ=997, FORMAT="folded"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        stacks = ran.result().stacks()
        whole = sum(hits for frames, hits in stacks if "[callers read later]" not in frames and "[truncated]" not in frames)
        self.assertGreater(whole, 0.5 * sum(hits for _, hits in stacks))

    def test_a_brief_recursion_has_its_callers(self):
        """Known, or behind a note: never silently cut."""
        for engine in ENGINES:
            with self.subTest(engine=engine):
                rooted, read_later = self.shares(engine, "levels", 400, 0.1)
                self.assertGreater(rooted + read_later, 0.5)


if __name__ == "__main__":
    unittest.main()
