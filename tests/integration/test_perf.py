"""Side by side with perf on the same run: the distribution over functions at the leaf may differ from perf's no more than
two perf runs differ (total variation distance), with room for chance."""

import re
import shutil
import unittest
from collections import Counter
from pathlib import Path

from figures import is_sample
from harness import Case, clean_environment, profiled, run, sized, target

FREQUENCY = 997
ROUNDS = sized(2500, 6000)


def plain(name):
    """A function's name as both tools agree on it: without parameters, templates, versions and clone suffixes."""
    name = re.sub(r"\(anonymous namespace\)::", "", name)
    previous = None
    while previous != name:
        previous, name = name, re.sub(r"<[^<>]*>|\([^()]*\)", "", name)
    name = re.sub(r"(@@?[\w.]+|\.(constprop|isra|part|cold)[.\d]*| const| \[clone.*)$", "", name)
    return name.split("::")[-1].split(" ")[-1].strip("_")


def distance(one, other):
    """Total variation distance of two Counters, 0 to 1."""
    sums = sum(one.values()), sum(other.values())
    return sum(abs(one[k] / sums[0] - other[k] / sums[1]) for k in {*one, *other}) / 2


def our_leaves(stacks):
    leaves = Counter()
    for frames, count in stacks:
        if not is_sample(frames) or frames[-1].endswith("_[k]"):
            continue
        while frames[-1].endswith("_[i]"):  # perf names the function that the inlined code is part of
            frames = frames[:-1]
        leaves["?" if frames[-1].startswith("[") else plain(frames[-1])] += count
    return leaves


def chance(samples, functions):
    """What two samples of one distribution differ by: the expectation's bound sqrt(k / (2 pi n)) twice, and half again."""
    return 1.5 * 2 * (functions / (6.28 * samples)) ** 0.5


class Perf(Case):
    def perf(self, argv, directory, env):
        self.need("perf")
        data = directory / "perf.data"
        ran = run([shutil.which("perf"), "record", "-q", "--no-buildid", "--no-buildid-cache", "-e", "cpu-clock:u", "-F", FREQUENCY, "-o", data, "--", *argv],
                  directory, env)
        if ran.returncode != 0:
            self.skipTest(f"perf cannot record here: {ran.stderr.strip()[:200]}")
        report = run([shutil.which("perf"), "report", "-i", data, "--stdio", "-F", "sample,sym", "-t", ";"], directory,
                     clean_environment())
        if report.returncode < 0:
            self.skipTest(f"perf itself crashes on its data: {report.stderr.strip()[:200]}")
        leaves = Counter()
        for count, name in re.findall(r"^\s*(\d+)\s*;\[.\] (.*?)\s*$", report.stdout, re.MULTILINE):
            leaves["?" if re.match("0x[0-9a-f]+$", name) else plain(name)] += int(count)
        self.assertGreater(sum(leaves.values()), 0, report.stderr)
        return ran, leaves

    def compare(self, argv):
        env = profiled(FREQ=FREQUENCY, FORMAT="folded", KERNEL="off")
        alone = self.perf(argv, self.fresh_directory("perf"), clean_environment())[1]
        directory = self.fresh_directory("both")
        ran, beside = self.perf([shutil.which("env"), f"LD_PRELOAD={env.pop('LD_PRELOAD')}", *argv], directory, env)
        ours = our_leaves(ran.result(Path(str(argv[0])).name).stacks())
        self.assertGreater(sum(ours.values()), 500)
        between, limit = distance(ours, beside), distance(alone, beside) + chance(sum(ours.values()), len({*ours, *beside}))
        print(f"  total variation distance between FlameProbe and perf on one run: {between:.4f}; between two runs of perf: "
              f"{distance(alone, beside):.4f}")
        self.assertLessEqual(between, limit, f"ours {ours.most_common(8)}, perf {beside.most_common(8)}")

    def test_known_shares(self):
        self.compare([target("shares"), "leaves", ROUNDS])

    def test_recursion(self):
        self.compare([target("shares"), "mutual", ROUNDS])

    def test_python(self):
        script = self.directory / "script.py"
        script.write_text("import json\nfor i in range(40000):\n    json.loads(json.dumps({str(k): list(range(20)) for k in range(20)}))\n")
        self.compare(["/usr/bin/python3", script])


if __name__ == "__main__":
    unittest.main()
