"""What each call of an allocator asked for, and how long each kind of lock was waited for, beside the program's own account:
truths.py allocations|locks|rust [--rounds 8] [--seconds 6] [--engine timer]

The program is tests/targets/truths.cpp, or truths.rs: a function for each call and each kind. Printed are the difference, and the standard error:
of allocations what follows from the sampling, of locks what the rounds show. Of waits also how much of the time has a holder, and
how much the right one."""

import argparse
import collections
import math
import re
import statistics
import subprocess
import tempfile
from pathlib import Path

from contenders import BUILD, LIBRARY, clean_environment, machine

TRUTHS = BUILD / "tests" / "targets" / "truths"
RUST = Path(__file__).resolve().parents[2] / "targets" / "truths.rs"
ALLOC = BUILD / "preload" / "alloc" / "libflameprobe-alloc.so"
MEAN = 512 * 1024  # bytes from one sample to the next


def stacks(profile, event):
    text = subprocess.run([BUILD / "tools" / "render" / "flameprobe-render", "--event", event, "-f", "folded", "-o", "-", profile],
                          check=True, capture_output=True, text=True).stdout
    for line in text.splitlines():
        frames, _, weight = line.rpartition(" ")
        yield frames.split(";"), int(weight)


def of_function(found, function):
    """(weight in all, with a holder, with the thread that holds it), without what the holder does and time in run queues."""
    known = re.compile(rf"(?<!\w){function}(?!\w)")
    weights = [0, 0, 0]
    for frames, weight in found:
        end = next((at for at, frame in enumerate(frames) if frame.startswith("[held by ")), len(frames))
        if "[preempted]" in frames or not any(known.search(frame) for frame in frames[1:end]):
            continue
        held = frames[end][len("[held by "):-1] if end < len(frames) else None
        weights[0] += weight
        weights[1] += weight if held else 0
        weights[2] += weight if held == f"h-{function}"[:15] else 0
    return weights


def one_round(options, place):
    """{function: (own account, calls, weights)}"""
    locks = options.what != "allocations"
    settings = {"LD_PRELOAD": f"{LIBRARY}" + ("" if locks else f":{ALLOC}"), "FLAMEPROBE_OUT": f"{place}/x", "FLAMEPROBE_FORMAT": "none",
                "FLAMEPROBE_EVENT": "cpu,offcpu" if locks else "alloc", "FLAMEPROBE_OFFCPU_FREQ": "499", "FLAMEPROBE_LOG": "quiet"}
    if options.engine:
        settings["FLAMEPROBE_ENGINE"] = options.engine
    program = [options.rust] if options.what == "rust" else [TRUTHS, options.what]
    said = subprocess.run([*program, *([str(options.seconds)] if locks else [])], env=clean_environment(**settings), check=True,
                          capture_output=True, text=True).stdout
    found = list(stacks(place / "x.fprobe", "offcpu" if locks else "alloc"))
    return {function: (int(own) / (1000 if locks else 1), int(calls), of_function(found, function))
            for function, own, calls in (line.split() for line in said.splitlines())}


def standard_error(options, rows):
    """Relative, of the sum."""
    own, calls = sum(row[0] for row in rows), sum(row[1] for row in rows)
    if options.what != "allocations":
        return statistics.stdev(row[2][0] / row[0] for row in rows) / math.sqrt(len(rows))
    chance = -math.expm1(-own / calls / MEAN)
    return math.sqrt((1 - chance) / chance / calls)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("allocations", "locks", "rust"))
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=int, default=6)
    parser.add_argument("--engine")
    options = parser.parse_args()
    locks = options.what != "allocations"
    rows = collections.defaultdict(list)
    for number in range(max(options.rounds, 2)):
        with tempfile.TemporaryDirectory() as place:
            if options.what == "rust":
                options.rust = Path(place) / "truths"
                subprocess.run(["rustc", "-O", "-o", options.rust, RUST], check=True)
            for function, row in one_round(options, Path(place)).items():
                rows[function].append(row)
        print(f"round {number + 1}", flush=True)
    print(machine())
    print("| | own account | profile | standard error | off by |" + (" named holder, the right one |" if locks else ""))
    print("|-|-|-|-|-|" + ("-|" if locks else ""))
    for function, found in rows.items():
        own, weight, held, right = (sum(column) for column in zip(*((row[0], *row[2]) for row in found), strict=True))
        error = standard_error(options, found)
        line = f"| {function} | {own:,.0f} | {100 * (weight / own - 1):+.2f} % | {100 * error:.2f} % | {(weight / own - 1) / error:+.1f} |"
        print(line + (f" {100 * held / weight:.0f} %, {100 * right / weight:.0f} % |" if locks else ""))


if __name__ == "__main__":
    main()
