"""What is lost of redis-server under load beside busy loops:
beside.py [--freq 99,997] [--runs 3] [--seconds 5] [--loops 3] [--small]

Printed of its CPU time: what stands as [lost], median and most of the runs, and the median of what was sampled."""

import argparse
import contextlib
import json
import os
import statistics
import tempfile
from pathlib import Path

from contenders import machine

from harness import clean_environment, profiled, started  # noqa: E402  (contenders has added the path)
from programs import Missing, redis  # noqa: E402


def run(frequency, options):
    with tempfile.TemporaryDirectory(prefix="flameprobe-bench-") as directory, contextlib.ExitStack() as loops:
        for _ in range(options.loops):
            loop = ["timeout", options.seconds + 60, "sh", "-c", "while :; do :; done"]  # ends too where this is killed
            loops.enter_context(started(loop, directory, clean_environment()))
        redis(Path(directory), profiled(FREQ=frequency, FORMAT="json", LOG="quiet", OUT=f"{directory}/out"), options.seconds)
        told = json.loads((Path(directory) / "out.json").read_text())
    return told["samples"]["lost_ns"] / told["cpu_time"]["process_ns"], told["cpu_time"]["sampled_share"]


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
for name, usual in (("freq", "99,997"), ("runs", 3), ("seconds", 5), ("loops", 3)):
    parser.add_argument(f"--{name}", type=type(usual), default=usual)
parser.add_argument("--small", action="store_true", help="only to see that it works")
given = parser.parse_args()
if given.small:
    given.freq, given.runs, given.seconds = "997", 1, 1
print(machine() + f", load {os.getloadavg()[0]:.1f}\n\n| Hz | lost | most | sampled |\n|-|-|-|-|")
with contextlib.suppress(Missing):
    for hertz in given.freq.split(","):
        lost, sampled = zip(*(run(hertz, given) for _ in range(given.runs)))
        print(f"| {hertz} | {statistics.median(lost):.2%} | {max(lost):.2%} | {statistics.median(sampled):.1%} |", flush=True)
