"""How often a gate between two equal runs fails: equal_pairs.py [--pairs 200] [--seconds 1] [--engines ring,timer,signal,auto]
[--freq 99,997,4000] [--state FILE] [--table]

A program whose work is the same each time (tests/targets/shares) is profiled twice, and `flameprobe-render --diff` asked to
fail where a function's share has grown by more than 1 point and more than chance would make it. Whatever fails is a false
alarm: of 200 pairs, four are the most. Printed per engine and frequency: CPU time of a run, its samples (hits), what one of
them stands for on average (periods), how busy the machine was meanwhile (load), and how many pairs failed; and on stderr what
the failing ones failed for. The engine `auto` is what an ordinary user gets by default: rings for user time, CPU timers for
the kernel's.

With --state every pair is kept in FILE, a line of JSON each, as soon as it is measured: started again, the program goes on
where it was ended, and --table only prints what is there."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "integration"))
from harness import LIBRARY, RENDER, clean_environment, profiled, target  # noqa: E402  (the path above is where it lies)

# Preloaded by env, since setpriv is not what is measured.
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", f"LD_PRELOAD={LIBRARY}"]
ROW = "| {:<6} | {:>5} | {:>5} | {:>7} | {:>7} | {:>4} | {:>5} | {:>6} |"


def rounds_a_second():
    """Of this machine, by a run without FlameProbe."""
    rounds = 100
    while True:
        begin = os.times()
        subprocess.run([target("shares"), "leaves", str(rounds)], env=clean_environment(), check=True, timeout=300,
                       stdout=subprocess.DEVNULL)
        end = os.times()
        used = end.children_user - begin.children_user
        if used > 0.2:
            return rounds / used
        rounds *= 4


def take(directory, name, rounds, engine, frequency):
    out = directory / name
    env, user = profiled(ENGINE=engine, FREQ=frequency, OUT=out, FORMAT="json", LOG="quiet"), []
    if engine == "auto" and os.geteuid() == 0:
        user = NOBODY
        del env["LD_PRELOAD"]
        directory.chmod(0o777)
    subprocess.run([*user, target("shares"), "leaves", str(rounds)], check=True, timeout=600, stdout=subprocess.DEVNULL,
                   cwd=directory, env=env)
    return out.with_suffix(".fprobe"), json.loads(out.with_suffix(".json").read_text())


def grown(before, after, percent):
    """What the gate says of the functions that it fails for; nothing if it passes."""
    done = subprocess.run([RENDER, "--diff", before, after, "--fail-above", str(percent)], capture_output=True, text=True,
                          env=clean_environment(), timeout=60)
    if done.returncode not in (0, 3):
        raise SystemExit(f"flameprobe-render --diff: {done.stderr}")
    lines = [line for line in done.stdout.splitlines() if line.startswith("above ")]
    if (done.returncode == 3) != bool(lines):
        raise SystemExit(f"flameprobe-render --diff ended with {done.returncode} and says: {lines}")
    return lines


def measure(engine, frequency, rounds):
    """One pair."""
    with tempfile.TemporaryDirectory(prefix="flameprobe-pairs-") as name:
        (before, one), (after, other) = (take(Path(name), part, rounds, engine, frequency) for part in ("before", "after"))
        both = (one, other)
        found = grown(before, after, 1)
        return {"engine": engine, "frequency": frequency, "failed": bool(found), "grown": found, "load": os.getloadavg()[0],
                "hits": sum(told["samples"]["taken"] for told in both), "periods": sum(told["cpu_time"]["sampled_ns"] // told["sampling"]["period_ns"] for told in both),
                "cpu_ns": sum(told["cpu_time"]["process_ns"] for told in both)}


def table(pairs):
    print(ROW.format("engine", "Hz", "CPU s", "samples", "periods", "load", "pairs", "failed"))
    print(ROW.format(*["-"] * 8))
    of = defaultdict(list)
    for pair in pairs:
        of[pair["engine"], pair["frequency"]].append(pair)
    for (engine, frequency), own in of.items():
        cpu_ns, hits, periods, failed = (sum(pair[what] for pair in own) for what in ("cpu_ns", "hits", "periods", "failed"))
        load = statistics.median(pair["load"] for pair in own)
        print(ROW.format(engine, frequency, f"{cpu_ns / 2e9 / len(own):.2f}", hits // (2 * len(own)),
                         f"{periods / max(1, hits):.2f}", f"{load:.0f}", len(own), failed))
    for pair in pairs:
        for line in pair["grown"]:
            print(f"{pair['engine']}, {pair['frequency']} Hz: {line}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=1, help="of CPU time a run")
    parser.add_argument("--engines", default="ring,timer,signal,auto")
    parser.add_argument("--freq", default="99,997,4000")
    parser.add_argument("--state", type=Path, help="where pairs are kept, to go on later")
    parser.add_argument("--table", action="store_true", help="print what --state holds, and measure nothing")
    parser.add_argument("--small", action="store_true", help="to see that it works")
    options = parser.parse_args()
    if options.small:
        options.pairs, options.seconds = 1, 0.2
    done = []
    if options.state and options.state.exists():
        done = [json.loads(line) for line in options.state.read_text().splitlines()]
    if not options.table:
        rounds = max(1, round(rounds_a_second() * options.seconds))
        wanted = [(engine, int(frequency)) for engine in options.engines.split(",") for frequency in options.freq.split(",")]
        for nth in range(options.pairs):  # in turns, so that a part is a part of each
            for engine, frequency in wanted:
                if sum((pair["engine"], pair["frequency"]) == (engine, frequency) for pair in done) > nth:
                    continue
                done.append(measure(engine, frequency, rounds))
                if options.state:
                    with options.state.open("a") as file:
                        file.write(json.dumps(done[-1]) + "\n")
    table(done)


if __name__ == "__main__":
    main()
