#!/usr/bin/env python3
"""From folded text to SVG: time and memory beside flamegraph.pl and inferno, which are given by path where wanted.

usage: folded_to_svg.py RENDER [--stacks N] [--runs N] [--flamegraph flamegraph.pl] [--inferno inferno-flamegraph]
                        [--input FILE]

Without --input the text is made by make_folded.py: N distinct stacks of 13 to 25 frames, about 390 bytes a line. Each
program reads the same file, which has been read before, and writes to a file; ours leaves out what inferno does (0.01 %).
Prints a Markdown table of the fastest run."""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def measure(argv, stdout):
    """(seconds, CPU seconds, peak MiB) of one run."""
    start = time.monotonic()
    with open(stdout, "wb") as out:
        process = subprocess.Popen(argv, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - start
    if status != 0:
        sys.exit(f"{argv[0]} ended with status {os.waitstatus_to_exitcode(status)}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("render")
    parser.add_argument("--stacks", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--flamegraph")
    parser.add_argument("--inferno")
    parser.add_argument("--input")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="flameprobe-bench-") as directory:
        source = options.input or f"{directory}/stacks.folded"
        if not options.input:
            make = Path(__file__).with_name("make_folded.py")
            with open(source, "w") as file:
                subprocess.run([sys.executable, make, str(options.stacks)], stdout=file, check=True,
                               env=dict(os.environ, PYTHONHASHSEED="0"))
        ours, theirs = f"{directory}/ours.svg", f"{directory}/theirs.svg"
        # name: (command, its standard output, the SVG, runs)
        programs = {"flameprobe-render": ([options.render, source, "--min-width", "0.01", "-o", ours], os.devnull, ours, options.runs)}
        if options.inferno:
            programs["inferno-flamegraph"] = ([options.inferno, source], theirs, theirs, options.runs)
        if options.flamegraph:
            programs["flamegraph.pl"] = (["perl", options.flamegraph, source], theirs, theirs, 1)
        with open(source, "rb") as file:  # in pieces: a child's peak memory begins with what its parent had at the fork
            while file.read(1 << 20):
                pass
        print(f"{os.path.getsize(source) / 1e6:.0f} MB of folded text\n")
        print("| program | seconds | CPU seconds | peak MiB | SVG MB |\n|-|-|-|-|-|")
        for name, (argv, stdout, svg, runs) in programs.items():
            best = min(measure(argv, stdout) for _ in range(runs))
            size = os.path.getsize(svg) / 1e6
            print(f"| {name} | {best[0]:.2f} | {best[1]:.2f} | {best[2]:.0f} | {size:.1f} |", flush=True)


if __name__ == "__main__":
    main()
