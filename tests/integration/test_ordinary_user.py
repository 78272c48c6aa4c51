"""At kernel.perf_event_paranoid 2, without a setting: time in the kernel stands where the program called it, in every
format."""

import json
import os
import re
import unittest
from pathlib import Path

from harness import COMMAND, GUEST, LIBRARY, Case, host, ordinary_user, profiled, read_folded, render, run, sized, target

CALLS = {"read_work": "[kernel: read]", "write_work": "[kernel: write]", "short_work": "[kernel: getppid]"}


def is_kernel(frame):
    return frame.startswith("[kernel") and frame != "[kernel, not permitted]"


class AsOrdinaryUser(Case):
    def setUp(self):
        super().setUp()
        self.need_engine("ring")
        self.user = ordinary_user(self)
        if GUEST and int(Path("/proc/sys/kernel/perf_event_paranoid").read_text()) > 2:
            self.skipTest("Debian's kernels give users no perf events at all above 2 (test_kernels)")
        os.chmod(self.directory, 0o755)

    def profile(self, *argv, where="run", **settings):
        directory = self.fresh_directory(where)
        os.chmod(directory, 0o777)
        env = profiled(**settings)
        del env["LD_PRELOAD"]
        ran = run([*self.user, "env", f"LD_PRELOAD={LIBRARY}", target("calls"), *argv], directory, env)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran


class Kernel(AsOrdinaryUser):
    def test_system_calls_are_named_and_nothing_is_missing(self):
        for frequency in (199, 997):
            with self.subTest(frequency=frequency):
                ran = self.profile(sized("2" if frequency < 500 else "1", "2.5"), where=str(frequency), FREQ=frequency, FORMAT="folded,json")
                result = ran.result()
                stacks, told = result.stacks(), json.loads(result.path("json").read_text())
                self.assertEqual(told["sampling"]["kernel"], "by CPU timers")
                self.assertIn("user time by perf rings, kernel time by CPU timers", told["sampling"]["engine_reason"])
                for function, call in CALLS.items():
                    inside = sum(count for frames, count in stacks if function in frames and is_kernel(frames[-1]))
                    named = sum(count for frames, count in stacks if function in frames and frames[-1] == call)
                    self.assertGreater(named, 10, stacks)
                    self.assertEqual(inside, named, stacks)
                for frames, _ in stacks:  # nothing is called by the kernel
                    self.assertFalse(any(is_kernel(frame) for frame in frames[:-1]), frames)
                # A loaded machine delays timers; the result shows what is missing.
                everything = sum(count for _, count in stacks) * told["sampling"]["period_ns"]
                self.assertAlmostEqual(everything / told["cpu_time"]["process_ns"], 1, delta=0.03)
                # As much of it as the machine's calls leave: the program has read its clock before and after.
                user = sum(count for frames, count in stacks if frames[-1] == "user_work")
                expected = int(re.search(r"user_work in (\d+) ns", ran.stdout)[1]) / told["sampling"]["period_ns"]
                self.assertGreater(expected, 50)
                # Less by interrupts, in which perf takes no sample for this user: of root's samples a twentieth, and a tenth, on a
                # busy machine.
                self.assertLess(user, expected + 4 * expected**0.5)
                self.assertGreater(user, 0.9 * expected - 4 * expected**0.5)
                # They are no call's, and take as much of the other work's time as they took of this one's.
                interrupts = max(0, 1 - user / expected)
                self.assertGreater(told["samples"]["rooted_ns"],
                                   (0.95 - interrupts) * told["cpu_time"]["process_ns"])

    def test_every_format_has_the_frame(self):
        profile = self.profile("1", FREQ=499).result().path("fprobe")
        folded = read_folded(render(profile, "-o", "-", "--format", "folded").stdout)
        reads = sum(count for frames, count in folded if frames[-1] == "[kernel: read]")
        self.assertGreater(reads, 0)
        told = json.loads(render(profile, "-o", "-", "--format", "json").stdout)
        told_ns, period = [f["self_ns"] for f in told["functions"] if f["name"] == "[kernel: read]"], told["sampling"]["period_ns"]
        # In folded text each run of lines is right within a period.
        calls = sum(1 for frames, _ in folded if frames[-1] == "[kernel: read]")
        self.assertAlmostEqual(reads * period, *told_ns, delta=calls * period)
        for ending in ("svg", "html", "speedscope.json", "firefox.json"):
            out = self.directory / f"again.{ending}"
            self.assertEqual(render(profile, "-o", out).returncode, 0)
            self.assertIn("[kernel: read]", out.read_text(), ending)
        self.assertEqual(render(profile, "-o", self.directory / "again.pb.gz").returncode, 0)
        self.assertIn("[kernel: read]", render(profile, "--top", "50").stdout)
        again = self.directory / "again.folded"
        self.assertEqual(render(profile, "-o", again).returncode, 0)
        self.assertEqual(read_folded(render(again, "-o", "-", "--format", "folded").stdout), folded)

    def test_the_timer_engine_says_so_too(self):
        stacks = self.profile("1", ENGINE="timer", FREQ=199).result().stacks()
        for function, call in CALLS.items():
            self.assertTrue(any(function in frames and frames[-1] == call for frames, _ in stacks), stacks)

    def test_it_can_be_turned_off(self):
        for settings in ({"ENGINE": "ring"}, {"KERNEL": "off"}):
            with self.subTest(settings):
                stacks = self.profile("0.5", where="-".join(settings), FREQ=499, **settings).result().stacks()
                self.assertFalse(any(is_kernel(frames[-1]) for frames, _ in stacks), stacks)
                self.assertTrue(any("[kernel, not permitted]" in frames for frames, _ in stacks), stacks)

    def test_without_a_timer_the_ring_goes_on_and_it_is_said(self):
        """RLIMIT_SIGPENDING counts timers (timer_create(2))."""
        directory = self.fresh_directory("limit")
        os.chmod(directory, 0o777)
        env = profiled(FREQ=499, FORMAT="folded,json")
        del env["LD_PRELOAD"]
        ran = run([*self.user, "prlimit", "--sigpending=0", "env", f"LD_PRELOAD={LIBRARY}", target("calls"), "1"],
                  directory, env)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        result = ran.result()
        self.assertTrue(any(frames[-1] == "user_work" for frames, _ in result.stacks()))
        self.assertTrue(any("[kernel, not permitted]" in frames for frames, _ in result.stacks()))
        self.assertIn("ulimit -i", ran.stderr + result.path("json").read_text())

    def test_lines_are_short(self):
        """Of what is known from the start nothing is said again with what comes to it, as with threads that block signals."""
        directory = self.fresh_directory("short")
        os.chmod(directory, 0o777)
        env = profiled(FREQ=997, LOG="stderr")
        del env["LD_PRELOAD"]
        ran = run([*self.user, "env", f"LD_PRELOAD={LIBRARY}", host("blocked_signals")], directory, env)
        lines = [line for line in ran.stderr.splitlines() if "flameprobe: wrote" not in line]
        self.assertTrue(any("could not be sampled while blocking the signal" in line for line in lines), lines)
        self.assertLessEqual(max(map(len, lines)), 100, lines)

    def test_doctor_says_so(self):
        ran = run([*self.user, COMMAND, "doctor"], self.directory)
        self.assertIn("user time by perf rings, kernel time by CPU timers", ran.stdout)


class Events(AsOrdinaryUser):
    """What happens in the kernel opens for an ordinary user, and never counts."""

    def test_what_cannot_count_is_refused_with_what_would_help(self):
        level = Path("/proc/sys/kernel/perf_event_paranoid").read_text().strip()
        for event in ("context-switches", "cpu-migrations"):
            with self.subTest(event=event):
                why = (f"{event} happen in the kernel, which may not be sampled while kernel.perf_event_paranoid is {level}: 1 is "
                       "needed (sysctl kernel.perf_event_paranoid=1)")
                ran = self.profile("0.3", where=event, EVENT=event, FREQ=499, FORMAT="json")
                self.assertIn(f"FLAMEPROBE_EVENT={event} cannot be sampled: {why}; it is cpu-clock that is sampled", ran.stderr)
                told = json.loads(ran.result().path("json").read_text())
                self.assertEqual(told["sampling"]["event"], "cpu-clock")
                self.assertGreater(told["samples"]["taken"], 0)
                done = run([*self.user, COMMAND, "run", "--event", event, "--", "touch", "started"], self.directory / event)
                self.assertEqual((done.returncode, done.stderr), (2, f"flameprobe: --event: {why}\n"))
                self.assertFalse((self.directory / event / "started").exists())

    def test_every_event_counts_or_is_refused(self):
        """No event leads to an empty profile without a message."""
        listed = run([*self.user, COMMAND, "run", "--event", "lightning", "--", "true"], self.directory).stderr
        events = re.search(r"on one axis of time\), ([\w, -]+)", listed).group(1).split(", ")
        self.assertIn("page-faults", events)
        for event in events:
            if event in ("offcpu", "wall", "cpu", "alloc", "heap", "tasks"):  # test_allocations and test_tasks have the last three
                continue
            with self.subTest(event=event):
                ran = self.profile("0.1", "faults", where=f"every-{event}", EVENT=event, FREQ=499, FORMAT="json")
                told = json.loads(ran.result().path("json").read_text())
                self.assertGreater(told["samples"]["taken"], 0)
                done = run([*self.user, COMMAND, "run", "--event", event, "--", "true"], self.directory / f"every-{event}")
                if told["sampling"]["event"] == event:
                    self.assertEqual((done.returncode, ran.stderr), (0, ""), done.stderr)
                else:
                    self.assertRegex(ran.stderr, f"FLAMEPROBE_EVENT={event} cannot be sampled: .*; it is cpu-clock that is sampled")
                    self.assertEqual(done.returncode, 2, done.stderr)
                    self.assertRegex(done.stderr, r"^flameprobe: --event: .*(cpu-clock|perf_event_paranoid=1)")

    def test_page_faults_count(self):
        for event in ("page-faults", "minor-faults"):
            with self.subTest(event=event):
                ran = self.profile("0.3", "faults", where=event, EVENT=event, FORMAT="json")
                self.assertNotIn("cannot be sampled", ran.stderr)
                told = json.loads(ran.result().path("json").read_text())
                self.assertEqual(told["sampling"]["event"], event)
                self.assertGreater(told["samples"]["taken"], 50)


if __name__ == "__main__":
    unittest.main()
