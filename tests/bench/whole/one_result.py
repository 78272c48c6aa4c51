"""One run, one result: what it costs: one_result.py forks|redis [--pairs 5] [--freq 99] [--small]

forks: a program that forks two workers of 0.1 s of CPU time thirty times and waits for each pair; elapsed time alone,
with one result and with a result for each process, in turns. redis: peak memory of the server until it has ended, and
the time from its SIGTERM until it has ended and its picture is there, with --samples 10000. Without one of these
names both. Of another build the same, to compare: FLAMEPROBE_BUILD=DIRECTORY. make and `true`: short_lives.py;
pgbench -C: connections.py; what is left of trees: trees.py. Times are worth something on a quiet machine only."""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from contenders import LIBRARY, clean_environment, machine, spread

from harness import started, wait_until  # noqa: E402  (contenders has added the path)
from programs import Missing, find, free_port, listening, load  # noqa: E402

FORKS = r"""
import os, sys, time
def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: sum(range(1000))
for _ in range(int(sys.argv[1])):
    children = []
    for _ in range(2):
        child = os.fork()
        if child == 0:
            work(0.1)
            os._exit(0)
        children.append(child)
    for child in children: os.waitpid(child, 0)
"""
PYTHON = "/usr/bin/python3"


def settings(place, frequency, **more):
    return clean_environment(LD_PRELOAD=LIBRARY, FLAMEPROBE_FREQ=frequency, FLAMEPROBE_LOG="quiet",
                             FLAMEPROBE_OUT=f"{place}/%e.%p", **more)


def forks(options, directory):
    rounds = 2 if options.small else 30
    seconds = {"alone": [], "one result": [], "a result each": []}
    files = {}
    for _ in range(options.pairs):
        for name, taken in seconds.items():
            place = Path(tempfile.mkdtemp(dir=directory))
            env = clean_environment() if name == "alone" else settings(
                place, options.freq, **({"FLAMEPROBE_CHILDREN": "separate"} if name == "a result each" else {}))
            begun = time.perf_counter()
            subprocess.run([PYTHON, "-c", FORKS, str(rounds)], env=env, cwd=place, check=True)
            taken.append(time.perf_counter() - begun)
            files[name] = len(list(place.iterdir()))
    print("| forks | seconds | speed of that alone | files |\n|-|-|-|-|")
    for name, taken in seconds.items():
        ratios = [alone / own for alone, own in zip(seconds["alone"], taken)]
        middle, low, high = spread(ratios)
        print(f"| {name} | {spread(taken)[0]:.2f} | {middle:.3f} ({low:.3f} to {high:.3f}) | {files[name]} |", flush=True)


def peak_of(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0  # a zombie


def end_of_redis(env, place, samples, frequency):
    """(MiB at its peak, seconds from SIGTERM to its end): after the CPU time that gives so many samples."""
    server, benchmark, port = find("redis-server"), find("redis-benchmark"), free_port()
    with started([server, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", place], place, env) as process:
        wait_until(lambda: listening(port), what="redis-server listens")
        ticks = samples / frequency * os.sysconf("SC_CLK_TCK")
        while sum(map(int, Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11:13])) < ticks:
            load([benchmark, "-p", port, "-q", "-n", "50000", "-c", "20", "-t", "set,lpush,lrange_100"])
        peak, begun = peak_of(process.pid), time.perf_counter()
        process.terminate()
        while process.poll() is None:
            try:
                peak = max(peak, peak_of(process.pid))
            except (OSError, ProcessLookupError):
                break
            time.sleep(0.002)
        process.wait(60)
        return peak, time.perf_counter() - begun


def redis(options, directory):
    frequency = 999 if options.small else 4999
    samples = 300 if options.small else options.samples
    rows = {"alone": [], "profiled": [], "profiled, FORMAT=none": []}
    for _ in range(options.pairs):
        for name, measured in rows.items():
            place = Path(tempfile.mkdtemp(dir=directory))
            env = clean_environment() if name == "alone" else settings(
                place, frequency, **({"FLAMEPROBE_FORMAT": "none"} if name.endswith("none") else {}))
            measured.append(end_of_redis(env, place, samples, frequency))
            if name == "profiled" and not list(place.glob("*.svg")):
                raise SystemExit(f"no picture in {sorted(p.name for p in place.iterdir())}")
    print(f"\n| redis, {samples} samples | peak, MiB | SIGTERM to its end, ms |\n|-|-|-|")
    for name, measured in rows.items():
        peaks, ends = zip(*measured)
        print(f"| {name} | {spread(peaks)[0]:.1f} | {1000 * spread(ends)[0]:.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=["forks", "redis", []])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--freq", default="99")
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--small", action="store_true", help="only to see that it works")
    options = parser.parse_args()
    if options.small:
        options.pairs = 1
    print(machine() + f", load {os.getloadavg()[0]:.1f}, uid {os.geteuid()}\n")
    with tempfile.TemporaryDirectory(prefix="flameprobe-bench-") as directory:
        os.chmod(directory, 0o755)
        for name, measure in (("forks", forks), ("redis", redis)):
            if not options.what or name in options.what:
                try:
                    measure(options, directory)
                except Missing as what:
                    print(f"{what} is not installed")


if __name__ == "__main__":
    sys.exit(main())
