"""Who holds the lock that a thread waits for: tests/targets/holders has pairs of threads that can only wait for each other."""

import base64
import json
import os
import re
import signal
import subprocess
import urllib.request
import zlib
from collections import defaultdict

from harness import COMMAND, Case, clean_environment, named, ordinary_user, profiled, read_folded, render, run, sized, started, target, wait_until, without_holder

SECONDS = sized(1, 30)
KINDS = ["catalog", "cpu", "timed", "reader", "writer", "recursive", "checking", "adaptive", "robust", "priority"]
HELD = re.compile(r"\[held by (.*)\]")
SAMPLED = "[its CPU sample nearest in time]"


def holders(frames):
    """The threads that are named, the first one's holder first."""
    return [found[1] for frame in frames if (found := HELD.fullmatch(frame))]


def stack_after(frames, name):
    """The frames of the holder `name`, up to whom it waits for itself."""
    after = frames[frames.index(f"[held by {name}]") + 1:]
    end = next((at for at, frame in enumerate(after) if HELD.fullmatch(frame)), len(after))
    return after[:end]


class Locks(Case):
    def folded(self, before=(), **settings):
        self.directory.chmod(0o777)
        ran = run([*before, target("holders"), SECONDS], self.directory,
                  profiled(EVENT="cpu,offcpu", OFFCPU_FREQ=499, FREQ=499, FORMAT="folded,svg,html,json", **settings))
        self.assertEqual((ran.returncode, ran.stdout), (0, "over\n"), ran.stderr)
        self.assertNotIn("deadlock", ran.stderr)
        result = ran.result("holders")
        return read_folded(result.path("offcpu.folded").read_text()), result

    def check(self, stacks):
        """0 wrong: whoever is named can only be the other one of the pair, and has the lock. Gives what is not seen."""
        found, waited = defaultdict(int), defaultdict(int)
        for frames, microseconds in stacks:
            thread, names = frames[0], holders(frames)
            kind = thread[2:]
            if thread.startswith("n-"):
                self.assertEqual(names, [], frames)
            if kind in KINDS:
                self.assertIn(names, ([], [("w-" if thread[0] == "h" else "h-") + kind]), frames)
            if thread.startswith("w-") and "futex" in frames:
                waited[kind] += microseconds
                found[kind] += microseconds if names else 0
            if names and not SAMPLED in frames and frames[-1][0] != "[":
                self.assertTrue(frames[-1].endswith("_[w]"), frames)
        # Records of a busy thread may be lost; and where few waits are looked at, it is chance how long these were.
        named = sum(found[kind] > 0 for kind in KINDS)
        return [] if named >= len(KINDS) - 3 and sum(found.values()) > 0.3 * sum(waited.values()) else [(dict(found), dict(waited))]

    def until_seen(self, profile, more=lambda stacks: []):
        """On a busy machine it is chance how many waits are looked at: profiles again where something is not seen, and each
        time nobody may be named who does not hold the lock."""
        for attempt in range(5):
            self.directory = self.fresh_directory(f"run-{attempt}")
            stacks, result = profile()
            missing = self.check(stacks) + more(stacks)
            if not missing:
                return stacks, result
        self.fail(missing)

    def missing(self, stacks):
        """What holders do, as far as it is not told."""
        blocked = sum(count for frames, count in stacks if frames[0] == "w-catalog" and "[held by h-catalog]" in frames
                      and any("restock" in frame and frame.endswith("_[w]") for frame in stack_after(frames, "h-catalog")))
        computes = [frames for frames, _ in stacks if frames[0] == "w-cpu" and "[held by h-cpu]" in frames and SAMPLED in frames]
        inside = any("compute_inside" in frame for frames in computes for frame in stack_after(frames, "h-cpu"))
        chains = {tuple(holders(frames)) for frames, _ in stacks if frames[0] == "c-1"}
        seen = {"a holder that waits": blocked > 0, "a holder that computes": inside, "a chain": ("c-2", "c-3", "c-4") in chains}
        return [what for what, is_seen in seen.items() if not is_seen]

    def test_root(self):
        stacks, result = self.until_seen(self.folded, self.missing)
        self.check_table(stacks, result)

    def check_table(self, stacks, result):
        """The same in every output, and the lock's name where a variable has it."""
        locks = {row["lock"]: row for row in json.loads(result.path("json").read_text())["locks"]}
        row = locks["shop::Catalog::mutex_"]
        told = sum(count for frames, count in stacks if frames[0][2:] == "catalog" and holders(frames))
        self.assertAlmostEqual(row["waited_ns"] / 1000, told, delta=0.001 * told + len(stacks))
        self.assertEqual(sum(holder["ns"] for holder in row["holders"]), row["waited_ns"])
        self.assertEqual(row["holders"][0]["thread"], "h-catalog")
        self.assertGreater(row["longest_ns"], 1_000_000)
        self.assertGreater(row["waits"], 0)
        self.assertIn("<tr><td>shop::Catalog::mutex_</td>", result.path("html").read_text())
        self.assertIn("shop::prices", locks)
        self.assertNotIn("", locks)
        for text in (render("--info", result.path("fprobe")).stdout, result.path("html").read_text(),
                     result.path("offcpu.svg").read_text()):
            # The longest waited for come first.
            self.assertRegex(text, re.escape(next(iter(locks)).replace("()", "")) + r" [0-9.]+ m?s in about [0-9,]+ waits?, the longest")
        # Text that was written is read again as it was.
        again = render(result.path("offcpu.folded"), "-o", "-", "--format", "folded")
        self.assertEqual(sorted(again.stdout.splitlines()), sorted(result.path("offcpu.folded").read_text().splitlines()))

    def test_ordinary_user(self):
        self.directory.chmod(0o755)
        user = ordinary_user(self)
        self.until_seen(lambda: self.folded(before=user), self.missing)

    def test_without_switch_records(self):
        self.until_seen(lambda: self.folded(ENGINE="timer"))

    def test_attached(self):
        self.need_engine("ring")
        with started([target("holders"), 600], self.directory, clean_environment()) as host:
            wait_until(lambda: len(os.listdir(f"/proc/{host.pid}/task")) > 25, what="its threads")

            def attached():
                ran = run([COMMAND, "attach", host.pid, "-d", f"{SECONDS}s", "-F", "499", "-e", "cpu,offcpu", "-o",
                           self.directory / "seen", "--format", "folded"], self.directory)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                return read_folded((self.directory / "seen.offcpu.folded").read_text()), None
            self.until_seen(attached)


RUST = '''use std::{sync::{Arc, Mutex, RwLock}, thread, time::{Duration, Instant}};
fn main() {
    let (mutex, rwlock, end) = (Arc::new(Mutex::new(0)), Arc::new(RwLock::new(0)), Instant::now() + Duration::from_secs(2));
    let rest = || thread::sleep(Duration::from_millis(3));
    let workers: Vec<_> = ["mutex", "mutex", "rwlock", "rwlock"].iter().map(|name| {
        let (mutex, rwlock) = (mutex.clone(), rwlock.clone());
        thread::Builder::new().name(name.to_string()).spawn(move || while Instant::now() < end {
            if *name == "mutex" { let _held = mutex.lock().unwrap(); rest(); }
            else { let _held = rwlock.write().unwrap(); rest(); }
        }).unwrap()
    }).collect();
    for worker in workers { worker.join().unwrap(); }
}
'''


class EachKind(Case):
    UNKNOWN = {"pshared", "rwlock_write", "shared_write", "semaphore", "condition", "std_condition"}

    def test_waits_and_holders(self):
        """Each kind of lock has about the waiting time that the program counts, and the holder that docs/waiting.md promises."""
        ran = run([target("truths"), "locks", sized(3, 30)], self.directory, profiled(EVENT="cpu,offcpu", OFFCPU_FREQ=499, FORMAT="folded"))
        stacks = read_folded(ran.result("truths").path("offcpu.folded").read_text())
        seen = {}
        for line in (line for line in ran.stdout.splitlines() if line.startswith("wait_")):
            kind, own = line.split()[0].removeprefix("wait_"), int(line.split()[1]) / 1000
            mine = [(frames, count) for frames, count in stacks if "[preempted]" not in frames and named(without_holder(frames)[1:], f"wait_{kind}")]
            with self.subTest(kind=kind):
                self.assertAlmostEqual(sum(count for _, count in mine), own, delta=0.4 * own)
                names = {name for frames, _ in mine for name in holders(frames)}
                self.assertLessEqual(names, set() if kind in self.UNKNOWN else {f"h-wait_{kind}"[:15]})
                seen[kind] = bool(names)
        known = set(seen) - self.UNKNOWN
        self.assertEqual(len(seen), 17)
        self.assertGreaterEqual(sum(seen[kind] for kind in known), len(known) - 2, seen)


class WithoutOwners(Case):
    def test_rust_locks_name_nobody(self):
        """Their words do not say who holds them: where threads wait for one is seen."""
        self.need("rustc")
        (self.directory / "waits.rs").write_text(RUST)
        built = subprocess.run(["rustc", "-O", "waits.rs"], cwd=self.directory, env=clean_environment(), capture_output=True, text=True, timeout=120)
        if built.returncode != 0:
            self.skipTest(f"rustc does not work: {built.stderr[-300:]}")
        ran = run([self.directory / "waits"], self.directory, profiled(EVENT="offcpu", FORMAT="folded,json"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        result = ran.result("waits")
        stacks = read_folded(result.path("folded").read_text())
        self.assertEqual({frames[0] for frames, _ in stacks if frames[-1] == "futex"} - {"waits"}, {"mutex", "rwlock"}, stacks)
        self.assertFalse([frames for frames, _ in stacks if holders(frames)])
        self.assertEqual(json.loads(result.path("json").read_text()).get("locks", []), [])


class Deadlocks(Case):
    def circle(self, count, **settings):
        ran = run([target("holders"), 2, "circle", count], self.directory,
                  profiled(EVENT="offcpu", FORMAT="folded,svg,html", **settings))
        self.assertEqual((ran.returncode, ran.stdout), (0, "over\n"), ran.stderr)
        return ran

    def deadlocked(self, ran):
        result = ran.result("holders")
        folded = result.path("offcpu.folded") if result.path("offcpu.folded").exists() else result.path("folded")
        return [frames for frames, _ in read_folded(folded.read_text()) if frames[-1] == "[deadlock]"]

    def test_two_and_three_threads_and_one(self):
        for count in (1, 2, 3):
            with self.subTest(threads=count):
                for path in self.directory.iterdir():
                    path.unlink()
                ran = self.circle(count)
                self.assertEqual(ran.stderr.count("deadlock: "), 1, ran.stderr)
                for at in range(1, count + 1):
                    self.assertRegex(ran.stderr, rf"d-{at} \(\d+\) waits for the lock at 0x[0-9a-f]+ that ")
                result, whole = ran.result("holders"), self.deadlocked(ran)
                self.assertEqual({frames[0] for frames in whole}, {f"d-{at}" for at in range(1, count + 1)})
                for frames in whole:
                    # Each names all, itself last.
                    self.assertEqual(len(holders(frames)), count)
                    self.assertEqual(holders(frames)[-1], frames[0])
                for ending in ("svg", "html"):
                    self.assertIn("deadlock: d-", result.path(ending).read_text())

    def test_more_threads_than_a_stack_shows(self):
        ran = self.circle(12)
        self.assertEqual(ran.stderr.count("deadlock: "), 1, ran.stderr)
        for at in range(1, 13):
            self.assertRegex(ran.stderr, rf"d-{at} \(\d+\) waits for the lock at 0x[0-9a-f]+ that d-{at % 12 + 1} \(\d+\) holds")
        whole = self.deadlocked(ran)
        self.assertEqual({frames[0] for frames in whole}, {f"d-{at}" for at in range(1, 13)})
        self.assertEqual({len(holders(frames)) for frames in whole}, {8})

    def test_it_is_said_while_all_threads_hang(self):
        """On stderr, which none of them writes to."""
        for settings in ({}, {"ENGINE": "timer"}):
            with self.subTest(**settings), started([target("holders"), 600, "circle", 2], self.directory,
                                                   profiled(EVENT="offcpu", FORMAT="none", **settings)) as host:
                log = self.directory / "holders.log"
                wait_until(lambda: len(re.findall(r" waits in ", log.read_text())) == 2, 60, "the stacks")
                self.assertEqual(log.read_text().count("deadlock: "), 1)
                self.assertIsNone(host.poll())

    def folded(self):
        # Not before there is something to write; a collector that outlives its host may have made the result of it.
        runs = [*self.directory.glob("*.run"), *self.directory.glob("*.fprobe")]
        return "" if not runs else render(runs[0], "--event", "offcpu", "-o", "-", "--format", "folded").stdout

    def test_a_program_without_cpu_time_has_its_pictures(self):
        """All of its samples are of waits."""
        ran = run([COMMAND, "run", "-e", "cpu,offcpu", "-F", "1", "-f", "html,svg", "-o", "out", "--", target("holders"), 2, "circle", 2],
                  self.directory, clean_environment())
        if (self.directory / "out.svg").exists():
            self.skipTest("one in a hundred times a sample of CPU time hits it")
        self.assertIn("deadlock", (self.directory / "out.offcpu.svg").read_text())
        self.assertIn("Off-CPU flame graph", (self.directory / "out.html").read_text())
        for name in ("out.html", "out.offcpu.svg"):
            self.assertIn(f"flameprobe: {name}\n", ran.stderr)
        self.assertNotIn("no samples", ran.stderr)

    def packed(self, text):
        return json.loads(zlib.decompress(base64.b64decode(text)))

    def check_names(self, facts):
        """Of a page's facts: both threads, what each waits for, and where."""
        names = facts["functions"]["name"] if isinstance(facts["functions"], dict) else facts["functions"]
        told = json.dumps(names)
        for name in ("d-1", "d-2", "[held by d-1]", "[held by d-2]", "[deadlock]", "pthread_mutex_lock", "take_for_ever"):
            self.assertIn(name, told)

    def test_all_that_shows_a_running_program_shows_both_stacks(self):
        """The log, top, live and the picture, of a program that has no sample of CPU time."""
        log = self.directory / "log"
        with started([target("holders"), 600, "circle", 2], self.directory,
                     profiled(EVENT="cpu,offcpu", FREQ=1, OUT="out", FORMAT="html,svg", LOG=log)) as host:
            wait_until(lambda: log.exists() and len(re.findall(r" waits in ", log.read_text())) == 2, what="the stacks in the log")
            for line in re.findall(r"d-\d \(\d+\) waits in .*", log.read_text()):
                self.assertRegex(line, r" waits in futex < .*pthread_mutex_lock < .*take_for_ever")
            wait_until(lambda: "[deadlock]" in self.folded(), what="the deadlock in the profile")
            if render(next(self.directory.glob("*.run")), "--event", "cpu", "-o", "-", "--format", "folded").returncode == 0:
                self.skipTest("one in a hundred times a sample of CPU time hits it")
            top = run([COMMAND, "top", "--once", host.pid], self.directory)
            self.assertIn(" of waiting, ", top.stdout.splitlines()[0])
            stacks = re.findall(r"(d-\d) \(\d+\) waits for the lock at \S+ that d-\d \(\d+\) holds\n((?: {10}(?!d-)\S.*\n)+)", top.stdout)
            self.assertEqual({name for name, _ in stacks}, {"d-1", "d-2"}, top.stdout)
            for _, stack in stacks:
                self.assertRegex(" ".join(stack.split()), r"^futex < .*pthread_mutex_lock < .*take_for_ever", top.stdout)
            with started([COMMAND, "live", host.pid], self.directory, clean_environment(), stdout=subprocess.PIPE) as served:
                url = served.stdout.readline().strip()
                data = json.load(urllib.request.urlopen(url + "data"))
                self.assertEqual((data["event"], data["events"]), ("offcpu", ["cpu", "offcpu"]))
                self.assertRegex(data["subtitle"], r"of waiting .*; deadlock: d-")
                self.check_names(self.packed(data["profile"]))
                chosen = json.load(urllib.request.urlopen(url + "data-cpu"))
                self.assertIn("no samples", chosen["waiting"])
                self.assertIn("holds no event", json.load(urllib.request.urlopen(url + "data-none"))["waiting"])
                served.terminate()
                served.wait(30)
            host.send_signal(signal.SIGTERM)
            host.wait()
        page = self.directory / "out.html"
        wait_until(page.exists, what="the page")
        self.assertIn("deadlock: d-", page.read_text())
        self.assertIn("deadlock: d-", (self.directory / "out.offcpu.svg").read_text())
        for frame in ("[deadlock]", "[held by d-1]", "pthread_mutex_lock"):
            self.assertIn(frame, (self.directory / "out.offcpu.svg").read_text())

    def test_a_killed_program_has_it(self):
        with started([target("holders"), 600, "circle", 2], self.directory,
                     profiled(EVENT="offcpu", LOG=self.directory / "log")) as host:
            log = self.directory / "log"
            wait_until(lambda: log.exists() and "deadlock: " in log.read_text(), what="the sentence")
            wait_until(lambda: "[deadlock]" in self.folded(), what="the deadlock in the profile")
            top = run([COMMAND, "top", "--once", host.pid], self.directory)
            self.assertRegex(top.stdout, r"deadlock: d-\d \(\d+\) waits")
            host.kill()
            host.wait()
        wait_until(lambda: "[deadlock]" in self.folded(), what="the deadlock in the result")
