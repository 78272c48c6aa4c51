#!/usr/bin/env python3
"""The cost of a scope: by the clock with nothing there, with FlameProbe preloaded and idle, and while it samples at 999 Hz;
and in instructions (valgrind --tool=callgrind, where it is installed).

usage: scope_bench.py PROGRAM LIBRARY [--rounds N]"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROWS = ["empty function", "scope", "two scopes", "scope, interned label", "empty function, shared library",
        "scope, shared library", "request", "pair of clock_gettime", "intern, known text", "capture of one scope"]
BASE = {"scope": "empty function", "two scopes": "empty function", "scope, interned label": "empty function",
        "scope, shared library": "empty function, shared library", "request": "empty function"}


def environment(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("FLAMEPROBE_", "LD_"))}
    return env | more


def timed(program, directory, rounds, env):
    out = subprocess.run([program, str(rounds)], cwd=directory, env=env, check=True, capture_output=True, text=True).stdout
    return {name: float(median) for name, median, _, _ in (line.split("\t") for line in out.splitlines())}


def instructions(program, directory, row):
    """Of one call: the difference between two numbers of calls."""
    def count(calls):
        done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, "--count", row,
                               str(calls)], cwd=directory, env=environment(), capture_output=True, text=True, check=True)
        return int(re.search(r"Collected : (\d+)", done.stderr)[1])
    return (count(3000) - count(1000)) / 2000


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("library")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    settings = {
        "alone": {},
        "preloaded": {"LD_PRELOAD": os.path.abspath(options.library), "FLAMEPROBE_START": "0"},
        "999 Hz": {"LD_PRELOAD": os.path.abspath(options.library), "FLAMEPROBE_FREQ": "999", "FLAMEPROBE_FORMAT": "none"},
    }
    if not os.path.exists(options.library):
        settings = {"alone": {}}
    with tempfile.TemporaryDirectory() as directory:
        times = {name: timed(program, directory, options.rounds, environment(**env)) for name, env in settings.items()}
        have_valgrind = shutil.which("valgrind") is not None
        counts = {row: instructions(program, directory, row) if have_valgrind else None for row in ROWS}
    print(f"{'ns a call (above the empty function)':38}" + "".join(f"{name:>20}" for name in times) + f"{'instructions':>14}")
    for row in ROWS:
        cells = ""
        for name in times:
            value = times[name][row]
            above = f" (+{value - times[name][BASE[row]]:.2f})" if row in BASE else ""
            cells += f"{f'{value:.2f}{above}':>20}"
        count = "" if counts[row] is None else f"{counts[row]:.1f}"
        print(f"{row:38}{cells}{count:>14}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
