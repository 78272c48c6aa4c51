"""A real OpenTelemetry Collector, killed and restarted while windows come: what its file exporter wrote is what the windows
hold, function by function, with files, lines, inlined frames and labels."""

import json
import shutil
import signal
import sys
import time
import unittest
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import collector
from harness import COMMAND, clean_environment, profiled, render, run, sized, started, target, wait_until
from push_case import PushCase

SERVICES = ("shop", "search", "mail")


def told_by_json(window):
    told = json.loads(render(window, "-f", "json", "-o", "-").stdout)
    selves = Counter({(f["name"].removesuffix("_[i]").removesuffix("_[k]"), f["file"], f["line"]): f["self_ns"]
                      for f in told["functions"] if f["self_ns"]})
    inlined = {f["name"].removesuffix("_[i]") for f in told["functions"] if f["name"].endswith("_[i]")}
    return selves, told["stack_ns"], inlined


def self_values(profile, dictionary):
    """Nanoseconds by (name, file, line of declaration) of the innermost function."""
    strings, selves = dictionary["stringTable"], Counter()
    for sample in profile["samples"]:
        location = dictionary["locationTable"][dictionary["stackTable"][sample["stackIndex"]]["locationIndices"][0]]
        if lines := location.get("lines"):
            function = dictionary["functionTable"][lines[0]["functionIndex"]]
            key = (strings[function["nameStrindex"]], strings[function.get("filenameStrindex", 0)],
                   int(function.get("startLine", 0)))
        else:
            key = None
        selves[key] += sum(int(v) for v in sample["values"])
    return selves


def inlined_names(dictionary):
    strings = dictionary["stringTable"]
    return {strings[dictionary["functionTable"][line["functionIndex"]]["nameStrindex"]]
            for location in dictionary["locationTable"] for line in location.get("lines", [])[:-1]}


class Restarts(PushCase):
    def setUp(self):
        super().setUp()
        collector.needed_by(self)

    def recorded(self):
        """Windows of each service, and what they hold."""
        kept, expected, inlined = self.fresh_directory("kept"), {}, set()
        for service in SERVICES:
            for _ in range(2):  # two windows at least, however fast the machine is
                run([target("shares"), "threads", sized(1000, 3000)], self.directory,
                    profiled(PUSH=kept / service, FREQ=999, DUMP_EVERY="1s", LABELS=f"service_name={service},region=eu"))
            expected[service] = (Counter(), 0)
            for window in (kept / service).glob("*.fprobe"):
                selves, whole, all_inlined = told_by_json(window)
                expected[service] = (expected[service][0] + selves, expected[service][1] + whole)
                inlined |= all_inlined
        return sorted(kept.glob("*/*.fprobe"), key=lambda p: p.name), expected, inlined

    def put(self, window):
        hidden = self.spool / f".{window.parent.name}.{window.name}"
        shutil.copyfile(window, hidden)
        hidden.rename(self.spool / hidden.name[1:])

    def feed(self, windows, engine):
        """A tenth of a second apart; after every few the Collector is killed, and comes again a second later."""
        kills, since = 0, time.monotonic()
        for number, window in enumerate(windows):
            self.put(window)
            time.sleep(0.1)
            if number % 3 == 2:
                engine.stop(hard=True)
                kills, since = kills + 1, time.monotonic()
            if engine.process is None and time.monotonic() - since > 0.3:
                engine.start()
        if engine.process is None:
            engine.start()
        return kills

    def test_nothing_is_lost_and_all_is_as_the_windows_say(self):
        windows, expected, inlined = self.recorded()
        self.spool.mkdir(mode=0o700)
        engine = collector.Collector(self.directory)
        engine.start()
        self.addCleanup(lambda: engine.stop(hard=True))
        argv = [COMMAND, "push", "--spool", self.spool, "--to", engine.url, "--protocol", "otlp", "--gather", "1s"]
        with started(argv, self.directory, clean_environment()) as uploader:
            kills = self.feed(windows, engine)
            wait_until(lambda: not self.windows(), seconds=120, what="an empty spool")
            uploader.send_signal(signal.SIGTERM)
            self.assertEqual(uploader.wait(timeout=60), 0)
        engine.stop()
        self.assertEqual((self.status()["sent"], self.status()["refused"]), (str(len(windows)), "0"))
        self.assertGreaterEqual(kills, 2)
        found, seen, found_inlined, twice = {s: [Counter(), 0] for s in SERVICES}, set(), set(), 0
        for attributes, profile, dictionary in engine.profiles():
            self.assertEqual(attributes["region"], "eu")
            self.assertTrue(attributes["host"])
            if profile["profileId"] in seen:  # killed between taking it and saying so
                twice += 1
                continue
            seen.add(profile["profileId"])
            selves = self_values(profile, dictionary)
            into = found[attributes["service.name"]]
            into[0] += selves
            into[1] += sum(selves.values())
            found_inlined |= inlined_names(dictionary)
        self.assertLessEqual(twice, kills)
        for service in SERVICES:
            selves, whole = expected[service]
            self.assertEqual(found[service][1], whole, f"{service}: {kills} kills, {twice} profiles twice")
            named = {key: value for key, value in found[service][0].items() if key}
            self.assertEqual(named, {key: value for key, value in selves.items() if key in named})
            self.assertEqual(sum(selves.values()) - sum(named.values()), found[service][0][None])
        self.assertTrue(inlined)
        self.assertEqual(found_inlined, inlined)

    def test_what_is_dropped_arrives_as_a_metric(self):
        for _ in range(2):
            self.record()
        engine = collector.Collector(self.directory)
        self.addCleanup(lambda: engine.stop(hard=True))
        engine.start()
        done = self.push("--once", "--protocol", "otlp", "--max-bytes", "1K", "--label", "pod=shop-1", url=engine.url)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("does not take metrics", done.stderr)
        engine.stop()
        attributes, metrics = engine.metrics()[-1]
        self.assertEqual((attributes["service.name"], attributes["pod"]), ("flameprobe-push", "shop-1"))
        dropped = metrics["flameprobe.push.dropped"]["sum"]
        self.assertEqual((dropped["isMonotonic"], dropped["aggregationTemporality"]), (True, 2))
        self.assertEqual([point["asInt"] for point in dropped["dataPoints"]], ["2"])


if __name__ == "__main__":
    unittest.main()
