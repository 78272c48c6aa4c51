"""Stacks that a program makes for itself, as libraries of coroutines do: each is whole from its first function on, deep
ones too. Where nothing proves that a stack begins there, it says so."""

import unittest

from harness import EMULATED, MAIN_ENGINES, Case, profiled, run, sized, target


def short(frame):
    return frame.split("::")[-1]


class Fibers(Case):
    def stacks(self, engine, kind, kibibytes=0, count=1, **settings):
        directory = self.fresh_directory(f"{kind}-{engine}-{kibibytes}-{count}-{settings.get('UNWIND', '')}")
        ran = run([target("fibers"), kind, sized(0.5, 1.5), kibibytes, count], directory,
                  profiled(ENGINE=engine, FREQ=499, FORMAT="folded", KERNEL="off", **settings))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        working = [([short(frame) for frame in frames[1:]], hits) for frames, hits in ran.result().stacks()]
        working = [(frames, hits) for frames, hits in working if "work" in frames]
        self.assertGreater(sum(hits for _, hits in working), 30, ran.stderr)
        return working

    def whole(self, working, kind, kibibytes=0):
        """The share of samples whose stack is whole, and then it must be this one from its first function to work()."""
        start = ["context_entry", "first"] if kind == "context" else ["first"]
        for frames, _ in working:
            if frames[0] != "[truncated]":
                self.assertEqual(frames, start + ["recurse"] * (kibibytes + 1) + ["work"])
        every = sum(hits for _, hits in working)
        return sum(hits for frames, hits in working if frames[0] != "[truncated]") / every

    def test_each_kind_ends_where_it_began(self):
        for engine in MAIN_ENGINES:
            for kind in ("context", "zero", "minicoro", "libco", "boost", "corosensei"):
                with self.subTest(engine=engine, kind=kind):
                    self.assertGreaterEqual(self.whole(self.stacks(engine, kind), kind), 0.98)

    def test_a_stack_that_a_function_calls_on_goes_on_to_its_caller(self):
        for engine in MAIN_ENGINES:
            for kind, switches in (("called", 1), ("called-below", 2)):
                with self.subTest(engine=engine, kind=kind):
                    stacks = self.stacks(engine, kind, 30)
                    whole = 0
                    for frames, hits in stacks:
                        if frames[0] == "[truncated]":
                            continue
                        above, below = frames[:frames.index("first")], frames[frames.index("first"):]
                        self.assertEqual(below, ["first"] + ["recurse"] * 31 + ["work"])
                        self.assertEqual(above.count("call_on"), switches, above)
                        self.assertIn("main", above)
                        self.assertEqual(above[-2:], ["call_first", "call_on"])
                        whole += hits
                    # A slow machine reads late, never wrongly. Frames that lead down are not compared with other samples'.
                    if not EMULATED and kind == "called":
                        self.assertGreater(whole / sum(hits for _, hits in stacks), 0.9)

    def test_coroutines_of_boost(self):
        if not target("fibers-boost").exists():
            self.skipTest("libboost-context-dev and libboost-fiber-dev are not installed")
        for engine in MAIN_ENGINES:
            for kind in ("context", "fiber"):
                with self.subTest(engine=engine, kind=kind):
                    ran = run([target("fibers-boost"), kind, sized(0.5, 1.5)], self.fresh_directory(f"{kind}-{engine}"),
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
                for frames, _ in self.stacks(MAIN_ENGINES[0], kind):
                    self.assertEqual(frames[0], "[truncated]")

    def test_frame_pointers_end_there_too(self):
        for kind in ("context", "zero", "boost"):
            with self.subTest(kind=kind):
                self.assertGreaterEqual(self.whole(self.stacks(MAIN_ENGINES[0], kind, UNWIND="fp"), kind), 0.98)

    def test_deep_recursion_on_one_stack(self):
        for engine in MAIN_ENGINES:
            with self.subTest(engine=engine):
                whole = self.whole(self.stacks(engine, "context", 95, STACK=61440), "context", 95)
                if not EMULATED:  # a slow machine reads late, never wrongly
                    self.assertGreater(whole, 0.9)

    def test_deep_recursion_on_stacks_that_take_turns(self):
        for engine in MAIN_ENGINES:
            with self.subTest(engine=engine):
                whole = self.whole(self.stacks(engine, "context", 95, 3, STACK=61440), "context", 95)
                if not EMULATED:
                    self.assertGreater(whole, 0.8)


if __name__ == "__main__":
    unittest.main()
