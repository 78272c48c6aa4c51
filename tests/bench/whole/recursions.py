#!/usr/bin/env python3
"""How much of deep recursions is rooted after the first 0.3 s, and whether of two callers the right one is shown.

usage: recursions.py [--seconds S] [--engine ring|timer ...] [--freq HZ ...] [programs|callers]"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "integration"))
from deep_stacks import caller_is_right, judge, levels_are_right  # noqa: E402
from harness import profiled, read_folded, render, run, target  # noqa: E402

PROGRAMS = [("levels", 100), ("levels", 400), ("levels", 7500), ("varied", 2000), ("json", 100), ("json", 300), ("expression", 2000),
            ("list", 5000), ("regex", 2000), ("fill", 300)]
TURNS = [(mode, share, phase) for mode in ("callers", "repeated", "varied") for share in (70, 90, 97) for phase in (1000, 10_000, 100_000, 1_000_000)]


def stacks_of(argv, engine, frequency, begin="0s"):
    directory = Path(tempfile.mkdtemp(prefix="recursions-"))
    ran = run(argv, directory, profiled(ENGINE=engine, FREQ=frequency, FORMAT="none"))
    if ran.returncode != 0:
        raise SystemExit(ran.stderr)
    return read_folded(render(ran.result().path("fprobe"), "--from", begin, "-o", "-", "--format", "folded").stdout)


def program_row(kind, amount, engine, frequency, seconds):
    rooted = later = cut = wrong = folded = 0
    for frames, weight in stacks_of([target("recursions"), kind, str(seconds), str(amount)], engine, frequency, begin="300ms"):
        if any("[callers read later]" in frame for frame in frames):
            later += weight
        elif "[truncated]" in frames:
            cut += weight
        elif any("main" == frame.split("(")[0] for frame in frames):
            rooted += weight
            folded += weight if "[recursion]" in frames else 0
            wrong += 0 if kind != "levels" or levels_are_right(frames, amount) else weight
    total = rooted + later + cut
    percent = lambda part: f"{100 * part / max(total, 1):5.1f} %"
    print(f"{kind:>10} {amount:5} {engine:>5} {frequency:4}: rooted {percent(rooted)}, of it folded {percent(folded)}, later {percent(later)}, "
          f"cut {percent(cut)}, levels wrong {wrong}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--engine", nargs="+", default=["ring", "timer"])
    parser.add_argument("--freq", type=int, nargs="+", default=[99, 997])
    parser.add_argument("--only", default="")
    parser.add_argument("what", choices=["programs", "callers"])
    wanted = parser.parse_args()
    os.environ.setdefault("LC_ALL", "C")
    whole = wrong = 0
    for engine in wanted.engine:
        for frequency in wanted.freq:
            if wanted.what == "programs":
                for kind, amount in PROGRAMS:
                    if wanted.only in kind:
                        program_row(kind, amount, engine, frequency, wanted.seconds)
                continue
            for mode, share, phase in TURNS:
                if wanted.only not in mode:
                    continue
                argv = [target("deep"), mode, "224", str(wanted.seconds), str(share), str(phase)]
                verdict = judge(stacks_of(argv, engine, frequency), caller_is_right)
                whole, wrong = whole + verdict.whole, wrong + verdict.wrong
                print(f"{mode:>8} {share}/{100 - share} in {phase / 1000:g} ms, {engine} {frequency}: {verdict.wrong} wrong of "
                      f"{verdict.whole} whole, {verdict.truncated} not whole", flush=True)
    if wanted.what == "callers":
        print(f"in all {wrong} wrong of {whole} whole")


if __name__ == "__main__":
    main()
