"""Several events of one run: tests/targets/page_faults counts its page faults itself, and uses the CPU and sleeps beside it."""

import json
import math
import unittest

import pprof_rules
from harness import COMMAND, Case, named, ordinary_user, profiled, read_folded, render, run, target

# Small copies of the stack: the rings hold many samples then, so that few are lost where the collector gets no CPU.
FEW_BYTES = {"FREQ": 499, "STACK": 2048}


class Events(Case):
    def check(self, before=()):
        self.directory.chmod(0o777)
        ran = run([*before, target("page-faults"), 1], self.directory,
                  profiled(EVENT="cpu,page-faults,offcpu", FORMAT="folded,svg,html,json,pprof,speedscope,firefox", **FEW_BYTES))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        seldom, often = map(int, ran.stdout.split())
        result = ran.result("page-faults")
        stacks = read_folded(result.path("page-faults.folded").read_text())
        weight = {name: sum(count for frames, count in stacks if named(frames, name)) for name in ("touch_seldom", "touch_often")}
        told = json.loads(result.path("json").read_text())
        events = {event["event"]: event for event in told["other_events"]}
        self.assertEqual(set(events), {"page-faults", "offcpu"})
        faults = events["page-faults"]
        self.assertEqual((faults["event_kind"], faults["period_ns"]), ("software event", 0))
        whole = sum(count for _, count in stacks)
        self.assertEqual(whole, faults["stack_events"])
        # A sample stands for a fixed number of them, lost ones too; the libraries' own are some hundreds.
        self.assertAlmostEqual(whole / (seldom + often), 1, delta=0.1, msg=(told, stacks))
        share = weight["touch_seldom"] / sum(weight.values())
        self.assertAlmostEqual(share, 0.25, delta=0.02 + 5 * math.sqrt(0.25 * 0.75 / faults["stack_samples"]), msg=weight)
        cpu = read_folded(result.path("folded").read_text())
        self.assertGreater(sum(count for frames, count in cpu if named(frames, "user_work")), 0)
        self.check_outputs(result, whole)

    def check_outputs(self, result, whole):
        pprof = pprof_rules.read(result.path("pb.gz"))
        self.assertEqual([kind for kind, _ in pprof.types], ["samples", "cpu", "page_faults", "offcpu"])
        self.assertEqual(dict(pprof.types)["page_faults"], "count")
        self.assertEqual(pprof.total("page_faults"), whole)
        scopes = json.loads(result.path("speedscope.json").read_text())["profiles"]
        self.assertEqual(sum(p["endValue"] for p in scopes if p["name"].endswith(", page-faults")), whole)
        threads = json.loads(result.path("firefox.json").read_text())["threads"]
        self.assertEqual(sum(sum(t["samples"]["weight"]) for t in threads if t["name"].endswith(", page-faults")), whole)
        for event in ("page-faults", "offcpu"):
            self.assertIn(f'id="profile-{event}"', result.path("html").read_text())
        self.assertIn("page-faults flame graph of page-faults", result.path("page-faults.svg").read_text())
        self.assertIn("touch_often", render("--event", "page-faults", "--top", "5", result.path("fprobe")).stdout)
        itself = result.path("fprobe")
        self.assertEqual(render("--diff", "--event", "page-faults", "--fail-above", "1", itself, itself, "--top", "5").returncode, 0)

    def test_cpu_time_page_faults_and_waits_of_one_run(self):
        self.check()

    def test_of_an_ordinary_user(self):
        self.check(ordinary_user(self))

    def test_what_cannot_be_sampled_is_said_and_the_others_are(self):
        """Engines that sample one event only, and events that this machine cannot count."""
        ran = run([target("page-faults"), "0.3"], self.fresh_directory("timer"),
                  profiled(EVENT="cpu,page-faults", ENGINE="timer", FREQ=499, LOG="stderr"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("page-faults is not sampled: the timer engine has one event", ran.stderr)
        self.assertTrue(ran.result("page-faults").path("folded").exists())
        done = run([*ordinary_user(self), COMMAND, "run", "-e", "cpu,context-switches", "--", "touch", "started"], self.directory)
        self.assertEqual(done.returncode, 2)
        self.assertIn("context-switches happen in the kernel", done.stderr)
        self.assertFalse((self.directory / "started").exists())


if __name__ == "__main__":
    unittest.main()
