"""What making a thread costs under each engine and under perf, which have the kernel copy their events to it:
threads.py [--freq 99] [--pairs 30] [--count 10000] [--small]

Rounds of runs, each program in turn: the median over COUNT threads of pthread_create, and of a whole life from there to the
end of pthread_join. Printed are medians and quartiles over the rounds of the ratio to the round's run alone."""

import argparse
import os
import shutil
import subprocess
import tempfile

from contenders import BUILD, EVERY_ENGINE, LIBRARY, clean_environment, empty, machine, spread

THREADS = BUILD / "tests" / "bench" / "whole" / "threads"


def measured(count, before, env, directory):
    done = subprocess.run([*before, THREADS, str(count)], env=env, cwd=directory, capture_output=True, text=True, timeout=120, check=True)
    return [int(word) for word in done.stdout.split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--freq", type=int, default=99)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--small", action="store_true", help="only to see that it works")
    options = parser.parse_args()
    if options.small:
        options.pairs, options.count = 2, 500
    alone = ([], [])
    with tempfile.TemporaryDirectory(prefix="flameprobe-bench-") as directory:
        ways = {f"FlameProbe ({engine})": ([], clean_environment(
            LD_PRELOAD=LIBRARY, FLAMEPROBE_ENGINE=engine, FLAMEPROBE_FREQ=options.freq, FLAMEPROBE_FORMAT="none",
            FLAMEPROBE_LOG="quiet", FLAMEPROBE_OUT=f"{directory}/%p")) for engine in EVERY_ENGINE}
        if perf := shutil.which("perf"):
            ways["perf record"] = ([perf, "record", "-q", "-o", f"{directory}/perf.data", "-e", "cpu-clock", "-F",
                                    str(options.freq), "--"], clean_environment())
        ratios = {way: ([], []) for way in ways}
        for _ in range(options.pairs):
            plain = measured(options.count, [], clean_environment(), directory)
            for values, value in zip(alone, plain):
                values.append(value / 1e3)
            for way, (before, env) in ways.items():
                for values, value, base in zip(ratios[way], measured(options.count, before, env, directory), plain):
                    values.append(value / base)
                empty(directory)
    print(machine() + f", load {os.getloadavg()[0]:.1f}\n")
    print("| profiler | pthread_create | to the end of pthread_join |\n|-|-|-|")
    print("| none | " + " | ".join("{:.1f} µs ({:.1f} to {:.1f})".format(*spread(values)) for values in alone) + " |")
    for way, of_way in ratios.items():
        print(f"| {way} | " + " | ".join("{:.2f} times ({:.2f} to {:.2f})".format(*spread(values)) for values in of_way) + " |")


main()
