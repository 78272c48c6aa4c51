"""flameprobe push against engines that fail: nothing is lost, nothing piles up, and all of it is counted."""

import contextlib
import gzip
import json
import os
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import engine as faults
from engine import Engine
from harness import COMMAND, clean_environment, profiled, render, run, started, target, wait_until
from push_case import PushCase, pprof_in


class Fails(PushCase):
    def test_passing_failures_keep_the_window_until_it_is_taken(self):
        self.record()
        starting = (422, {}, b'{"code":"invalid_argument","message":"unavailable: service is unavailable"}')
        failures = (408, 429, 499, 500, 503, starting, (409, {}, b'{"code":"aborted"}'), faults.reset, faults.cut,
                    faults.cut_head, faults.garbage, faults.hang, faults.drip, faults.flood)
        for failure in failures:
            with self.subTest(failure=getattr(failure, "__name__", failure)):
                engine = self.engine(failure)
                done = self.push("--once", "--timeout", "1s", url=engine.url)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn("stay in the spool", done.stderr)
                self.assertEqual((len(engine.taken), len(self.windows())), (0, 1))
        engine = self.engine()
        self.assertEqual(self.push("--once", url=engine.url).returncode, 0)
        self.assertEqual((len(engine.taken), self.windows()), (1, []))
        told = self.status()
        self.assertEqual((told["sent"], told["retries"], told["dropped"]), ("1", str(len(failures)), "0"))

    def test_a_request_that_always_fails_holds_up_no_others(self):
        self.record(LABELS="service_name=bad")
        self.record(LABELS="service_name=good")
        bad = lambda request: "label: service_name=bad" in pprof_in(request).comments
        engine = self.engine()
        engine.fails = bad
        ran = run(["timeout", "-s", "TERM", "5", COMMAND, "push", "--spool", self.spool, "--to", engine.url], self.directory)
        self.assertEqual([bad(r) for r in engine.taken], [False])
        self.assertTrue(engine.refused and all(bad(r) for r in engine.refused), ran.stderr)
        self.assertEqual(len(self.windows()), 1)

    def test_the_engine_says_when_to_come_again(self):
        self.record()
        engine = self.engine((429, {"Retry-After": "2"}))
        ran = run(["timeout", "-s", "TERM", "10", COMMAND, "push", "--spool", self.spool, "--to", engine.url], self.directory)
        self.assertIn("the server is there again", ran.stderr)
        self.assertGreaterEqual(engine.taken[0]["time"] - engine.refused[0]["time"], 2)
        self.assertEqual(self.windows(), [])

    def test_no_engine_at_all(self):
        self.record()
        engine = Engine()
        engine.close()
        done = self.push("--once", url=engine.url)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(self.windows()), 1)

    def test_what_is_refused_lies_aside_with_the_answer(self):
        self.record()
        window, = self.windows()
        elsewhere = self.engine()
        redirected = [(status, {"Location": elsewhere.url}) for status in (302, 307, 308)]
        for answer in (400, 409, 422, *redirected):
            with self.subTest(answer=answer):
                engine = self.engine(answer)
                done = self.push("--once", url=engine.url)
                self.assertEqual(done.returncode, 0)
                self.assertIn("refused", done.stderr)
                self.assertEqual(self.windows(), [])
                self.assertEqual((self.spool / "reject" / f"{window}.answer.txt").read_text().split()[1], "told")
                (self.spool / "reject" / window).rename(self.spool / window)
        self.assertEqual(self.status()["refused"], "6")
        self.assertEqual(elsewhere.taken, [], "a redirection was followed")

    def test_what_the_engine_has_already_is_sent(self):
        self.record()
        engine = self.engine((409, {}, b'{"code":"already_exists"}'))
        self.assertEqual(self.push("--once", url=engine.url).returncode, 0)
        told = self.status()
        self.assertEqual((told["sent"], told["refused"], self.windows()), ("1", "0", []))

    def test_otlp_says_that_profiles_were_rejected(self):
        self.record()
        engine = self.engine((200, {}, b"\x0a\x0d\x08\x01\x12\x09too large"))
        done = self.push("--once", "--protocol", "otlp", url=engine.url)
        self.assertIn("1 profiles rejected: too large", done.stderr)
        self.assertEqual((self.status()["refused"], self.status()["sent"]), ("1", "0"))

    def test_a_page_is_no_engines_answer(self):
        """Parca answers whatever is posted beside its API with 200 and its page."""
        self.record()
        (window,) = self.windows()
        done = self.push("--once", "--protocol", "parca", url=self.engine((200, {}, b"<!doctype html>")).url)
        self.assertIn("refused 1 windows", done.stderr)
        self.assertTrue((self.spool / "reject" / window).exists())

    def test_what_is_too_large_is_sent_in_pieces(self):
        self.record(target("shares"), "threads", "1500", FREQ=997)  # many stacks: one alone cannot be cut
        (cpu_ns, _), = self.samples(*self.windows())
        kept, = (p.read_bytes() for p in self.spool.glob("*.fprobe"))
        name, = self.windows()
        engine = self.engine()
        self.push("--once", url=engine.url)
        most = len(gzip.decompress(engine.taken[0]["body"])) - 1
        for limits, options in ({"most": most}, ()), ({}, ("--max-request", most)):
            with self.subTest(limits=limits, options=options):
                (self.spool / name).write_bytes(kept)
                engine = self.engine(**limits)
                done = self.push("--once", *options, url=engine.url)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertGreater(len(engine.taken), 1)
                self.assertEqual(sum(pprof_in(r).total("cpu") for r in engine.taken), cpu_ns)
                self.assertTrue(all(len(gzip.decompress(r["body"])) <= most for r in engine.taken))
        self.assertEqual((self.status()["sent"], self.status()["refused"]), ("3", "0"))

    def test_an_engine_that_takes_nothing_however_small(self):
        self.record()
        engine = self.engine(most=10)
        done = self.push("--once", url=engine.url)
        self.assertIn("413", done.stderr)
        self.assertEqual((self.windows(), self.status()["refused"]), ([], "1"))

    def test_a_failure_between_two_pieces_sends_no_piece_twice(self):
        self.record()
        (cpu_ns, _), = self.samples(*self.windows())
        engine = self.engine(200, 503)
        run(["timeout", "-s", "TERM", "6", COMMAND, "push", "--spool", self.spool, "--to", engine.url, "--max-request",
             "1K"], self.directory)
        self.assertEqual(len(engine.refused), 1)
        self.assertEqual(sum(pprof_in(r).total("cpu") for r in engine.taken), cpu_ns)

    def test_what_waits_for_its_turn_is_not_dropped_and_sent(self):
        """The second program's window is loaded already, and too old when the first one's last request is answered."""
        self.record()
        self.record(target("calls"), "0.3")
        engine = self.engine(200, (503, {"Retry-After": "4"}), 503)
        run(["timeout", "-s", "TERM", "10", COMMAND, "push", "--spool", self.spool, "--to", engine.url, "--max-request", "1K",
             "--max-age", "3s"], self.directory)
        told = self.status()
        self.assertEqual((self.windows(), int(told["sent"]) + int(told["dropped"])), ([], 2), told)

    def test_an_uploader_that_is_killed_loses_nothing(self):
        self.record()
        (cpu_ns, _), = self.samples(*self.windows())
        engine = self.engine(faults.hang)
        with started([COMMAND, "push", "--spool", self.spool, "--to", engine.url], self.directory, clean_environment()) as one:
            wait_until(lambda: engine.refused, what="a request")
            one.kill()
        self.assertEqual(len(self.windows()), 1)
        self.assertEqual(self.push("--once", url=engine.url).returncode, 0)
        self.assertEqual(sum(pprof_in(r).total("cpu") for r in engine.taken), cpu_ns)

    def sizes(self):
        sizes = {}
        for path in self.spool.iterdir():
            with contextlib.suppress(FileNotFoundError):  # the collector gives it its last name
                sizes[path.name] = path.stat().st_size
        return sizes

    def test_a_program_that_is_killed_loses_less_than_a_window(self):
        env = profiled(PUSH=self.spool, FREQ=499, DUMP_EVERY="1s")
        with started([target("shares"), "threads", "60000"], self.directory, env) as program:
            wait_until(lambda: len(self.windows()) >= 2, seconds=60, what="two windows")
            unfinished = wait_until(lambda: list(self.spool.glob(".*.fprobe")), what="one that grows")
            wait_until(lambda: unfinished[0].exists() and unfinished[0].stat().st_size > 1000 or not unfinished[0].exists())
            program.kill()
        # With the rings the collector outlives the program, and finishes the window.
        before = None
        while before != self.sizes():
            before = self.sizes()
            time.sleep(1)
        left = {path.name.lstrip("."): path for path in self.spool.glob("*.fprobe")} | {
            path.name.lstrip("."): path for path in self.spool.glob(".*.fprobe")}
        told = [render(path, "-f", "json", "-o", "-") for path in left.values()]
        expected = sum(t["stack_ns"]
                       for t in (json.loads(ran.stdout) for ran in told if ran.returncode == 0))
        for path in left.values():
            os.utime(path, (time.time() - 100,) * 2)
        engine = self.engine()
        self.assertEqual(self.push("--once", url=engine.url).returncode, 0)
        self.assertEqual((list(self.spool.glob("*.fprobe")), list(self.spool.glob(".*.fprobe"))), ([], []))
        self.assertEqual(int(self.status()["sent"]) + int(self.status()["unreadable"]), len(left))
        self.assertEqual(sum(pprof_in(r).total("cpu") for r in engine.taken), expected)
        self.assertGreater(expected, 0)

    def test_the_spool_is_bounded_and_what_goes_is_counted(self):
        for _ in range(3):
            self.record()
        newest = max(self.spool.glob("*.fprobe"), key=lambda p: p.stat().st_mtime_ns)
        for age, path in enumerate(sorted(set(self.spool.glob("*.fprobe")) - {newest})):
            os.utime(path, (time.time() - 100 - age,) * 2)
        engine = self.engine(500)
        done = self.push("--once", "--max-age", "60s", url=engine.url)
        self.assertIn("2 windows were dropped", done.stderr)
        self.assertEqual((self.windows(), self.status()["dropped"]), ([newest.name], "2"))
        done = self.push("--once", "--max-bytes", "1K", url=engine.url)
        self.assertEqual((self.windows(), self.status()["dropped"]), ([], "3"))
        self.assertEqual(engine.taken, [])

    def test_what_is_no_profile_is_set_aside(self):
        self.spool.mkdir(mode=0o700)
        (self.spool / "x.fprobe").write_text("no profile")
        (self.spool / "link.fprobe").symlink_to("/etc/passwd")
        done = self.push("--once", url=self.engine().url)
        self.assertEqual(done.returncode, 0)
        self.assertIn("x.fprobe is no profile", done.stderr)
        self.assertTrue((self.spool / "reject" / "x.fprobe").exists())
        self.assertEqual(self.status()["unreadable"], "1")



if __name__ == "__main__":
    unittest.main()
