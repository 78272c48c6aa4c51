"""What async tasks wait for, seen from outside: `flameprobe attach -e tasks`, on tokio programs of known truth."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path

from harness import BUILD, COMMAND, ROOT, Case, clean_environment, profiled, read_folded, run, sized, started, wait_until
from programs import REGISTRY, Missing, rust_tools

# In which words the leaf of each task of each_wait.rs says what it waits for.
WAITS = {
    "on_timer": "timer", "on_mutex": "Mutex", "on_rwlock": "RwLock", "on_oneshot": "oneshot", "on_receive": "mpsc receive",
    "on_send": "mpsc send", "on_join_handle": "JoinHandle of each_wait::middle", "on_read": "socket read", "on_accept": "accept",
    "on_notify": "Notify", "on_boxes": "timer", "on_service": "timer", "on_method": "Mutex", "on_timeout": "timer",
    "on_semaphore": "Semaphore", "on_watch": "watch", "on_blocking": "blocking pool", "on_interval": "timer",
}


# The same of async_smol.
SMOL_WAITS = {
    "middle": "timer", "on_accept": "accept", "on_barrier": "Barrier", "on_blocking": "blocking pool", "on_boxed": "timer",
    "on_datagram": "socket read", "on_mutex": "Mutex", "on_read": "socket read", "on_receive": "channel receive",
    "on_rwlock": "RwLock", "on_semaphore": "Semaphore", "on_send": "channel send", "on_task": "Task of each_wait_smol::middle",
    "on_timer": "timer", "on_write": "socket write",
}


def built(profile="release", source="async_tasks", needs="tokio-1."):
    """Once for each build directory, by the crates that Debian has; cargo itself sees that nothing has changed."""
    if not list(REGISTRY.glob(needs + "*")):
        raise unittest.SkipTest(f"no sources of {needs} under {REGISTRY}")
    try:
        environment = rust_tools("cargo", "rustc")
    except Missing as missing:
        raise unittest.SkipTest(f"no {missing}") from missing
    version = subprocess.run(["rustc", "--version"], env=environment, capture_output=True, text=True, timeout=60).stdout
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < (1, 67):
        raise unittest.SkipTest(f"futures of {version.strip()} lie in GenFuture, whose layout is not read: Rust 1.67 is needed")
    place = BUILD / "tests" / "targets" / source.replace("_", "-")
    shutil.copytree(ROOT / "tests" / "targets" / source, place / "source", dirs_exist_ok=True)
    done = subprocess.run(["cargo", "build", "--profile", profile, "--offline", "--manifest-path", place / "source" / "Cargo.toml",
                           "--target-dir", place, "--config", 'source.crates-io.replace-with="debian"',
                           "--config", f'source.debian.directory="{REGISTRY}"'],
                          env=dict(environment, CARGO_HOME=str(place / "home")), capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise AssertionError(f"cargo failed: {done.stderr[-2000:]}")
    return place / {"dev": "debug"}.get(profile, profile)


class Tasks(Case):
    def attach(self, pid, *options, out="out", duration="2s"):
        done = run([COMMAND, "attach", "-d", duration, "-o", out, *options, pid], self.directory, env=clean_environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def stacks(self, name="out"):
        return [(frames[1:], count) for frames, count in read_folded((self.directory / f"{name}.folded").read_text())]

    def of_task(self, stacks, task):
        found = [(frames, count) for frames, count in stacks if frames and frames[0].removesuffix("_[i]") == task]
        self.assertTrue(found, f"no task {task} in {sorted({frames[0] for frames, _ in stacks})}")
        return found

    def started(self, program, *arguments):
        # As a user types it: by a path that is not the kernel's.
        process = started([os.path.relpath(program, self.directory), *arguments], self.directory, clean_environment(), stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE)
        host = process.__enter__()
        self.addCleanup(process.__exit__, None, None, None)
        self.assertEqual(host.stdout.readline(), "ready\n")
        return host

    def test_each_wait(self):
        host = self.started(built() / "each_wait")
        self.attach(host.pid, "-e", "tasks")
        stacks = self.stacks()
        for task, words in WAITS.items():
            with self.subTest(task):
                chains = self.of_task(stacks, f"each_wait::{task}")
                self.assertEqual({frames[-1] for frames, _ in chains}, {words}, chains)
                self.assertEqual(len(chains), 1, chains)
        for frames, _ in stacks:
            self.assertFalse([frame for frame in frames if "{closure" in frame or "{impl" in frame or "_env#" in frame], frames)
            self.assertNotIn("[not known]", frames)
        (select, joined) = (self.of_task(stacks, f"each_wait::{task}") for task in ("on_select", "on_join"))
        self.assertEqual({frames[1] for frames, _ in select}, {"select of_3"}, select)
        self.assertEqual({frames[-1] for frames, _ in select}, {"timer", "mpsc receive", "Notify"})
        self.assertEqual({frames[1] for frames, _ in joined}, {"join of_3"}, joined)
        self.assertIn(["each_wait::on_timer", "each_wait::middle", "each_wait::inner"], [frames[:3] for frames, _ in stacks])
        self.assertIn("each_wait::Cache::get", self.of_task(stacks, "each_wait::on_method")[0][0])
        # All tasks wait all the time, so each has as much of it as any other.
        sums = {frames[0]: 0 for frames, _ in stacks}
        for frames, count in stacks:
            sums[frames[0]] += count
        self.assertLess(max(sums[f"each_wait::{task}"] for task in WAITS), 1.02 * min(sums[f"each_wait::{task}"] for task in WAITS))
        self.assertEqual(host.poll(), None)

    def test_each_wait_of_smol(self):
        """On two executors, each with its own tasks; what a thread of the blocking pool runs is no task of theirs."""
        host = self.started(built("dev", "async_smol", "async-executor-1.") / "each_wait_smol")
        self.attach(host.pid, "-e", "tasks")
        stacks = self.stacks()
        for task, words in SMOL_WAITS.items():
            with self.subTest(task):
                chains = self.of_task(stacks, f"each_wait_smol::{task}")
                self.assertEqual({frames[-1] for frames, _ in chains}, {words}, chains)
                self.assertEqual(len(chains), 1, chains)
        self.assertEqual(self.of_task(stacks, "each_wait_smol::on_timer")[0][0][1:4],
                         ["each_wait_smol::middle", "each_wait_smol::inner", "async_io::Timer"])
        race = self.of_task(stacks, "each_wait_smol::on_race")
        self.assertEqual({tuple(frames[1:3]) for frames, _ in race},
                         {("select of_2", "each_wait_smol::middle"), ("select of_2", "each_wait_smol::on_boxed")})
        relays = {frames[-1]: count for frames, count in self.of_task(stacks, "each_wait_smol::relay")}
        self.assertGreater(min(relays["timer"], relays["channel receive"]), 0.8 * 2e6, relays)
        tasks = {frames[0] for frames, _ in stacks}
        self.assertEqual(tasks, {f"each_wait_smol::{task}" for task in [*SMOL_WAITS, "on_race", "relay"]})

    def test_kinds_of_runtimes(self):
        for kind, tasks in (("local", {"of_local": 5}), ("current", {"of_current": 5})):
            with self.subTest(kind):
                self.attach(self.started(built() / "kinds", kind).pid, "-e", "tasks", duration="1s")
                seen = {frames[0]: count / 1e6 for frames, count in self.stacks() if frames[-1] == "timer"}
                self.assertEqual(set(seen), {f"kinds::{task}" for task in tasks})
                self.assertAlmostEqual(seen[f"kinds::of_{kind}"], 5, delta=1.5)

    def test_a_runtime_that_comes_later(self):
        host = self.started(built() / "kinds", "several")
        recorder = subprocess.Popen([COMMAND, "attach", "-e", "tasks", "-d", "8s", "-o", "out", str(host.pid)], cwd=self.directory,
                                    env=clean_environment(FLAMEPROBE_LOG="stderr"), stderr=subprocess.PIPE, text=True)
        while "attached to process" not in recorder.stderr.readline():
            self.assertIsNone(recorder.poll())
        host.stdin.write("\n")
        host.stdin.flush()
        recorder.communicate(timeout=60)
        seen = {frames[0]: count for frames, count in self.stacks()}
        self.assertEqual(set(seen), {"kinds::of_current", "kinds::of_second", "kinds::of_later"})

    def test_without_layouts(self):
        host = self.started(built("lines") / "each_wait")
        self.attach(host.pid, "-e", "tasks", duration="1s")
        self.assertEqual({frames[-1] for frames, _ in self.stacks()}, {"[no layout: build with debug = true]"})

    def test_beside_cpu(self):
        host = self.started(built() / "known_waits")
        self.attach(host.pid, "-e", "cpu,tasks")
        self.assertTrue((self.directory / "out.tasks.folded").exists())
        self.of_task(self.stacks("out.tasks"), "known_waits::handle_requests")

    def test_against_the_programs_account(self):
        seconds = sized(6, 20)
        host = self.started(built() / "known_waits")

        def account():
            host.stdin.write("\n")
            host.stdin.flush()
            return json.loads(host.stdout.readline())

        recorder = subprocess.Popen([COMMAND, "attach", "-e", "tasks", "-o", "out", str(host.pid)], cwd=self.directory,
                                    env=clean_environment(FLAMEPROBE_LOG="stderr"), stderr=subprocess.PIPE, text=True)
        line = recorder.stderr.readline()
        while "attached to process" not in line:
            self.assertTrue(line, "attach has ended")
            line = recorder.stderr.readline()
        before = account()
        try:
            recorder.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
        after = account()
        recorder.send_signal(signal.SIGINT)
        recorder.communicate(timeout=60)
        self.assertEqual(recorder.returncode, 0)
        true = {kind: after[kind] - before[kind] for kind in after}
        seen = dict.fromkeys(true, 0)
        for frames, count in self.of_task(self.stacks(), "known_waits::handle_requests"):
            self.assertNotIn("[not known]", frames)
            called = [frame.rsplit("::", 1)[-1] for frame in frames]
            kind = ("cpu" if frames[-1] == "[on a worker]" else "query" if "query" in called else "cart" if "load_cart" in called
                    else "reply" if "ask" in called else "lock" if frames[-1] == "Mutex" else "hold" if "update" in called else "cpu")
            if "[woken, waits for a worker]" in frames and "update" in called:
                kind = "lock" if any("mutex" in frame for frame in frames) else "hold"
            seen[kind] += count
        total, all_seen = sum(true.values()), sum(seen.values())
        distance = sum(abs(true[kind] / total - seen[kind] / all_seen) for kind in true) / 2
        self.assertLess(distance, 0.02 if seconds < 20 else 0.01, f"{true} {seen}")
        # Folded text counts microseconds. Time before the runtime was found is not in it, which may be long beside others.
        self.assertLess(all_seen * 1000 / total, 1.1)

    def test_a_crowd(self):
        """Of very many tasks each is seen, those that are born and end meanwhile by their time, and none between two states."""
        seconds = sized(6, 15)
        host = self.started(built() / "crowd", 5_000, 2)

        def lived():
            host.stdin.write("\n")
            host.stdin.flush()
            return json.loads(host.stdout.readline())["brief"]

        before, begun = lived(), time.monotonic()
        self.attach(host.pid, "-e", "tasks", duration=f"{seconds}s")
        of_briefs, passed = lived() - before, time.monotonic() - begun
        stacks, sums = self.stacks(), {}
        for frames, count in stacks:
            sums[frames[0]] = sums.get(frames[0], 0) + count
        # The two that hand words to and fro may change five times while they are read.
        unknown = sum(count for frames, count in stacks if frames[-1] == "[not known]")
        self.assertLess(unknown, 0.001 * sum(sums.values()))
        self.assertEqual({frames[-1] for frames, _ in self.of_task(stacks, "crowd::by_timer")}, {"timer"})
        self.assertEqual({frames[-1] for frames, _ in self.of_task(stacks, "crowd::by_notify")}, {"Notify"})
        self.assertAlmostEqual(sums["crowd::by_timer"] / sums["crowd::by_notify"], 7 / 3, delta=0.01)
        seen = sums["crowd::by_timer"] / 3_500 / 1e6
        self.assertTrue(seconds * 0.9 < seen < passed, f"{seen} s of {seconds} to {passed} s")
        self.assertAlmostEqual(sums["crowd::brief"] / 1e6 / seen / (of_briefs / 1e9 / passed), 1, delta=0.45)
        # Of the two that hand words to and fro each chain is one that the program has.
        ends = {"left": "mpsc receive", "right": "Notify"}
        for frames, _ in self.of_task(stacks, "crowd::restless"):
            if frames[-1] not in ("[on a worker]", "[woken, waits for a worker]", "[not known]"):
                self.assertEqual(ends[frames[1].removeprefix("crowd::")], frames[-1], frames)
                self.assertEqual(frames[2], "crowd::inner_" + frames[1].removeprefix("crowd::"), frames)

    def test_from_the_start(self):
        program = built() / "each_wait"
        done = run(["timeout", "-s", "INT", "4", COMMAND, "run", "-e", "tasks", "-o", "out", "--", program], self.directory,
                   env=clean_environment())
        self.assertTrue((self.directory / "out.folded").exists(), done.stderr)
        self.of_task(self.stacks(), "each_wait::on_mutex")

    def test_preloaded(self):
        ran = run(["sleep", "0.1"], self.directory, profiled(EVENT="tasks", LOG="stderr"))
        self.assertEqual(ran.returncode, 0)
        self.assertIn("tasks are not sampled: they are seen from outside of the process only", ran.stderr)

    def test_no_tasks(self):
        with started(["python3", "-c", "while True: pass"], self.directory, clean_environment()) as process:
            stat = Path(f"/proc/{process.pid}/stat")  # one that has just begun may have tasks later
            wait_until(lambda: int(stat.read_text().rsplit(")", 1)[1].split()[11]) >= 5, what="it used CPU time")
            done = run([COMMAND, "attach", "-e", "tasks", "-d", "1s", process.pid], self.directory, env=clean_environment())
            self.assertIn("has no async tasks", done.stderr)
            self.assertEqual(done.returncode, 1)
