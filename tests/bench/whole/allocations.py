"""What it costs to sample allocations, beside heaptrack and gperftools' heap profiler where they are installed:
allocations.py [--rounds 9] [--small]

Two programs that do nothing but allocate (whole/allocate.c), and redis-server under redis-benchmark. Each tool runs once in every
round, one after the other, so that what the machine does meanwhile falls on all alike; printed are medians and the ratio to the
same program alone. To be run on a machine that does nothing else."""

import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from peers import BUILD, LIBRARY, clean_environment, machine
from programs import free_port  # noqa: E402  (peers has added the path)

ALLOC = BUILD / "preload" / "alloc" / "libflameprobe-alloc.so"
ALLOCATE = BUILD / "tests" / "bench" / "whole" / "allocate"
TCMALLOC = Path("/usr/lib") / f"{os.uname().machine}-linux-gnu" / "libtcmalloc.so.4"


def ours(event, **settings):
    return clean_environment(LD_PRELOAD=f"{LIBRARY}:{ALLOC}", FLAMEPROBE_EVENT=event, FLAMEPROBE_FORMAT="none",
                             FLAMEPROBE_LOG="quiet", **settings)


def tools():
    """By name: what comes before the command, and its environment."""
    known = {"alone": ([], clean_environment()),
             "cpu only": ([], clean_environment(LD_PRELOAD=LIBRARY, FLAMEPROBE_FORMAT="none", FLAMEPROBE_LOG="quiet")),
             "no sample": ([], ours("alloc", FLAMEPROBE_ALLOC_BYTES="1024G")),
             "alloc": ([], ours("alloc")), "heap": ([], ours("heap"))}
    if shutil.which("heaptrack"):
        known["heaptrack"] = (["heaptrack", "-o", "heaptrack.out"], clean_environment())
    if TCMALLOC.exists():
        known["tcmalloc alone"] = ([], clean_environment(LD_PRELOAD=TCMALLOC))
        known["gperftools"] = ([], clean_environment(LD_PRELOAD=TCMALLOC, HEAPPROFILE="heap.prof"))
    return known


def pair_ns(before, env, directory, arguments):
    done = subprocess.run([*before, ALLOCATE, *arguments], env=env, cwd=directory, capture_output=True, text=True, timeout=300, check=True)
    return next(float(line) for line in done.stdout.splitlines() if line.replace(".", "", 1).isdigit())


def redis_ns(before, env, directory, requests):
    port = free_port()
    server = subprocess.Popen([*before, "redis-server", "--port", str(port), "--save", "", "--daemonize", "no"], env=env, cwd=directory,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            if subprocess.run(["redis-cli", "-p", str(port), "ping"], capture_output=True, text=True).stdout == "PONG\n":
                break
            time.sleep(0.05)
        begin = time.monotonic()
        subprocess.run(["redis-benchmark", "-p", str(port), "-t", "set,lpush", "-n", str(requests), "-P", "16", "-d", "200", "-q"],
                       capture_output=True, check=True)
        return (time.monotonic() - begin) * 1e9 / (2 * requests)
    finally:
        subprocess.run(["redis-cli", "-p", str(port), "shutdown", "nosave"], capture_output=True)
        server.wait(timeout=60)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--small", action="store_true", help="only to see that it works")
    options = parser.parse_args()
    rounds, part = (1, 100) if options.small else (options.rounds, 1)
    loads = {"malloc and free, 64 bytes": lambda *tool: pair_ns(*tool, ["pairs", str(50_000_000 // part), "64"]),
             "1,000 alive, 500 bytes": lambda *tool: pair_ns(*tool, ["grow", str(20_000_000 // part), "500"]),
             "malloc and free, 20,000 bytes": lambda *tool: pair_ns(*tool, ["pairs", str(5_000_000 // part), "20000"])}
    if shutil.which("redis-server") and shutil.which("redis-benchmark"):
        loads["redis, a request"] = lambda *tool: redis_ns(*tool, 1_000_000 // part)
    print(f"{machine()}, load {os.getloadavg()[0]:.1f}, {rounds} rounds, medians\n")
    print("| program | tool | ns | more than alone | ratio |\n|-|-|-|-|-|")
    for load, measure in loads.items():
        taken = {name: [] for name in tools()}
        for _ in range(rounds):
            for name, (before, env) in tools().items():
                with tempfile.TemporaryDirectory(prefix="flameprobe-bench-") as directory:
                    taken[name].append(measure(before, env, directory))
        alone = statistics.median(taken["alone"])
        for name, values in taken.items():
            ns = statistics.median(values)
            print(f"| {load} | {name} | {ns:.2f} | {ns - alone:+.2f} | {ns / alone:.3f} |", flush=True)


main()
