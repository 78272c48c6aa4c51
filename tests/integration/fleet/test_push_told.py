"""flameprobe push: its status and metrics, and the labels of profiles."""

import json
import re
import signal
import socket
import sys
import unittest
import urllib.error
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from collector import value_of
from harness import COMMAND, clean_environment, profiled, render, run, started, target, wait_until
from push_case import PushCase, pprof_in


class Metrics(PushCase):
    def metrics(self, url):
        text = urllib.request.urlopen(url, timeout=10).read().decode()
        self.assertTrue(text.endswith("\n"))
        return dict(line.split(" ") for line in text.splitlines() if not line.startswith("#"))

    def test_they_are_on_loopback_and_agree_with_status(self):
        for _ in range(3):
            self.record()
        windows = self.windows()
        engine = self.engine(503, (400, {}, b"no"))
        argv = [COMMAND, "push", "--spool", self.spool, "--to", engine.url, "--gather", "1s", "--metrics", "0", "--max-bytes", "40K"]
        with started(argv, self.directory, clean_environment()) as process:
            log = self.directory / "flameprobe.log"
            url = wait_until(lambda: re.search(r"http://\S+/metrics", log.read_text()), what="the metrics' address")[0]
            self.assertTrue(url.startswith("http://127.0.0.1:"))
            wait_until(lambda: self.metrics(url)["flameprobe_push_waiting"] == "0", what="an empty spool")
            found = self.metrics(url)
            with self.assertRaises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(url.replace("/metrics", "/etc/passwd"), timeout=10)
            self.assertEqual(refused.exception.code, 404)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(timeout=20), 0)
        told = {name: value for name, value in self.status().items() if name != "last error"}
        for name, value in told.items():
            metric = "flameprobe_push_" + name.replace(" ", "_")
            if name not in ("waiting", "waiting bytes", "oldest seconds", "of other users"):
                metric += "_total"
            self.assertEqual(found[metric], value, metric)
        self.assertEqual(int(told["sent"]) + int(told["refused"]) + int(told["dropped"]), 3, (windows, told, log.read_text()))
        self.assertEqual(told["retries"], "1")
        self.assertGreater(float(found["process_cpu_seconds_total"]), 0)
        self.assertGreater(int(found["process_resident_memory_bytes"]), 1 << 20)

    def test_dropped_windows_are_counted_logged_and_a_metric(self):
        for _ in range(2):
            self.record()
        engine = self.engine()
        argv = [COMMAND, "push", "--spool", self.spool, "--to", engine.url, "--gather", "1s", "--metrics", "0", "--max-bytes", "1K"]
        with started(argv, self.directory, clean_environment()):
            log = self.directory / "flameprobe.log"
            url = wait_until(lambda: re.search(r"http://\S+/metrics", log.read_text()), what="the metrics' address")[0]
            wait_until(lambda: self.metrics(url)["flameprobe_push_dropped_total"] == "2", what="the drop as a metric")
            self.assertIn("2 windows were dropped", log.read_text())
        self.assertEqual((self.status()["dropped"], engine.taken), ("2", []))

    def sent_metrics(self, engine):
        """{name: metric} of the last request, and its resource's attributes."""
        (resource,) = json.loads(engine.metrics[-1]["body"])["resourceMetrics"]
        (scope,) = resource["scopeMetrics"]
        attributes = {a["key"]: a["value"]["stringValue"] for a in resource["resource"]["attributes"]}
        return {m["name"]: m for m in scope["metrics"]}, attributes

    def test_dropped_windows_are_sent_as_a_metric(self):
        for _ in range(2):
            self.record()
        engine = self.engine(503, 503)
        told = ("--metrics-to", engine.url, "--label", "pod=shop-1")
        self.push("--once", *told, url=engine.url)
        metrics, attributes = self.sent_metrics(engine)
        self.assertEqual(metrics["flameprobe.push.dropped"]["sum"]["dataPoints"][0]["asInt"], "0")
        self.push("--once", *told, "--max-bytes", "1K", url=engine.url)
        metrics, attributes = self.sent_metrics(engine)
        self.assertEqual({path["path"] for path in engine.metrics}, {"/in/v1/metrics"})
        (dropped,) = metrics["flameprobe.push.dropped"]["sum"]["dataPoints"]
        self.assertEqual(dropped["asInt"], "2")
        self.assertTrue(metrics["flameprobe.push.dropped"]["sum"]["isMonotonic"])
        self.assertEqual(metrics["flameprobe.push.dropped"]["sum"]["aggregationTemporality"], 2)
        self.assertLessEqual(int(dropped["startTimeUnixNano"]), int(dropped["timeUnixNano"]))
        self.assertEqual((attributes["service.name"], attributes["pod"]), ("flameprobe-push", "shop-1"))
        told = {name.replace(" ", "_"): value for name, value in self.status().items() if name != "last error"}
        points = {name.removeprefix("flameprobe.push."): next(m[kind] for kind in ("sum", "gauge") if kind in m)["dataPoints"]
                  for name, m in metrics.items()}
        self.assertEqual({name: (point,) for name, (point,) in points.items()}.keys(), told.keys())
        for name, (point,) in points.items():
            self.assertEqual(point["asInt"], told[name], name)

    def test_otlp_sends_metrics_beside_the_profiles_until_it_is_told_that_none_are_taken(self):
        self.record()
        base = self.engine()
        url = base.url.removesuffix("/in")
        self.push("--once", "--protocol", "otlp", url=url + "/v1development/profiles")
        self.assertEqual({r["path"] for r in base.metrics}, {"/v1/metrics"})
        self.push("--once", "--protocol", "otlp", "--metrics-to", "off", url=url)
        sent = len(base.metrics)
        base.metrics_answer = 404
        done = self.push("--once", "--protocol", "otlp", url=url)
        self.assertEqual((done.returncode, len(base.metrics)), (0, sent + 1))
        self.assertIn("does not take metrics: 404; none are sent", done.stderr)

    def test_metrics_go_elsewhere_without_secrets_and_hold_up_no_uploads(self):
        self.record()
        token = self.directory / "token"
        token.write_text("s3cret\n")
        engine, elsewhere = self.engine(), self.engine()
        elsewhere.metrics_answer = 503
        done = self.push("--once", "--token-file", token, "--tenant", "me", "--metrics-to", elsewhere.url, url=engine.url)
        self.assertEqual((done.returncode, len(engine.taken)), (0, 1))
        self.assertIn("does not take metrics: 503; they are sent again every minute", done.stderr)
        for request in elsewhere.metrics:
            self.assertNotIn("Authorization", request["headers"])
            self.assertNotIn("X-Scope-OrgID", request["headers"])
        self.push("--once", "--token-file", token, "--metrics-to", engine.url, url=engine.url)
        self.assertEqual(engine.metrics[0]["headers"]["Authorization"], "Bearer s3cret")

    def test_a_connection_that_says_nothing_holds_up_no_uploads(self):
        engine = self.engine()
        argv = [COMMAND, "push", "--spool", self.spool, "--to", engine.url, "--gather", "1s", "--metrics", "0"]
        with started(argv, self.directory, clean_environment()):
            log = self.directory / "flameprobe.log"
            port = wait_until(lambda: re.search(r"127.0.0.1:(\d+)/metrics", log.read_text()), what="the address")[1]
            with socket.create_connection(("127.0.0.1", int(port))):
                self.record()
                wait_until(lambda: engine.taken, what="the upload")
                self.assertIn("flameprobe_push_sent_total", self.metrics(f"http://127.0.0.1:{port}/metrics"))

    def test_a_port_that_is_taken(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            done = self.push("--once", "--metrics", str(port), url="http://127.0.0.1:9/")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"127.0.0.1:{port}: metrics cannot be served: Address already in use", done.stderr)


class LabelsOfProfiles(PushCase):
    def test_they_are_part_of_the_run(self):
        ran = run([target("shares"), "threads", "200"], self.directory,
                  profiled(FREQ=499, LABELS="service_name=shop,region=eu", FORMAT="json,pprof,otlp-json"))
        stem = ran.result().stem
        told = json.loads(Path(f"{stem}.json").read_text())
        self.assertEqual(told["run"]["labels"], {"service_name": "shop", "region": "eu"})
        self.assertNotIn("label", " ".join(told["counters"]))
        info = render(f"{stem}.fprobe", "--info").stdout
        self.assertRegex(info, r"(?m)^Label: +service_name=shop$")
        otlp = json.loads(Path(f"{stem}.otlp.json").read_text())
        attributes = {a["key"]: value_of(a["value"], []) for a in otlp["resourceProfiles"][0]["resource"]["attributes"]}
        self.assertEqual((attributes["service.name"], attributes["region"]), ("shop", "eu"))

    def test_only_what_profiles_share_is_left_when_they_are_merged(self):
        for number in ("1", "2"):
            run([target("shares"), "threads", "100"], self.directory,
                profiled(FREQ=499, LABELS=f"service_name=shop,replica={number}", OUT=number, FORMAT="none"))
        merged = render(self.directory / "1.fprobe", self.directory / "2.fprobe", "-f", "json", "-o", "-").stdout
        self.assertEqual(json.loads(merged)["run"]["labels"], {"service_name": "shop"})

    def test_the_uploaders_labels_win_and_the_commit_is_one(self):
        repository = self.fresh_directory("repository")
        commit = "0123456789abcdef0123456789abcdef01234567"
        (repository / ".git").mkdir()
        (repository / ".git" / "HEAD").write_text(commit + "\n")
        run([target("shares"), "threads", "200"], repository,
            profiled(FREQ=499, PUSH=self.spool, DUMP_EVERY="24h", LABELS="service_name=shop,version=7"))
        engine = self.engine()
        done = self.push("--once", "--label", "version=8", "--label", "pod=shop-1", url=engine.url)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        comments = pprof_in(engine.taken[0]).comments
        for label in ("service_name=shop", "version=8", "pod=shop-1", f"git_commit={commit}"):
            self.assertIn(f"label: {label}", comments)
        self.assertTrue(any(c.startswith("label: host=") for c in comments), comments)

    def test_threads_are_labels_on_request_and_folded(self):
        self.record(target("shares"), "threads", "300")
        (window,) = self.windows()
        kept = (self.spool / window).read_bytes()
        found = []
        for options in ((), ("--pprof-threads",)):
            (self.spool / window).write_bytes(kept)
            engine = self.engine()
            self.push("--once", *options, url=engine.url)
            found.append({value for s in pprof_in(engine.taken[0]).samples for key, value in s.labels if key == "thread"})
        self.assertEqual(found[0], set())
        self.assertTrue(found[1])
        self.assertFalse([name for name in found[1] if re.search(r"\d", name)], "threads' numbers make series")


if __name__ == "__main__":
    unittest.main()
