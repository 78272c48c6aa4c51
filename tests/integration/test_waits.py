"""Where threads wait: tests/targets/waits measures each of its waits itself, and what FlameProbe says must agree."""

import json
import math
import re
import shutil
import sys
import tempfile
import unittest
from collections import defaultdict
from pathlib import Path

import pprof_rules
from harness import (COMMAND, Case, named, ordinary_user, profiled, read_folded, render, run, sized, target,
                     without_holder)

SECONDS = sized(2, 10)
WAITS = {"wait_nanosleep": "clock_nanosleep", "wait_briefly": "clock_nanosleep", "wait_poll": "poll", "wait_epoll": "epoll_wait",
         "wait_read": "read", "wait_mutex": "futex", "wait_condition": "futex", "wait_join": "futex"}

# What libc calls for them where the kernel has no others (aarch64).
NEWER = {"poll": "ppoll", "epoll_wait": "epoll_pwait"}

# A thread may also wait in a page fault, as when others map memory.
NO_CALL = {"[preempted]", "[not in a system call]"}


def said_by(stdout):
    """{thread: {what: seconds}}"""
    said = defaultdict(dict)
    for line in stdout.splitlines():
        thread, what, ns = line.split()
        said[thread][what] = int(ns) / 1e9
    return said


def told_by(stacks):
    """({thread: {wait: seconds}}, {thread: seconds}) of folded stacks in microseconds."""
    told, all_of = defaultdict(lambda: defaultdict(float)), defaultdict(float)
    for frames, microseconds in stacks:
        all_of[frames[0]] += microseconds / 1e6
        for wait in WAITS:
            # A thread may also be preempted in the function that waits.
            if named(frames, wait) and frames[-1] != "[preempted]":
                told[frames[0]][wait] += microseconds / 1e6
    return told, all_of


def in_run_queues(of):
    """The seconds that a thread says it waited for a CPU after its waits."""
    return sum(seconds for what, seconds in of.items() if what.startswith("late_"))


def without_delay(said):
    """{(thread, wait): seconds}: without the time in run queues, which is told as [preempted]."""
    return {(thread, wait): of[wait] - of["late" + wait[4:]] for thread, of in said.items() for wait in WAITS if wait in of}


class Waits(Case):
    one_run = None

    def usual(self):
        """One run with every output, for all tests that need nothing else."""
        if Waits.one_run is None:
            directory = Path(tempfile.mkdtemp(prefix="flameprobe-waits-"))
            self.addClassCleanup(shutil.rmtree, directory)
            Waits.one_run = self.waits(directory, FORMAT="folded,svg,html,pprof,speedscope,firefox,json")
        return Waits.one_run

    @staticmethod
    def waits(directory, program="waits", before=(), **settings):
        directory.chmod(0o777)
        ran = run([*before, target(program), SECONDS], directory, profiled(EVENT="cpu,offcpu", **settings))
        assert ran.returncode == 0, ran.stderr
        result = ran.result(program)
        stacks = read_folded(result.path("offcpu.folded").read_text())
        return said_by(ran.stdout), [(without_holder(frames), count) for frames, count in stacks], result

    def check_shares(self, waits, program="waits"):
        said, stacks, result = waits
        told, all_of = told_by(stacks)
        told["waits"] = told.pop(program[:15], told["waits"])  # comm, and the name of the main thread
        blocked = without_delay(said)
        all_told, all_said = sum(sum(of.values()) for of in told.values()), sum(blocked.values())
        # Of each thread's waits some hundreds are looked at, on a busy machine less: their shares, not their sum, are a sample,
        # whose distance is about 1.1 / sqrt(n), give or take 0.3.
        read = json.loads(result.path("json").read_text())["counters"]["off-CPU: waits with a stack"]
        distance = sum(abs(seconds / all_said - told[thread][wait] / all_told) for (thread, wait), seconds in blocked.items()) / 2
        # Of the time in run queues it is known only for some hundred switches at a time which of the waits it lengthened.
        late = 1 - all_said / sum(of[wait] for of in said.values() for wait in WAITS if wait in of)
        self.assertLess(distance, 0.02 + 0.25 * late + 2.6 / math.sqrt(read), (read, said, told))
        for frames, _ in stacks:
            for wait, call in WAITS.items():
                if named(frames, wait) and frames[-1] not in NO_CALL:
                    self.assertIn(frames[-1], (call, NEWER.get(call)), frames)
        truncated = sum(count for frames, count in stacks if "[truncated]" in frames)
        self.assertLess(truncated, 0.01 * sum(count for _, count in stacks))
        return said, all_of

    def test_each_wait_is_where_the_program_says(self):
        self.check_shares(self.usual())

    def test_with_frame_pointers(self):
        program = "waits-with-records"
        self.check_shares(self.waits(self.directory, program, FORMAT="folded,json"), program)

    def test_of_an_ordinary_user(self):
        self.check_shares(self.waits(self.directory, before=ordinary_user(self), FORMAT="folded,json"))

    def test_waiting_preempted_and_running_is_the_threads_life(self):
        said, stacks, _ = self.usual()
        _, off = told_by(stacks)
        for thread, of in said.items():
            if thread == "waits":
                continue  # its life began before sampling
            # What it waits for its CPU before it first reads its clock, and after the last time, is in no life that it tells.
            late = in_run_queues(of)
            self.assertAlmostEqual((off[thread] + of["cpu"]) / of["life"], 1, delta=0.03 + 0.25 * late / of["life"], msg=thread)

    def test_every_output_has_both(self):
        """The same sum everywhere: folded text, pprof, speedscope, Firefox, JSON, and the tables of flameprobe-render."""
        _, stacks, result = self.usual()
        microseconds = sum(count for _, count in stacks)
        pprof = pprof_rules.read(result.path("pb.gz"))
        self.assertEqual([kind for kind, _ in pprof.types], ["samples", "cpu", "offcpu"])
        nanoseconds = pprof.total("offcpu")
        self.assertAlmostEqual(nanoseconds / 1000, microseconds, delta=len(stacks))
        summary = json.loads(result.path("json").read_text())
        self.assertEqual(summary["other_events"][0]["stack_ns"], nanoseconds)
        scopes = json.loads(result.path("speedscope.json").read_text())["profiles"]
        self.assertEqual(sum(p["endValue"] for p in scopes if p["name"].endswith(", offcpu")), nanoseconds)
        firefox = json.loads(result.path("firefox.json").read_text())["threads"]
        self.assertAlmostEqual(sum(sum(t["samples"]["weight"]) for t in firefox if t["name"].endswith(", offcpu")) * 1e6,
                               nanoseconds, delta=1000)
        self.assertIn('id="profile-offcpu"', result.path("html").read_text())
        self.assertTrue(result.path("offcpu.svg").exists())
        top = render("--event", "offcpu", "--top", "40", result.path("fprobe"))
        self.assertIn("futex", top.stdout)
        for frames, _ in read_folded(result.path("folded").read_text()):
            self.assertNotEqual(frames[-1], "futex")  # the others are functions of libc as well
        wall = read_folded(render("--event", "wall", "--format", "folded", "-o", "-", result.path("fprobe")).stdout)
        self.assertGreater(sum(count for _, count in wall), microseconds)
        refused = render("--event", "cycles", "--top", "5", result.path("fprobe"))
        self.assertEqual((refused.returncode, refused.stdout), (1, ""))
        self.assertIn("cpu, offcpu, wall", refused.stderr)
        itself = result.path("fprobe")
        self.assertEqual(render("--diff", "--event", "offcpu", "--fail-above", "1", itself, itself, "--top", "5").returncode, 0)

    def test_without_perf_looks_alone_tell(self):
        report = self.directory / "report"
        said, stacks, result = self.waits(self.directory, before=[target("inject"), "perf_event_open", "1+", "EPERM", "--report", report, "--"],
                                          LOG=self.directory / "log", FORMAT="folded,json", CHILDREN="separate")  # not inject
        self.assertIn("from regular looks at them", (self.directory / "log").read_text())
        told, _ = told_by(stacks)
        told["waits"] = told.pop("waits", told["waits"])
        # The program counts its time in run queues as waiting.
        late = sum(in_run_queues(of) for of in said.values())
        preempted = sum(count for frames, count in stacks if frames[-1] == "[preempted]") / 1e6
        self.assertGreater(preempted, 0.9 * late - 0.1)
        blocked = without_delay(said)
        all_said, all_told = sum(blocked.values()), sum(sum(of.values()) for of in told.values())
        self.assertAlmostEqual(all_told / all_said, 1, delta=0.1)  # threads are found a tenth of a second after their birth
        distance = sum(abs(seconds / all_said - told[thread][wait] / all_told) for (thread, wait), seconds in blocked.items()) / 2
        looks = json.loads(result.path("json").read_text())["counters"]["off-CPU: looks at threads"]
        self.assertLess(distance, 0.05 + 5 / math.sqrt(looks), (looks, said, told))
        for frames, _ in stacks:
            for wait, call in WAITS.items():
                if named(frames, wait) and frames[-1] not in NO_CALL:
                    self.assertEqual(frames[-1], call, frames)
        self.assertEqual({of["waits"] for of in json.loads(result.path("json").read_text())["blocked"]}, {None})

    def test_threads_that_never_woke_are_hidden(self):
        ran = run([target("waits"), 1, "idle"], self.directory, profiled(EVENT="offcpu"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        profile = next(self.directory.glob("*.fprobe"))
        def seconds(*options):
            text = render("--format", "folded", "-o", "-", *options, profile).stdout
            return sum(count for _, count in read_folded(text)) / 1e6
        self.assertGreater(seconds("--idle"), seconds() + 0.5)  # of four threads; a new one may have had to wait for a lock
        self.assertGreater(seconds(), 0.5)
        # What is hidden is told with its time, also in the picture.
        told = re.search(r"(?m)^Hidden: +([0-9.]+) s of threads", render("--info", profile).stdout)
        self.assertAlmostEqual(float(told[1]), seconds("--idle") - seconds(), delta=0.011)
        self.assertNotIn("Hidden:", render("--info", "--idle", profile).stdout)
        self.assertIn("of threads that waited all the time", profile.with_suffix(".svg").read_text())

    def test_a_process_that_may_not_be_read_says_so(self):
        """An undumpable process of an ordinary user: /proc/PID/task/TID/syscall belongs to root."""
        user = ordinary_user(self)
        self.directory.chmod(0o777)
        script = "import ctypes, threading, time; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); " \
                 "threads = [threading.Thread(target=time.sleep, args=(.5,)) for _ in range(3)]; [t.start() for t in threads]"
        ran = run([*user, "/usr/bin/python3", "-c", script], self.directory,
                  profiled(EVENT="cpu,offcpu", LOG="stderr"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(ran.stderr.count("where some threads wait is not known: "), 1, ran.stderr)
        self.assertIn("not dumpable", ran.stderr)

    def test_a_storm_of_switches_is_not_recorded(self):
        log = self.directory / "log"
        ran = run([target("waits"), SECONDS, "storm"], self.directory, profiled(EVENT="offcpu", LOG=log))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        if int(ran.stdout.split("storm switches ")[1].split()[0]) < 200_000 * SECONDS:
            self.skipTest("this machine is too slow or too busy for a storm")
        self.assertEqual(log.read_text().count("from regular looks at them"), 1)
        result = ran.result("waits")
        self.assertIn("threads leave their CPUs more than 50,000 times a second", result.path("svg").read_text())
        # A wait of a microsecond may be over before it is read.
        leaves = {frames[-1] for frames, _ in read_folded(result.path("folded").read_text())}
        self.assertTrue(leaves & {"read", "[wait not sampled]", "[preempted]"}, leaves)

    def test_doctor_says_how_waits_are_measured(self):
        told = run([COMMAND, "doctor"], self.directory).stdout
        self.assertRegex(told, r"waiting +exact, by the kernel's switch records")
        told = run([target("inject"), "perf_event_open", "1+", "EPERM", "--report", self.directory / "report", "--", COMMAND,
                    "doctor"], self.directory).stdout
        self.assertRegex(told, r"waiting +by looks at blocked threads alone")

    def test_shorter_waits_are_hidden(self):
        _, stacks, result = self.waits(self.directory, OFFCPU_MIN="100s", FORMAT="folded,json")
        self.assertEqual({frames[-1] for frames, _ in stacks} - {"[preempted]", "[lost]"}, set())
        self.assertGreater(json.loads(result.path("json").read_text())["counters"]["off-CPU: shorter waits, hidden"], 100)

    def test_the_cpus_picture_holds_no_wait(self):
        _, stacks, result = self.usual()
        for frames, _ in read_folded(result.path("folded").read_text()):
            self.assertNotIn("[preempted]", frames)
        self.check_calls(stacks, result)

    def check_calls(self, stacks, result):
        """Waiting time by system call is the sum of the stacks that end in it; pictures tell it in their facts."""
        summary = json.loads(result.path("json").read_text())
        calls = {of["call"]: of for of in summary["blocked"]}
        self.assertLessEqual(set(WAITS.values()), set(calls))
        for call, of in calls.items():
            microseconds = sum(count for frames, count in stacks if frames[-1] == call)
            self.assertAlmostEqual(of["ns"] / 1000, microseconds, delta=len(stacks), msg=call)
            self.assertLessEqual(sum(of["kernel_ns"].values()), of["ns"])
            if of["kernel_ns"] and call == "clock_nanosleep":
                self.assertTrue(all("sleep" in channel for channel in of["kernel_ns"]), of)
        self.assertAlmostEqual(sum(of["waits"] or 0 for of in calls.values()), summary["counters"]["off-CPU: waits"], delta=len(calls))
        self.assertGreater(summary["counters"]["page faults, minor"], 0)
        self.assertGreater(summary["counters"]["peak memory, bytes"], 1 << 20)
        self.assertRegex(result.path("svg").read_text(), r"minor page faults, .* peak memory, .* context switches to wait")
        for ending in ("svg", "offcpu.svg", "html"):
            self.assertRegex(result.path(ending).read_text(), r"clock_nanosleep [0-9.]+ (s|ms) in about [0-9,]+ waits", ending)


if __name__ == "__main__":
    unittest.main()
