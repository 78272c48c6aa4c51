"""One run, one result: what it costs, and what it holds: one_result.py forks|redis|trees [--pairs 5] [--freq 99] [--small]

forks: a program that forks two workers of 0.1 s of CPU time twenty times and waits for each pair; elapsed time alone,
with one result and with a result for each process, in turns. redis: peak memory of the server until it has ended, and
the time from its SIGTERM until it has ended and its picture is there, with --samples 10000. trees: what is left of
trees of processes, and the sum of what is shown beside the processes' clocks. Without one of these names all three.
Of another build the same, to compare: FLAMEPROBE_BUILD=DIRECTORY. make and `true`: short_lives.py; pgbench -C:
connections.py. Times are worth something on a quiet machine only."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from contenders import LIBRARY, clean_environment, machine, spread

from harness import render, run, started, wait_until  # noqa: E402  (contenders has added the path)
from programs import COMPILER, PROGRAMS, Missing, find, free_port, listening, load  # noqa: E402

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
WORK = f"{PYTHON} -c 'import time\nwhile time.process_time() < 0.3: pass'"
TREES = {
    "forks": [PYTHON, "-c", FORKS, 3],
    "sh -c 'a; b'": ["sh", "-c", f"{WORK}; {WORK}"],
    "a pipe": ["sh", "-c", f"{WORK} | {WORK}"],
    "env": ["env", *f"{PYTHON} -c".split(), "import time\nwhile time.process_time() < 0.3: pass"],
    "timeout": ["timeout", "60", "sh", "-c", WORK],
    "setsid": ["sh", "-c", f"setsid sh -c \"{WORK}\" & {WORK}; wait"],
    "a daemon": ["sh", "-c", f"({WORK}; {WORK}) & exit 0"],
}


def settings(place, frequency, **more):
    return clean_environment(LD_PRELOAD=LIBRARY, FLAMEPROBE_FREQ=frequency, FLAMEPROBE_LOG="quiet",
                             FLAMEPROBE_OUT=f"{place}/%e.%p", **more)


def forks(options, directory):
    rounds = 2 if options.small else 20
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


def told_of(place):
    """(files, processes that are shown, seconds that are shown, seconds of the processes' clocks)"""
    wait_until(lambda: not list(place.glob("*.run")), 120, "the end of the run's folder")
    profiles = sorted(place.glob("*.fprobe"))
    if len(profiles) != 1:
        raise SystemExit(f"{len(profiles)} results in {sorted(p.name for p in place.iterdir())}")
    told = json.loads(render(profiles[0], "--format", "json", "-o", "-").stdout)
    rows = [line for line in render(profiles[0], "--tree", "--top", "1").stdout.splitlines() if " %   " in line]
    files = {path.name for path in place.iterdir() if path.stem.startswith(profiles[0].stem.split(".")[0])}
    return len(files), len(rows), told["cpu_time"]["sampled_ns"] / 1e9, told["cpu_time"]["process_ns"] / 1e9


def trees(options, directory):
    print("\n| tree | files | processes in the picture | shown, s | processes' clocks, s | shown of it |\n|-|-|-|-|-|-|")

    def row(name, place):
        files, processes, shown, clocks = told_of(place)
        print(f"| {name} | {files} | {processes} | {shown:.2f} | {clocks:.2f} | {shown / clocks:.1%} |", flush=True)

    for name, argv in TREES.items():
        place = Path(tempfile.mkdtemp(dir=directory))
        ran = run(argv, place, settings(place, 499), timeout=120)
        if ran.returncode != 0:
            raise SystemExit(f"{name} ended with {ran.returncode}: {ran.stderr}")
        row(name, place)
    if options.small:
        return
    for program in (COMPILER, *(p for p in PROGRAMS if p.name in ("redis-server", "nginx", "postgres"))):
        work, place = (Path(tempfile.mkdtemp(dir=directory)) for _ in range(2))
        place.chmod(0o777)
        (work / "run").mkdir()
        try:
            program.start(work / "run", settings(place, 499), 2)
        except Missing as what:
            print(f"| {program.name} | {what} is not installed |")
            continue
        row(program.name, place)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=["forks", "redis", "trees", []])
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
        for name, measure in (("forks", forks), ("redis", redis), ("trees", trees)):
            if not options.what or name in options.what:
                try:
                    measure(options, directory)
                except Missing as what:
                    print(f"{what} is not installed")


sys.exit(main())
