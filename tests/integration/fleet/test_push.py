"""flameprobe push: from programs under FLAMEPROBE_PUSH to an engine, which may fail in every way."""

import base64
import gzip
import json
import os
import shutil
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import engine as faults
import pprof_rules
from harness import BUILD, COMMAND, LIBRARY, host, profiled, run, target
from push_case import PushCase, pprof_in


class Sends(PushCase):
    def test_a_window_arrives_whole_and_is_deleted(self):
        ran = self.record(LABELS="service_name=shop,version=7")
        window, = self.windows()
        (cpu_ns, _), = self.samples(window)
        self.assertEqual(os.stat(self.spool).st_mode & 0o777, 0o700)
        self.assertEqual(list(self.directory.glob("flameprobe.*")), [], "results beside the window")
        engine = self.engine()
        done = self.push("--once", url=engine.url)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        request, = engine.taken
        self.assertEqual(request["headers"]["Content-Type"], "application/octet-stream")
        pprof = pprof_in(request)
        self.assertEqual(pprof_rules.problems(pprof), [])
        self.assertEqual(pprof.total("cpu"), cpu_ns)
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
        expected = sum(cpu_ns for cpu_ns, _ in self.samples(*windows))
        self.assertEqual(len(windows), 3)
        engine = self.engine()
        self.assertEqual(self.push("--once", "--label", "service_name=shop", url=engine.url).returncode, 0)
        profiles = [pprof_in(r) for r in engine.taken]
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
                self.assertTrue(request["path"].startswith("/ingest?"), request["path"])
                self.assertNotIn("format=", request["path"], "Pyroscope would take the form for a bare pprof: 422")
                self.assertTrue(request["headers"]["Content-Type"].startswith("multipart/form-data; boundary="))
                self.assertIn("name=shop%7Bhost%3D", request["path"])
                self.assertIn("region%3Deu", request["path"])
                body = request["body"].split(b"\r\n\r\n", 1)[1].rsplit(b"\r\n--", 1)[0]
            elif protocol == "parca":
                self.assertEqual(request["path"], "/api/profiles/writeraw")
                series, = json.loads(request["body"])["series"]
                labels = {pair["name"]: pair["value"] for pair in series["labels"]["labels"]}
                self.assertEqual((labels["__name__"], labels["service_name"], labels["region"]), ("process_cpu", "shop", "eu"))
                body = base64.b64decode(series["samples"][0]["rawProfile"], validate=True)
            else:
                self.assertEqual(request["path"], "/v1development/profiles")
                self.assertIn(b"service.name", request["body"])
                continue
            self.assertEqual(pprof_rules.problems(pprof_rules.decode(gzip.decompress(body))), [])


    def test_allocations(self):
        for event, kind in (("alloc", "alloc_space"), ("heap", "inuse_space")):
            with self.subTest(event=event):
                self.record(host("allocations"), "leak", EVENT=event, preload=f"{LIBRARY}:{BUILD}/preload/alloc/libflameprobe-alloc.so")
                engine = self.engine()
                self.assertEqual(self.push("--once", url=engine.url).returncode, 0)
                pprof, = map(pprof_in, engine.taken)
                self.assertEqual(pprof_rules.problems(pprof), [])
                self.assertAlmostEqual(pprof.total(kind) / 300e6, 1, delta=0.3)

    def several_events(self):
        self.record(host("allocations"), "c", "leak", EVENT="cpu,alloc,heap", FREQ=997, preload=f"{LIBRARY}:{BUILD}/preload/alloc/libflameprobe-alloc.so")

    def kinds(self, engine):
        return sorted(next(kind for kind in ("cpu", "alloc_space", "inuse_space") if kind in dict(pprof.types)) for pprof in map(pprof_in, engine.taken))

    def test_each_event_of_a_window_is_sent_once(self):
        self.several_events()
        engine = self.engine()
        self.assertEqual(self.push("--once", url=engine.url).returncode, 0)
        self.assertEqual(self.kinds(engine), ["alloc_space", "cpu", "inuse_space"])
        self.assertEqual((self.windows(), self.status()["sent"]), ([], "1"))
        with self.subTest("a failure in between"):
            self.several_events()
            engine = self.engine(200, 503)
            run(["timeout", "-s", "TERM", "6", COMMAND, "push", "--spool", self.spool, "--to", engine.url], self.directory)
            self.assertEqual(len(engine.refused), 1)
            self.assertEqual(self.kinds(engine), ["alloc_space", "cpu", "inuse_space"])
            self.assertEqual((self.windows(), self.status()["sent"]), ([], "2"))
        with self.subTest("one that the server refuses"):
            self.several_events()
            window, = self.windows()
            engine = self.engine(200, 400)
            self.push("--once", url=engine.url)
            self.assertEqual(len(self.kinds(engine)), 2)
            self.assertTrue((self.spool / "reject" / window).exists())
            self.assertEqual((self.windows(), self.status()["refused"]), ([], "1"))

    def test_code_without_a_name_has_a_stand_in_for_pyroscope(self):
        """Which would count it as its caller's own; other engines may name it by its build id."""
        stripped = self.directory / "stripped"
        subprocess.run(["strip", "-o", stripped, target("shares")], check=True)
        self.record(stripped, "threads", "300")
        kept = self.directory / "kept"
        shutil.copytree(self.spool, kept)
        for protocol in ("pprof-http", "pyroscope"):
            shutil.rmtree(self.spool)
            shutil.copytree(kept, self.spool)
            engine = self.engine()
            self.push("--once", "--protocol", protocol, url=engine.url)
            body = engine.taken[0]["body"]
            if protocol == "pyroscope":
                body = body.split(b"\r\n\r\n", 1)[1].rsplit(b"\r\n--", 1)[0]
            pprof = pprof_rules.decode(gzip.decompress(body))
            self.assertEqual(pprof_rules.problems(pprof), [])
            names = {name for sample in pprof.samples for name in pprof.names(sample)}
            stand_ins = [name for name in names if name.startswith("[stripped+0x")]
            self.assertEqual(bool(stand_ins), protocol == "pyroscope", names)


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

    def test_an_engine_that_repeats_secrets_has_them_blanked_out(self):
        token = self.directory / "secret"
        for option, content, secret in (("--token-file", "s3cret-token", "s3cret"), ("--user-file", "me:pa55word", "pa55")):
            with self.subTest(option):
                self.record()
                window, = self.windows()
                token.write_text(content + "\n")
                engine = self.engine(faults.echo, faults.echo)
                done = self.push("--once", option, token, url=engine.url + "?key=0urkey")
                self.assertIn("Authorization", engine.refused[0]["headers"])
                answer = (self.spool / "reject" / f"{window}.answer.txt").read_text()
                self.assertIn("Authorization", answer)
                everything = done.stderr + answer + (self.spool / ".push.json").read_text() + self.push("--status").stdout
                for text in (secret, base64.b64encode(content.encode()).decode(), "0urkey"):
                    self.assertNotIn(text, everything)

    def test_what_the_command_line_says_is_not_sent(self):
        self.record(target("shares"), "threads", "300", "--password=hunter2")
        kept = self.directory / "kept"
        shutil.copytree(self.spool, kept)
        for protocol in ("pprof-http", "otlp"):
            shutil.rmtree(self.spool)
            shutil.copytree(kept, self.spool)
            engine = self.engine()
            self.push("--once", "--protocol", protocol, url=engine.url)
            body = engine.taken[0]["body"]
            self.assertNotIn(b"hunter2", body if protocol == "otlp" else gzip.decompress(body))

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
        ran = run([target("shares"), "threads", "1000"], self.directory, profiled(PUSH=self.spool, LOG="stderr", FREQ=999))
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
