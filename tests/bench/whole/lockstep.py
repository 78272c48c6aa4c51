"""What a program in step with its sampling looks like: lockstep.py [--engines ring,timer,signal] [--freq 99,499,997,4000]
             [--runs 5] [--samples 1000] [--percent 0] [--small]

tests/targets/rhythm repeats the work of eight functions as often as was asked to sample it, or after that many percent more
CPU time. Of each run the largest |z| of the functions: the difference between hits and CPU time in standard errors of as many
independent samples. Printed are the median and the largest of the runs."""

import argparse
import os
import statistics
import tempfile
from pathlib import Path

from contenders import machine

from rhythm import scores  # noqa: E402  (contenders has added the path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", default="ring,timer,signal")
    parser.add_argument("--freq", default="99,499,997,4000")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--percent", type=float, default=0)
    parser.add_argument("--small", action="store_true", help="only to see that it works")
    options = parser.parse_args()
    if options.small:
        options.freq, options.runs, options.samples = "997", 1, 100
    print(machine() + f", load {os.getloadavg()[0]:.1f}\n")
    print("| engine | Hz | samples | largest z, median of the runs | of all |\n|-|-|-|-|-|")
    with tempfile.TemporaryDirectory(prefix="flameprobe-bench-") as directory:
        for engine in options.engines.split(","):
            for frequency in map(int, options.freq.split(",")):
                rhythm, milliseconds = round(1e9 / frequency * (1 + options.percent / 100)), 1000 * options.samples // frequency
                worst, samples = [], []
                for _ in range(options.runs):
                    with tempfile.TemporaryDirectory(dir=directory) as out:
                        z, taken = scores(engine, frequency, rhythm, milliseconds, Path(out))
                    worst.append(max(map(abs, z)))
                    samples.append(taken)
                print(f"| {engine} | {frequency} | {statistics.median(samples):.0f} | {statistics.median(worst):.1f} | "
                      f"{max(worst):.1f} |", flush=True)


main()
