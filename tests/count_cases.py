"""Adds up test cases over meson's logs: count_cases.py BUILD-DIRECTORY..., or with --failed before it the names of the
tests that failed.

A doctest program counts its cases, a Python suite its tests and subtests, any other program counts as one. A program
that failed without saying in which case counts as one failure, and so does a build directory without a log. Skips are
listed with the reason that the test gave. A test that was run again (testlog-again.json) counts as it ended then, and its
first result is told. Exit status 1 if anything failed or nothing passed."""

import json
import re
import sys
from pathlib import Path

DOCTEST = re.compile(r"test cases:\s*\d+ \|\s*(\d+) passed \|\s*(\d+) failed")
OURS = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.MULTILINE)
UNITTEST = re.compile(r"^Ran (\d+) tests? in .*?\n\n(OK|FAILED)(?: \((.*)\))?$", re.MULTILINE)


def strip_colours(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def count_unittest(match):
    parts = dict(part.split("=") for part in (match[3] or "").split(", ") if part)
    failed = int(parts.get("failures", 0)) + int(parts.get("errors", 0))
    skipped = int(parts.get("skipped", 0))
    return max(0, int(match[1]) - failed - skipped), failed, skipped


def cases_in(test):
    """(passed, failed, skipped) of one line of testlog.json."""
    text = strip_colours(test.get("stdout", "") + "\n" + test.get("stderr", ""))
    counts = None
    if matches := DOCTEST.findall(text):
        counts = (sum(int(m[0]) for m in matches), sum(int(m[1]) for m in matches), 0)
    elif matches := OURS.findall(text):
        counts = tuple(sum(int(m[i]) for m in matches) for i in range(3))
    elif matches := list(UNITTEST.finditer(text)):
        counts = tuple(map(sum, zip(*map(count_unittest, matches))))
    result = test["result"]
    if counts is None:
        return (result == "OK", result not in ("OK", "SKIP"), result == "SKIP")
    if result not in ("OK", "SKIP") and counts[1] == 0:
        return counts[0], 1, counts[2]
    return counts


def read_log(directory, name):
    log = Path(directory) / "meson-logs" / name
    lines = log.read_text().splitlines() if log.exists() else []
    return {test["name"]: test for test in map(json.loads, lines)}


def failed_tests(directories):
    for directory in directories:
        for name, test in read_log(directory, "testlog.json").items():
            if test["result"] not in ("OK", "SKIP"):
                print(name.rpartition(" / ")[2])  # as meson's command line takes it


def main(directories):
    total = [0, 0, 0]
    for directory in map(Path, directories):
        tests, again = read_log(directory, "testlog.json"), read_log(directory, "testlog-again.json")
        if not tests:
            print(f"{directory.name}: no tests were run")
            total[1] += 1
        for name, test in tests.items():
            if name in again and test["result"] not in ("OK", "SKIP"):
                print(f"{directory.name}: {name}: at first {cases_in(test)[1]} failed; run again by itself:")
                test = again[name]
            counts = cases_in(test)
            print(f"{directory.name}: {name}: {counts[0]} of {sum(counts)} passed")
            for reason in re.findall(r"^skipped: .*$", strip_colours(test.get("stdout", "")), re.MULTILINE):
                print("    " + reason)
            total = [a + b for a, b in zip(total, counts)]
    print("%d passed, %d failed, %d skipped" % tuple(total))
    return 1 if total[1] > 0 or total[0] == 0 else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--failed"]:
        failed_tests(sys.argv[2:])
    else:
        sys.exit(main(sys.argv[1:]))
