#!/usr/bin/env python3
"""Names and formats beside other programs, by one command: folded text to SVG beside flamegraph.pl
and inferno, and naming addresses in a library with much debug information beside llvm-symbolizer, addr2line and perf script.

usage: names_and_formats.py RENDER SYMBOLIZE_ADDRESSES [--stacks N] [--megabytes N] [--addresses N] [--rounds N]
                            [--library FILE]

flamegraph.pl is looked for in $FLAMEGRAPH_DIR, inferno-flamegraph in PATH; a program that is not found has a row that
says so."""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def flamegraph():
    path = os.path.join(os.environ.get("FLAMEGRAPH_DIR", ""), "flamegraph.pl")
    return path if "FLAMEGRAPH_DIR" in os.environ and os.path.exists(path) else shutil.which("flamegraph.pl")


def ours(script, *argv):
    sys.stdout.flush()
    subprocess.run([sys.executable, HERE / script, *map(str, argv)], check=True, stdin=subprocess.DEVNULL)


def pictures(options):
    print(f"## {options.stacks:,} distinct stacks to SVG\n")
    argv, missing = [options.render, "--stacks", options.stacks, "--runs", options.rounds], []
    for name, option, path in (("inferno-flamegraph", "--inferno", shutil.which("inferno-flamegraph")),
                               ("flamegraph.pl", "--flamegraph", flamegraph())):
        if path:
            argv += [option, path]
        else:
            missing.append(name)
    ours("folded_to_svg.py", *argv)
    for name in missing:
        print(f"| {name} | not here | | | |")


def names(options, directory):
    library = options.library or f"{directory}/library.so"
    print(f"\n## {options.addresses:,} addresses\n")
    if not options.library:
        ours("make_debug_info.py", library, options.megabytes)
    ours("symbolize.py", options.symbolize_addresses, library, "--addresses", options.addresses, "--rounds", options.rounds)
    if not any(shutil.which(name) for name in ("llvm-symbolizer", "llvm-symbolizer-14")):
        print("llvm-symbolizer: not here")
    if not shutil.which("perf"):
        print("perf script: not here")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("render")
    parser.add_argument("symbolize_addresses")
    parser.add_argument("--stacks", type=int, default=1_000_000)
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--addresses", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--library", help="a file with debug information, rather than one that is made")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} CPUs, load average {load:.1f} at the start\n")
    pictures(options)
    with tempfile.TemporaryDirectory(prefix="flameprobe-bench-") as directory:
        names(options, directory)
    print(f"\nload average {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
