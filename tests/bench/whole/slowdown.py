"""How much slower an optimised C++ program without frame pointers (engine.cpp) runs under each profiler.

slowdown.py [--freq HZ]... [--pairs N] [--seconds S] [--stack BYTES]... [--only NAME] [--small]

Every pair is a run alone and a run profiled, one right after the other, in an order that alternates; the ratio of the two is
one value. Printed are the median of all pairs and their quartiles, for the wall clock and for the thread's CPU time. A
neighbour on the machine only ever slows a run down, so beside them stands the ratio of the fastest runs: the one that a tenth
of all runs stay below, of those profiled and of those alone, for the CPU time; and how it relates to the floor's. The program
times itself: start, end and writing of results are not in it."""

import argparse
import statistics
import subprocess
import tempfile

from peers import ENGINE, contenders, empty, machine, spread


def timed(before, env, rounds, directory):
    """(wall, CPU) nanoseconds."""
    done = subprocess.run([*map(str, before), str(ENGINE), str(rounds)], env=env, cwd=directory, capture_output=True,
                          text=True, check=True, timeout=300)
    _, wall, cpu = done.stdout.split()
    return int(wall), int(cpu)


def measure(frequency, pairs, seconds, engines, stacks, only):
    with tempfile.TemporaryDirectory(prefix="flameprobe-bench-") as directory:
        found = contenders(frequency, directory, engines, stacks, only)
        alone = found.pop("alone")
        rounds = max(1, round(200 * seconds * 1e9 / timed(*alone, 200, directory)[0]))
        ratios = {name: ([], [], [], []) for name in found}  # wall, CPU; CPU times profiled, alone
        for pair in range(pairs):
            for name, contender in found.items():
                order = [("alone", alone), (name, contender)]
                if pair % 2:
                    order.reverse()
                times = {}
                for who, what in order:
                    times[who] = timed(*what, rounds, directory)
                    empty(directory)
                for kind in (0, 1):
                    ratios[name][kind].append(times[name][kind] / times["alone"][kind] - 1)
                ratios[name][2].append(times[name][1])
                ratios[name][3].append(times["alone"][1])
    return ratios


def fastest(times):
    return statistics.quantiles(times, n=10)[0] if len(times) > 1 else times[0]


def show(frequency, ratios, pairs):
    print(f"\n{frequency} Hz, {pairs} pairs: slowdown, median (quartiles)\n")
    print("| profiler | wall clock | CPU time | fastest tenth, CPU time | of the floor |\n|---|---|---|---|---|")
    alone = fastest([time for kinds in ratios.values() for time in kinds[3]])
    floor = fastest(ratios["floor"][2]) / alone - 1 if "floor" in ratios else 0
    for name, (walls, cpus, profiled, _) in ratios.items():
        wall, cpu = spread(walls), spread(cpus)
        least = fastest(profiled) / alone - 1
        of_floor = f"{least / floor:.2f}" if floor > 0.005 else "-"
        print(f"| {name} | {wall[0]:.2%} ({wall[1]:.2%} to {wall[2]:.2%}) | {cpu[0]:.2%} ({cpu[1]:.2%} to {cpu[2]:.2%}) "
              f"| {least:.2%} | {of_floor} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--freq", type=int, action="append")
    parser.add_argument("--pairs", type=int, default=25)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--engines", default="ring", help="comma list of ring, timer, signal")
    parser.add_argument("--stack", type=int, action="append", help="FlameProbe with so many bytes of stack a sample, too")
    parser.add_argument("--only", default="", help="a part of the names of the profilers wanted")
    parser.add_argument("--small", action="store_true", help="only to see that it works")
    options = parser.parse_args()
    if options.small:
        options.pairs, options.seconds = 1, 0.1
    print(machine())
    for frequency in options.freq or (99, 4000):
        ratios = measure(frequency, options.pairs, options.seconds, options.engines.split(","), options.stack or (),
                         options.only)
        show(frequency, ratios, options.pairs)


if __name__ == "__main__":
    main()
