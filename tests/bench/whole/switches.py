"""What a program pays that leaves its CPU often: switches.py [--freq 99] [--pairs 9] [--megabytes 400] [--small]

`dd` fills a pipe that `md5sum` empties, and waits some thirty times for each megabyte. CPU time of dd and of what profiles it,
without the pictures, alone and under each engine and each other profiler in turns: medians of the differences to alone, with
the quartiles, and per wait."""

import argparse
import os
import subprocess
import tempfile

from contenders import contenders, empty, machine, spread


def run(before, env, directory, megabytes):
    """(CPU seconds, waits) of dd; the harness makes this process wait for collectors that outlive it."""
    reader = subprocess.Popen(["md5sum"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    dd = subprocess.Popen([*before, "dd", "if=/dev/zero", "bs=1M", f"count={megabytes}"], stdout=reader.stdin,
                          stderr=subprocess.DEVNULL, env=env, cwd=directory)
    reader.stdin.close()
    seconds, waits = 0, 0
    while True:
        try:
            pid, status, used = os.wait4(-1, 0)
        except ChildProcessError:
            return seconds, waits
        if pid == reader.pid:
            reader.returncode = status
            continue
        seconds += used.ru_utime + used.ru_stime
        if pid == dd.pid:
            dd.returncode, waits = status, used.ru_nvcsw
            if status != 0:
                raise SystemExit(f"dd ended with wait status {status}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--freq", type=int, default=99)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--megabytes", type=int, default=400)
    parser.add_argument("--small", action="store_true", help="only to see that it works")
    options = parser.parse_args()
    if options.small:
        options.pairs, options.megabytes = 1, 20
    print(machine() + f", load {os.getloadavg()[0]:.1f}, {options.freq} Hz\n")
    with tempfile.TemporaryDirectory(prefix="flameprobe-bench-") as directory:
        found = contenders(options.freq, directory, engines=("auto", "ring", "timer"))
        seconds = {name: [] for name in found}
        waits = []
        for _ in range(options.pairs):
            for name, (before, env) in found.items():
                used, waited = run(before, env | {"FLAMEPROBE_FORMAT": "none"}, directory, options.megabytes)
                seconds[name].append(used)
                if name == "alone":
                    waits.append(waited)
                empty(directory)
    often = spread(waits)[0]
    print(f"alone: {spread(seconds['alone'])[0] * 1e3:.0f} ms, {often:.0f} waits\n")
    print("| | CPU time added | for each wait |\n|-|-|-|")
    for name, with_it in seconds.items():
        if name == "alone":
            continue
        middle, low, high = spread([(a - b) * 1e3 for a, b in zip(with_it, seconds["alone"])])
        print(f"| {name} | {middle:.0f} ms ({low:.0f} to {high:.0f}) | {middle * 1e3 / often:.1f} µs |")


main()
