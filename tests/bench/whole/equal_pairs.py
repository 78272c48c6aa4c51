"""How often a gate between two equal runs fails: equal_pairs.py [--pairs 200] [--seconds 1] [--engines ring,timer,signal]
[--freq 99,997,4000]

A program whose work is the same each time (tests/targets/shares) is profiled twice, and `flameprobe-render --diff` asked to
fail where a function's share has grown by more than 1 point and more than chance would make it. Whatever fails is a false
alarm: of 200 pairs, four are the most. Printed per engine and frequency: samples of a run (hits), what one of them stands for
on average (periods), and how many pairs failed."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "integration"))
from harness import RENDER, clean_environment, profiled, target  # noqa: E402  (the path above is where it lies)

ROW = "| {:<6} | {:>5} | {:>7} | {:>7} | {:>5} | {:>6} |"


def rounds_for(seconds):
    """Of this machine, by a run without FlameProbe."""
    rounds = 100
    while True:
        begin = os.times()
        subprocess.run([target("shares"), "leaves", str(rounds)], env=clean_environment(), check=True, timeout=300,
                       stdout=subprocess.DEVNULL)
        end = os.times()
        used = end.children_user - begin.children_user
        if used > min(seconds, 0.2):
            return max(1, round(rounds * seconds / used))
        rounds *= 4


def take(directory, name, rounds, engine, frequency):
    out = directory / name
    subprocess.run([target("shares"), "leaves", str(rounds)], check=True, timeout=600, stdout=subprocess.DEVNULL,
                   cwd=directory, env=profiled(ENGINE=engine, FREQ=frequency, OUT=out, FORMAT="json", LOG="quiet"))
    return out.with_suffix(".fprobe"), json.loads(out.with_suffix(".json").read_text())["samples"]


def fails(before, after, percent):
    done = subprocess.run([RENDER, "--diff", before, after, "--fail-above", str(percent)], capture_output=True, text=True,
                          env=clean_environment(), timeout=60)
    if done.returncode not in (0, 3):
        raise SystemExit(f"flameprobe-render --diff: {done.stderr}")
    return done.returncode == 3


def measure(engine, frequency, pairs, rounds):
    failed, hits, periods = 0, 0, 0
    with tempfile.TemporaryDirectory(prefix="flameprobe-pairs-") as name:
        for _ in range(pairs):
            runs = [take(Path(name), part, rounds, engine, frequency) for part in ("before", "after")]
            failed += fails(runs[0][0], runs[1][0], 1)
            hits += sum(samples["hits"] for _, samples in runs)
            periods += sum(samples["taken"] for _, samples in runs)
    print(ROW.format(engine, frequency, hits // (2 * pairs), f"{periods / hits:.2f}", pairs, failed), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=1, help="of CPU time a run")
    parser.add_argument("--engines", default="ring,timer,signal")
    parser.add_argument("--freq", default="99,997,4000")
    parser.add_argument("--small", action="store_true", help="to see that it works")
    options = parser.parse_args()
    if options.small:
        options.pairs, options.seconds = 1, 0.2
    rounds = rounds_for(options.seconds)
    print(ROW.format("engine", "Hz", "samples", "periods", "pairs", "failed"))
    print(ROW.format(*["---"] * 6))
    for engine in options.engines.split(","):
        for frequency in options.freq.split(","):
            measure(engine, frequency, options.pairs, rounds)


if __name__ == "__main__":
    main()
