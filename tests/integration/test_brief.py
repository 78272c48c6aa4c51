"""Threads that live shorter than a sampling period have their CPU time in the picture: half of the program's is theirs by
construction (tests/targets/brief), in every engine."""

import json
import math
import unittest

from harness import LIBRARY, Case, profiled, run, sized, stolen_ns, stolen_seconds, target

TOO_BRIEF = "[not sampled]"
TICK = 250  # CONFIG_HZ of Debian's kernels


class Brief(Case):
    def profile(self, mode, life_us, milliseconds, **settings):
        where = "-".join(map(str, (mode, life_us, *settings.values())))
        self.stolen = stolen_seconds()
        ran = run([target("brief"), mode, life_us, milliseconds], self.fresh_directory(where),
                  profiled(FORMAT="folded,json", **settings))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran, [int(word) for word in ran.stdout.split()]

    def weights(self, result):
        """(in main_half, in brief_thread, all), and the period."""
        stacks, told = result.stacks(), json.loads(result.path("json").read_text())
        inside = [sum(count for frames, count in stacks if name in frames) for name in ("main_half", "brief_thread")]
        # Beside the ring engine the collector is a thread of the host, and the host's clock counts it.
        self.collector_ns = 0 if told["sampling"]["engine"] == "ring" else told["cpu_time"]["flameprobe_ns"]
        return *inside, sum(count for _, count in stacks), told["sampling"]["period_ns"]

    def assert_covered(self, sampled_ns, process_ns, delta, more=0.0):
        """All CPU time of the host is in the picture. The engines' clocks also count what the hypervisor took."""
        process_ns -= self.collector_ns
        self.assertGreater(sampled_ns / process_ns, 1 - delta)
        self.assertLess((sampled_ns - stolen_ns(self.stolen)) / process_ns, 1 + delta + more)

    def check(self, engine):
        for life_us in sized((300, 2000), (300, 800, 2000, 5000, 8000, 30000)):
            # Of the longer lives, at 99 Hz, the wider set knows.
            for frequency in sized((99, 999) if life_us < 1000 else (999,), (99, 999)):
                with self.subTest(engine=engine, life_us=life_us, frequency=frequency):
                    ran, (main_ns, brief_ns, process_ns) = self.profile("thread", life_us, sized(1500 if frequency < 999 else 800, 2500), ENGINE=engine,
                                                                       FREQ=frequency)
                    main, brief, every, period = self.weights(ran.result())
                    hits = every * min(1, TICK / frequency) if engine == "timer" else every
                    # A tick stands for a tick's time. How many hit a program that has a CPU for half of the time is chance,
                    # with a standard error of 0.7 / sqrt(number); here three of them.
                    chance = 2 / math.sqrt(process_ns / 1e9 * TICK) if engine == "timer" else 0
                    self.assert_covered(every * period, process_ns, 0.03, chance)
                    true = brief_ns / process_ns
                    # What a thread uses before and after its work is in its half, too.
                    spread = 4 * math.sqrt(true * (1 - true) / hits)
                    # Where perf may not sample the kernel, the time there has no stack; nor has what is lost, since a brief
                    # thread's period may be a quarter of the others' and its ring is small (src/capture/thread_clock.hpp).
                    unknown = sum(count for frames, count in ran.result().stacks()
                                  if frames[-1] in ("[kernel, not permitted]", "[lost]"))
                    self.assertGreater(brief / every, true - spread - 0.01 - unknown / every)
                    self.assertLess(brief / every, 1 - main_ns / process_ns + spread + 0.01)

    def test_ring(self):
        self.check("ring")

    def test_timer(self):
        self.check("timer")

    def test_where_waits_are_sampled_too(self):
        """What a thread used before it ended was counted as its samples' time and once more."""
        for engine in ("ring", "timer"):
            with self.subTest(engine=engine):
                ran, (_, _, process_ns) = self.profile("thread", 500, 1000, ENGINE=engine, FREQ=999, EVENT="cpu,offcpu")
                _, _, every, period = self.weights(ran.result())
                self.assert_covered(every * period, process_ns, 0.05, 2 / math.sqrt(process_ns / 1e9 * TICK) if engine == "timer" else 0)

    def test_what_threads_do_first(self):
        """The first 0.3 of each thread's work is in another function than the rest (tests/targets/lives). Their lives differ: on a
        busy machine a thread begins at a tick of the kernel, and lives of which some take a tick would all have theirs at their
        ends."""
        for engine in ("auto", "ring", "timer"):
            for life_us, frequency in sized(((500, 997),), ((500, 997), (500, 99), (2000, 997), (8000, 99))):
                with self.subTest(engine=engine, life_us=life_us, frequency=frequency):
                    ran = run([target("lives"), "sequence", sized(1_000_000, 3_000_000) // life_us, life_us * 3 // 4,
                               life_us * 5 // 4],
                              self.fresh_directory(f"{engine}-{life_us}-{frequency}"),
                              profiled(FORMAT="folded,json", ENGINE=engine, FREQ=frequency))
                    self.assertEqual(ran.returncode, 0, ran.stderr)
                    early_ns, both_ns, _ = map(int, ran.stdout.split())
                    stacks, told = ran.result().stacks(), json.loads(ran.result().path("json").read_text())
                    early, late = (sum(count for frames, count in stacks if name in frames) for name in ("early", "late"))
                    hits = sum(function["total"] for function in told["functions"] if function["name"] in ("early", "late"))
                    true = early_ns / both_ns
                    self.assertAlmostEqual(early / (early + late), true, delta=4 * math.sqrt(true * (1 - true) / hits))

    def test_what_was_not_sampled_stands_on_the_start_routine(self):
        """Here perf refuses each event but the main thread's: the collector's task has not the tracer that the filter asks."""
        ran = run([target("inject"), "perf_event_open", "0", "EACCES", "--", "env", f"LD_PRELOAD={LIBRARY}", "FLAMEPROBE_ENGINE=ring",
                   "FLAMEPROBE_FORMAT=folded", target("brief"), "thread", "500", "500"], self.directory)
        self.assertIn("not sampled (perf_event_open is refused", ran.stderr)
        named = [frames for frames, _ in ran.result().stacks() if frames[-1] == TOO_BRIEF]
        self.assertTrue(named)
        self.assertTrue(any(frames[-2] == "brief_thread" for frames in named), named)

    def test_threads_past_libc_are_not_missing(self):
        for engine in ("ring", "timer"):
            with self.subTest(engine=engine):
                ran, (_, _, process_ns) = self.profile("raw", 500, sized(800, 1500), ENGINE=engine, FREQ=999)
                _, _, every, period = self.weights(ran.result())
                self.assert_covered(every * period, process_ns, 0.03)


if __name__ == "__main__":
    unittest.main()
