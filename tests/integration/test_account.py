"""Results show what could not be sampled: CPU time by the clocks beside samples, the kernel where it is not permitted, what an
engine had to leave out. And samples are taken only while sampling is on."""

import json
import os
import signal
import subprocess
import time
import unittest

from harness import (LIBRARY, ENGINES, SIZE, Case, Result, Run, clean_environment, host, profiled, run, shares, sized, started, target,
                     wait_until)

NOT_PERMITTED = "[kernel, not permitted]"


def summary(result):
    return json.loads(result.path("json").read_text())


def weight_of(stacks, name):
    return sum(count for frames, count in stacks if name in frames)


class Accounts(Case):
    def test_samples_stand_for_the_cpu_time(self):
        """Within a tenth: a loaded machine delays timers, so the 3 % of a quiet one cannot be asked for here."""
        for engine in ENGINES:
            with self.subTest(engine=engine):
                ran = run([host("ends"), "return", "600"], self.fresh_directory(engine),
                          profiled(ENGINE=engine, FREQ=397, FORMAT="json,folded,svg"))
                told = summary(ran.result())
                self.assertGreater(told["cpu_time"]["process_ns"], 0.57e9)
                shown = sum(count for _, count in ran.result().stacks()) * told["sampling"]["period_ns"]
                self.assertAlmostEqual(shown / told["cpu_time"]["process_ns"], 1, delta=0.1)
                self.assertEqual(sum(t["samples"] for t in told["threads"]), told["samples"]["taken"])
                self.assertAlmostEqual(told["threads"][0]["cpu_ns"] / told["cpu_time"]["process_ns"], 1, delta=0.05)
                self.assertIn("of the process", ran.result().path("svg").read_text())

    def test_frequencies(self):
        """The lowest and the highest that may be asked for. A profile holds whole periods, made of pieces by chance: so at the
        lowest the longest period (half more than the average) may pass without a sample, and two may be off."""
        def on_one_cpu():
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        for engine in ENGINES:
            # The lowest is one computation for all engines.
            lowest = ((1, 2700, 1),) if SIZE == "all" or engine == "ring" else ()
            for frequency, milliseconds, least in (*lowest, (20000, 200, 20)):
                with self.subTest(engine=engine, frequency=frequency):
                    ran = run([host("ends"), "return", milliseconds], self.fresh_directory(f"{engine}-{frequency}"),
                              profiled(ENGINE=engine, FREQ=frequency, FORMAT="json,folded"),
                              preexec_fn=on_one_cpu)
                    self.assertEqual(ran.returncode, 6, ran.stderr)
                    told = summary(ran.result())
                    self.assertEqual(told["sampling"]["frequency_asked_hz"], frequency)
                    if "was lowered" not in ran.stderr:
                        even = 1000000000 // frequency
                        self.assertTrue(0.975 * even <= told["sampling"]["period_ns"] <= even, told["sampling"])
                    # Without the kernel, a sample that falls into it is dropped.
                    hidden = sum(thread["not_permitted_ns"] for thread in told["threads"])
                    period, used = told["sampling"]["period_ns"], told["cpu_time"]["process_ns"]
                    self.assertGreaterEqual(told["cpu_time"]["sampled_ns"] + hidden, least * period)
                    shown = sum(count for _, count in ran.result().stacks()) * period
                    ticks = 5 * 4_000_000 if engine == "timer" else 0  # more may hit it (src/capture/handler/tick_weight.hpp)
                    self.assertAlmostEqual(shown, used, delta=2 * period + 0.1 * used + ticks)

    def test_memory_of_many_threads(self):
        """10,000 threads one after the other, and 2,000 at once: FlameProbe reports its memory for them, and it is little."""
        for engine in ENGINES:
            for argv in (("short", sized("2000", "10000")), ("living", sized("500", "2000"))):
                with self.subTest(engine=engine, threads=argv):
                    ran = run([host("threads"), *argv], self.fresh_directory(f"{engine}-{argv[0]}"),
                              profiled(ENGINE=engine, FREQ=9973, FORMAT="json"))
                    self.assertEqual(ran.returncode, 0, ran.stderr)
                    told = summary(ran.result())
                    held = told["cpu_time"]["flameprobe_memory_bytes"]
                    self.assertGreater(held, len(told["threads"]) * 100)
                    # At this frequency a ring has up to 36 KiB, those of the first 256 threads more (src/capture/thread_rings.hpp).
                    rings = int(argv[1]) * (36 << 10) if engine == "ring" and argv[0] == "living" else 0
                    self.assertLess(held, (48 << 20) + rings)

    def test_frame_pointers(self):
        """In a program without frame pointers, stacks end after the leaf instead of having guessed frames."""
        ran = run([host("ends"), "return", "300"], self.directory, profiled(UNWIND="fp", FREQ=499, FORMAT="json,folded"))
        told, stacks = summary(ran.result()), ran.result().stacks()
        self.assertEqual(told["sampling"]["unwinder"], "fp")
        self.assertEqual(told["samples"]["taken"], told["samples"]["rooted"] + told["samples"]["truncated"])
        self.assertGreater(weight_of(stacks, "crunch"), 50)
        period = told["sampling"]["period_ns"]
        self.assertAlmostEqual(weight_of(stacks, "[truncated]") * period, told["samples"]["truncated_ns"], delta=period)

    def copying(self, blocks, *settings):
        """A program that spends most of its time in system calls, and may not see the kernel: the first of the calls
        asks for it."""
        return [target("inject"), "perf_event_open", "1", "EACCES", "--", "env", f"LD_PRELOAD={LIBRARY}",
                "FLAMEPROBE_ENGINE=ring", "FLAMEPROBE_FREQ=999", *settings, "dd", "if=/dev/zero", "of=/dev/null", "bs=1",
                f"count={blocks}"]

    def test_kernel_time_that_may_not_be_sampled(self):
        ran = run(self.copying(1000000, "FLAMEPROBE_FORMAT=json,folded"), self.directory)
        result = ran.result()
        stacks, told = result.stacks(), summary(result)
        self.assertIn("not permitted", told["sampling"]["kernel"])
        hidden, everything = weight_of(stacks, NOT_PERMITTED), sum(count for _, count in stacks)
        self.assertGreater(hidden, everything / 4)
        of_clock = told["cpu_time"]["process_ns"] / told["sampling"]["period_ns"]
        self.assertAlmostEqual(everything / of_clock, 1, delta=0.05)

    def test_kernel_time_of_a_killed_program(self):
        with started(self.copying(100000000), self.directory, clean_environment()) as tracer:
            def growing():
                found = list(self.directory.glob("flameprobe.*.run/dd.*.fprobe"))
                return found and found[0].stat().st_size > 3000 and found[0]
            spool = wait_until(growing, 60, "a profile that grows")
            os.kill(int(spool.name.split(".")[1]), signal.SIGKILL)
            tracer.wait(30)
        whole = spool.parent.with_suffix(".fprobe")  # by the collector, which lives on
        wait_until(whole.exists, 30, "the result")
        self.assertGreater(weight_of(Result(whole.with_suffix("")).stacks(), NOT_PERMITTED), 0)

    def test_engine_says_what_it_leaves_out(self):
        ran = run([host("ends"), "return", "300"], self.directory,
                  profiled(ENGINE="timer", FREQ=4000, FORMAT="json", LOG="stderr"))
        self.assertIn("each sample stands for more time", summary(ran.result())["sampling"]["engine_reason"])
        self.assertIn("flameprobe: engine timer (", ran.stderr)


class WhileOn(Case):
    def test_signal_starts_and_stops(self):
        for engine in ENGINES:
            with self.subTest(engine=engine):
                directory = self.fresh_directory(engine)
                env = profiled(ENGINE=engine, FREQ=397, SIGNAL="USR2", START="0", FORMAT="json,folded")
                with started([host("ends"), "return", "1500"], directory, env) as process:
                    cpu = f"/proc/{process.pid}/stat"

                    def used():
                        fields = open(cpu).read().rsplit(")", 1)[1].split()
                        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
                    wait_until(lambda: used() > 0.2, 60, "a fifth of a second of work")
                    process.send_signal(signal.SIGUSR2)
                    wait_until(lambda: used() > 0.7, 60, "another half a second of work")
                    process.send_signal(signal.SIGUSR2)
                    self.assertEqual(process.wait(60), 6)
                told = summary(Run(0, "", "", directory, 0, process.pid).result())
                self.assertGreater(told["samples"]["taken"], 50)  # of half a second at the kernel's ticks, 125
                self.assertLess(told["samples"]["taken"], 450, "sampled while it was off")
                self.assertLess(told["cpu_time"]["process_ns"], 1.2e9, "CPU time counted while it was off")

    def test_threads_that_already_run_are_found(self):
        script = ("import os, signal, threading, hashlib\n"
                  "def busy():\n  for _ in range(30): hashlib.sha256(bytes(1 << 24)).digest()\n"
                  "threads = [threading.Thread(target=busy) for _ in range(3)]\n"
                  "[t.start() for t in threads]\nos.kill(os.getpid(), signal.SIGUSR2)\n[t.join() for t in threads]\nprint('done')")
        for engine in ENGINES:
            with self.subTest(engine=engine):
                ran = run(["python3", "-c", script], self.fresh_directory(engine),
                          profiled(ENGINE=engine, FREQ=199, SIGNAL="USR2", START="0", FORMAT="json"))
                self.assertEqual((ran.returncode, ran.stdout), (0, "done\n"), ran.stderr)
                busy = [t for t in summary(ran.result())["threads"] if t["samples"] > 10]
                self.assertGreaterEqual(len(busy), 3)

    def test_idle_threads_of_a_pool(self):
        """Each uses a tenth of a period of CPU time between two signals: together they have samples of what may
        be sampled."""
        count = sized(100, 300)
        for engine in ENGINES:
            with self.subTest(engine=engine):
                directory = self.fresh_directory(engine)
                env = profiled(ENGINE=engine, FREQ=99, SIGNAL="USR2", START="0", FORMAT="json,folded")
                with started([target("lives"), "sleepers", count, "15000", "15000"], directory, env, stdout=subprocess.DEVNULL) as process:
                    wait_until(lambda: len(os.listdir(f"/proc/{process.pid}/task")) > count, 60, "all threads")
                    for _ in range(10):
                        process.send_signal(signal.SIGUSR2)
                        time.sleep(0.3)
                    self.assertEqual(process.wait(60), 0)
                stacks = Run(0, "", "", directory, 0, process.pid).result().stacks()
                sampled, every = shares(stacks, "early")
                late, _ = shares(stacks, "late")
                self.assertGreater(sampled + late, 0.25 * every)

    def test_dump_every(self):
        ran = run([host("ends"), "return", "2500"], self.directory, profiled(FREQ=199, DUMP_EVERY="1s", OUT="part.%n"))
        self.assertEqual(ran.returncode, 6, ran.stderr)
        parts = sorted(self.directory.glob("part.*.folded"))
        self.assertGreaterEqual(len(parts), 3)
        counts = [sum(count for _, count in Result(p.with_suffix("")).stacks()) for p in parts]
        self.assertAlmostEqual(sum(counts) / (2.5 * 199), 1, delta=0.15)

    def test_log_to_a_file(self):
        run([host("ends"), "return", "100"], self.directory, profiled(FREQ=199, LOG=self.directory / "log"))
        text = (self.directory / "log").read_text()
        self.assertIn("engine ring (perf_event_open is permitted", text)
        self.assertIn("wrote ", text)


class Separate(Case):
    """The collector's files and working directory are never the host's."""

    def injected(self, calls, argv, **settings):
        return run([target("inject"), calls, "1+", "EPERM", "--", *argv], self.directory, profiled(FREQ=499, **settings))

    def test_umask_where_unshare_is_refused(self):
        ran = self.injected("unshare", ["python3", "-c", "import os, time; os.umask(0o077); time.sleep(.3); print(oct(os.umask(0)))"])
        self.assertEqual((ran.returncode, ran.stdout), (0, "0o77\n"), ran.stderr)

    def test_refused_where_descriptors_would_be_shared(self):
        ran = self.injected("close_range,unshare", [host("ends"), "return", "200"])
        self.assertEqual((ran.returncode, ran.stdout), (6, "ending by return\n"))
        self.assertIn("flameprobe: nothing is sampled: neither close_range nor unshare is permitted", ran.stderr)
        self.assertEqual(list(self.directory.glob("flameprobe.host-ends.*")), [])


if __name__ == "__main__":
    unittest.main()
