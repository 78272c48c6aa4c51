"""What a process for each connection costs PostgreSQL: connections.py [--pairs 5] [--seconds 4] [--freq 99] [--held 100]
[--small]

`pgbench -C -S`, which makes a connection for each query, and so a server process: connections a second alone and under
FlameProbe in turns (A B A B); medians, with the quartiles. Of so many connections that are held for the whole run: the
memory that each server process has pinned (VmPin: the rings), and how many of these processes the result has."""

import argparse
import json
import os
import re
import statistics
import tempfile
import threading
from pathlib import Path

from contenders import LIBRARY, clean_environment, machine, spread

from harness import render  # noqa: E402  (contenders has added the path)
from programs import Missing, postgres_server  # noqa: E402


def rate(env, seconds):
    with tempfile.TemporaryDirectory(prefix="flameprobe-bench-") as parent:
        directory = Path(parent) / "server"
        directory.mkdir()
        with postgres_server(directory, env) as (process, pgbench, _):
            said = pgbench("-n", "-C", "-S", "-c", "2", "-T", seconds)
            process.send_signal(2)  # SIGINT: a fast shutdown
            process.wait(60)
    return float(re.search(r"tps = ([0-9.]+)", said)[1])


def pinned_by_processes(of, seen, done):
    """Into `seen`, by pid: the most KiB that children of `of` have pinned, until `done`."""
    while not done.wait(0.2):
        for pid in Path(f"/proc/{of}/task/{of}/children").read_text().split():
            try:
                kib = int(re.search(r"VmPin:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1])
            except (OSError, TypeError):
                continue  # it has ended, or is a zombie
            seen[pid] = max(kib, seen.get(pid, 0))


def held(count, settings, seconds):
    with tempfile.TemporaryDirectory(prefix="flameprobe-bench-") as parent:
        directory = Path(parent) / "server"
        directory.mkdir()
        env = clean_environment(LD_PRELOAD=LIBRARY, FLAMEPROBE_FORMAT="json", FLAMEPROBE_OUT=f"{directory}/out", **settings)
        with postgres_server(directory, env) as (process, pgbench, _):
            seen, done = {}, threading.Event()
            looks = threading.Thread(target=pinned_by_processes, args=(process.pid, seen, done))
            looks.start()
            pgbench("-n", "-S", "-c", count, "-j", "2", "-T", seconds)
            done.set()
            looks.join()
            process.send_signal(2)  # SIGINT: a fast shutdown
            process.wait(60)
        told = json.loads((directory / "out.json").read_text())
        processes = re.search(r"([0-9]+) processes", render(directory / "out.fprobe", "--info").stdout)[1]
    print(f"\n{count} connections held for {seconds} s: {len(seen)} server processes, {sum(map(bool, seen.values()))} with rings of "
          f"{statistics.median(seen.values())} KiB each (at most {max(seen.values())}); the result has {processes} "
          f"processes, {told['cpu_time']['sampled_share']:.0%} of their CPU time sampled")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--freq", default="99")
    parser.add_argument("--held", type=int, default=100, metavar="CONNECTIONS")
    parser.add_argument("--small", action="store_true", help="only to see that it works")
    options = parser.parse_args()
    if options.small:
        options.pairs, options.seconds, options.held = 1, 1, 4
    print(machine() + f", load {os.getloadavg()[0]:.1f}, {options.freq} Hz\n")
    settings = {"FLAMEPROBE_FREQ": options.freq, "FLAMEPROBE_LOG": "quiet"}
    ours = clean_environment(LD_PRELOAD=LIBRARY, **settings)
    alone, with_ours, ratios = [], [], []
    try:
        for _ in range(options.pairs):
            alone.append(rate(clean_environment(), options.seconds))
            with_ours.append(rate(ours, options.seconds))
            ratios.append(with_ours[-1] / alone[-1])
    except Missing as what:
        return print(f"{what} is not installed")
    middle, low, high = spread(ratios)
    print("| | alone | under FlameProbe | ratio |\n|-|-|-|-|")
    print(f"| connections a second | {spread(alone)[0]:.0f} | {spread(with_ours)[0]:.0f} | {middle:.2f} ({low:.2f} to {high:.2f}) |")
    return held(options.held, settings, options.seconds)


main()
