"""flameprobe push: from programs under FLAMEPROBE_PUSH to an engine, which may fail in every way."""

import base64
import gzip
import json
import os
import shutil
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import pprof_rules
from engine import Engine
from harness import COMMAND, Case, profiled, render, run, target


class PushCase(Case):
    def setUp(self):
        super().setUp()
        if "not part of this build" in run([COMMAND, "push", "--help"], self.directory).stderr:
            self.skipTest("libcurl was missing when this was built")
        self.spool = self.directory / "spool"

    def engine(self, *answers):
        engine = Engine(*answers)
        self.addCleanup(engine.close)
        return engine

    def record(self, *argv, **settings):
        ran = run(argv or [target("shares"), "threads", "300"], self.directory,
                  profiled(PUSH=self.spool, FREQ=499, **settings))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran

    def push(self, *options, url=None, timeout=60):
        where = ("--to", url) if url else ()
        return run([COMMAND, "push", "--spool", self.spool, *where, *options], self.directory, timeout=timeout)

    def status(self):
        told = self.push("--status")
        self.assertEqual(told.returncode, 0, told.stderr)
        return dict(line.split(": ", 1) for line in told.stdout.splitlines())

    def windows(self):
        return sorted(p.name for p in self.spool.glob("*.fprobe"))

    def samples(self, *windows):
        """[(samples, period)] of windows in the spool."""
        told = [json.loads(render(self.spool / w, "-f", "json", "-o", "-").stdout) for w in windows]
        return [(t["stack_samples"], t["sampling"]["period_ns"]) for t in told]


class Sends(PushCase):
    def test_a_window_arrives_whole_and_is_deleted(self):
        ran = self.record(LABELS="service_name=shop,version=7")
        window, = self.windows()
        (samples, period), = self.samples(window)
        self.assertEqual(os.stat(self.spool).st_mode & 0o777, 0o700)
        self.assertEqual(list(self.directory.glob("flameprobe.*")), [], "results beside the window")
        engine = self.engine()
        done = self.push("--once", url=engine.url)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        request, = engine.taken
        self.assertEqual(request["headers"]["Content-Type"], "application/octet-stream")
        pprof = pprof_rules.decode(gzip.decompress(request["body"]))
        self.assertEqual(pprof_rules.problems(pprof), [])
        self.assertEqual(pprof.total("cpu"), samples * period)
        self.assertIn("label: service_name=shop", pprof.comments)
        self.assertIn("label: version=7", pprof.comments)
        self.assertEqual(self.windows(), [])
        told = self.status()
        self.assertEqual((told["sent"], told["waiting"], told["dropped"], told["refused"]), ("1", "0", "0", "0"))
        self.assertEqual(ran.stderr, "")

    def test_windows_of_one_service_are_one_profile(self):
        for _ in range(3):
            self.record()
        windows = self.windows()
        expected = sum(samples * period for samples, period in self.samples(*windows))
        self.assertEqual(len(windows), 3)
        engine = self.engine()
        self.assertEqual(self.push("--once", "--label", "service_name=shop", url=engine.url).returncode, 0)
        profiles = [pprof_rules.decode(gzip.decompress(r["body"])) for r in engine.taken]
        self.assertLess(len(profiles), 3)  # they may lie on both sides of a quarter of a minute
        self.assertEqual([pprof_rules.problems(p) for p in profiles], [[]] * len(profiles))
        self.assertEqual(sum(p.total("cpu") for p in profiles), expected)

    def test_a_program_that_goes_on_leaves_window_after_window(self):
        self.record(target("shares"), "threads", "8000", DUMP_EVERY="1s")
        self.assertGreaterEqual(len(self.windows()), 2)
        self.assertEqual(list(self.spool.glob(".*.fprobe")), [])

    def test_what_a_killed_program_left_is_sent_after_a_minute(self):
        self.record()
        window, = self.windows()
        hidden = self.spool / f".{window}"
        (self.spool / window).rename(hidden)
        engine = self.engine()
        self.assertEqual(self.push("--once", url=engine.url).returncode, 0)
        self.assertEqual(engine.taken, [])
        os.utime(hidden, (time.time() - 100,) * 2)
        self.assertEqual(self.push("--once", url=engine.url).returncode, 0)
        self.assertEqual(len(engine.taken), 1)

    def test_protocols(self):
        self.record(LABELS="service_name=shop,region=eu")
        kept = self.directory / "kept"
        shutil.copytree(self.spool, kept)
        for protocol in ("pyroscope", "parca", "otlp"):
            shutil.rmtree(self.spool)
            shutil.copytree(kept, self.spool)
            engine = self.engine()
            done = self.push("--once", "--protocol", protocol, url=engine.url.removesuffix("/in"))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            request, = engine.taken
            if protocol == "pyroscope":
                self.assertTrue(request["path"].startswith("/ingest?format=pprof"), request["path"])
                self.assertIn("name=shop%7Bhost%3D", request["path"])
                self.assertIn("region%3Deu", request["path"])
                body = request["body"].split(b"\r\n\r\n", 1)[1].rsplit(b"\r\n--", 1)[0]
            elif protocol == "parca":
                self.assertEqual(request["path"], "/profiles/writeraw")
                series, = json.loads(request["body"])["series"]
                labels = {pair["name"]: pair["value"] for pair in series["labels"]["labels"]}
                self.assertEqual((labels["__name__"], labels["service_name"], labels["region"]), ("process_cpu", "shop", "eu"))
                body = base64.b64decode(series["samples"][0]["rawProfile"], validate=True)
            else:
                self.assertEqual(request["path"], "/v1development/profiles")
                self.assertIn(b"service.name", request["body"])
                continue
            self.assertEqual(pprof_rules.problems(pprof_rules.decode(gzip.decompress(body))), [])


class Fails(PushCase):
    def test_passing_failures_keep_the_window_until_it_is_taken(self):
        self.record()
        for failure in (408, 429, 500, 503, "reset", "cut", "hang"):
            with self.subTest(failure=failure):
                engine = self.engine(failure)
                done = self.push("--once", "--timeout", "1s", url=engine.url)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn("stay in the spool", done.stderr)
                self.assertEqual((len(engine.taken), len(self.windows())), (0, 1))
        engine = self.engine()
        self.assertEqual(self.push("--once", url=engine.url).returncode, 0)
        self.assertEqual((len(engine.taken), self.windows()), (1, []))
        told = self.status()
        self.assertEqual((told["sent"], told["retries"], told["dropped"]), ("1", "7", "0"))

    def test_the_engine_says_when_to_come_again(self):
        self.record()
        engine = self.engine((429, {"Retry-After": "2"}))
        ran = run(["timeout", "-s", "TERM", "10", COMMAND, "push", "--spool", self.spool, "--to", engine.url], self.directory)
        self.assertIn("the engine is there again", ran.stderr)
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
        for answer in (422, (302, {"Location": "http://127.0.0.1:9/"})):
            with self.subTest(answer=answer):
                engine = self.engine(answer)
                done = self.push("--once", url=engine.url)
                self.assertEqual(done.returncode, 0)
                self.assertIn("refused", done.stderr)
                self.assertEqual(self.windows(), [])
                self.assertEqual((self.spool / "reject" / f"{window}.answer.txt").read_text().split()[1], "told")
                (self.spool / "reject" / window).rename(self.spool / window)
        self.assertEqual(self.status()["refused"], "2")

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


class Secrets(PushCase):
    def test_tokens_come_from_files_and_go_nowhere_else(self):
        self.record()
        token = self.directory / "token"
        token.write_text("s3cret-token\n")
        engine = self.engine(500)
        done = self.push("--once", "--token-file", token, "--tenant", "me", url=engine.url)
        self.assertEqual(engine.refused[0]["headers"]["Authorization"], "Bearer s3cret-token")
        self.assertEqual(engine.refused[0]["headers"]["X-Scope-OrgID"], "me")
        everything = done.stderr + done.stdout + (self.spool / ".push.json").read_text()
        self.assertNotIn("s3cret", everything)

    def test_a_password_in_the_url_is_wrong_usage(self):
        done = self.push(url="http://me:pass@127.0.0.1/")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--user-file", done.stderr)
        self.assertNotIn("pass@", done.stderr)

    def test_a_spool_in_which_others_can_rename_is_refused(self):
        self.spool.mkdir()
        os.chmod(self.spool, 0o777)
        done = self.push("--once", url="http://127.0.0.1:9/")
        self.assertEqual(done.returncode, 1)
        self.assertIn("chmod 700", done.stderr)
        ran = run([target("shares"), "threads", "50"], self.directory, profiled(PUSH=self.spool, LOG="stderr"))
        self.assertEqual(ran.returncode, 0)
        self.assertIn("lets other users rename files", ran.stderr)
        self.assertEqual(list(self.spool.iterdir()), [])

    def test_profiles_of_other_users_are_left_alone(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make a file of another user")
        self.record()
        window, = self.windows()
        os.chown(self.spool / window, 65534, 65534)
        engine = self.engine()
        self.push("--once", url=engine.url)
        self.assertEqual((engine.taken, self.status()["of other users"]), ([], "1"))
        self.push("--once", "--other-users", url=engine.url)
        self.assertEqual(len(engine.taken), 1)

    def test_wrong_usage(self):
        for options in ((), ("--to", "ftp://x/"), ("--to", "http://x/", "--protocol", "smoke"),
                        ("--to", "http://x/", "--label", "a b=c"), ("--to", "http://x/", "--max-age", "soon")):
            done = self.push(*options)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("flameprobe push: ", done.stderr)


if __name__ == "__main__":
    unittest.main()
