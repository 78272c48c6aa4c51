"""OTLP profiles are taken by a real OpenTelemetry Collector and are the same when it writes them out."""

import subprocess
import sys
import unittest
import urllib.request
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import collector
from figures import UNKNOWN
from harness import BUILD, Case, profiled, read_folded, run, target

MAKE_PROFILE = BUILD / "tests" / "integration" / "formats" / "make-profile"
SCOPES = ("[tenant=acme]", "[checkout]", "[payment: step 2]")


def post(url, path, content_type):
    request = urllib.request.Request(url, Path(path).read_bytes(), {"Content-Type": content_type})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.status


class CollectorTakes(Case):
    def setUp(self):
        super().setUp()
        collector.needed_by(self)
        self.collector = collector.Collector(self.directory)
        self.collector.start()
        self.addCleanup(lambda: self.collector.stop(hard=True))

    def received(self, number):
        self.collector.stop()  # which writes what it holds
        profiles = self.collector.profiles()
        self.assertEqual(len(profiles), number)
        return profiles

    def test_a_profile_made_by_hand_in_both_encodings(self):
        ran = run([MAKE_PROFILE, self.directory], self.directory)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual(post(self.collector.url, self.directory / "sample.otlp", "application/x-protobuf"), 200)
        self.assertEqual(post(self.collector.url, self.directory / "sample.otlp.json", "application/json"), 200)
        first, second = self.received(2)
        self.assertEqual(first, second)
        attributes, profile, dictionary = first
        self.assertEqual(attributes["service.name"], "demo")
        self.assertEqual(profile["timeUnixNano"], str(1_700_000_000 * 10**9))
        self.assertEqual(profile["durationNano"], str(5 * 10**9))
        found = collector.stacks(profile, dictionary)
        self.assertEqual(sum(value for _, value, _ in found), 113 * 10**7)
        self.assertIn((["main", "ns::parse<int, char>(char const*, unsigned int)", "trim(char*)", "is_space(char)"], 10**8, {}),
                      found)
        self.assertIn((["main", "ns::parse<int, char>(char const*, unsigned int)"], 6 * 10**7,
                       {"tenant": "acme", "scope": "checkout > payment; step 2"}), found)

    def test_a_real_run(self):
        ran = run([target("shares"), "threads", "1000"], self.directory, profiled(FREQ=499, FORMAT="folded,otlp"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        stem = ran.result().stem
        self.assertEqual(post(self.collector.url, f"{stem}.otlp", "application/x-protobuf"), 200)
        (attributes, profile, dictionary), = self.received(1)
        period = int(profile["period"])
        expected, parts = Counter(), Counter()
        for frames, count in read_folded(Path(f"{stem}.folded").read_text()):
            names = [f.removesuffix("_[k]").removesuffix("_[i]") for f in frames[1:]] or frames
            stack = tuple("?" if UNKNOWN.match(n) else n for n in names)
            expected[stack] += count
        found = Counter()
        for names, value, _ in collector.stacks(profile, dictionary):
            stack = tuple(n.replace(";", ":") for n in names)
            found[stack] += value / period
            parts[stack] += 1
        threads = 4
        for stack in found.keys() | expected.keys():  # folded text has whole periods of each thread, so that its total holds
            self.assertAlmostEqual(found[stack], expected[stack], delta=parts[stack] / 2 + threads, msg=stack)
        self.assertEqual(attributes["process.executable.path"], str(target("shares")))
        ids = [collector.value_of(a["value"], dictionary["stringTable"]) for a in dictionary["attributeTable"][1:]
               if dictionary["stringTable"][a["keyStrindex"]] == "process.executable.build_id.gnu"]
        notes = subprocess.run(["readelf", "-n", target("shares")], capture_output=True, text=True).stdout
        self.assertIn(notes.split("Build ID: ")[1].split()[0], ids)


if __name__ == "__main__":
    unittest.main()
