"""What records of switches cost: waits.py [--pairs 20] [--threads 1000] [--small]

Two threads of one CPU hand a byte to and fro for 0.4 s (then FlameProbe would stop recording so many switches): alone, with
CPU samples, and with waits too, in turn; printed is the time of a switch. Then the collector's CPU time where many threads
wait, each of them woken now and then."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from peers import BUILD, LIBRARY, clean_environment, empty, machine, spread

WAITS = BUILD / "tests" / "targets" / "waits"
THREADS = """
import sys, threading, time
count, end = int(sys.argv[1]), time.monotonic() + float(sys.argv[2])
def wait(n):
    while time.monotonic() < end: time.sleep(0.5 + n / count)
threads = [threading.Thread(target=wait, args=(n,)) for n in range(count)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def profiled(directory, event, **settings):
    return clean_environment(LD_PRELOAD=LIBRARY, FLAMEPROBE_EVENT=event, FLAMEPROBE_LOG="quiet",
                             FLAMEPROBE_OUT=f"{directory}/%p", **{"FLAMEPROBE_FORMAT": "none"} | settings)


def ns_of_a_switch(env, directory):
    done = subprocess.run([WAITS, "0.4", "storm"], env=env, cwd=directory, capture_output=True, text=True, timeout=60, check=True)
    return 0.4e9 / int(done.stdout.split()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1000)
    parser.add_argument("--small", action="store_true", help="only to see that it works")
    options = parser.parse_args()
    if options.small:
        options.pairs, options.threads = 2, 20
    with tempfile.TemporaryDirectory(prefix="flameprobe-bench-") as directory:
        ways = {"alone": clean_environment(), "cpu": profiled(directory, "cpu"), "cpu,offcpu": profiled(directory, "cpu,offcpu")}
        of_way = {way: [] for way in ways}
        for _ in range(options.pairs):
            for way, env in ways.items():
                of_way[way].append(ns_of_a_switch(env, directory))
                empty(directory)
        print(machine() + f", load {os.getloadavg()[0]:.1f}\n")
        print("| sampled | time of a switch | beyond cpu |\n|-|-|-|")
        for way, values in of_way.items():
            beyond = [value - cpu for value, cpu in zip(values, of_way["cpu"])]
            print(f"| {way} | " + "{:.0f} ns ({:.0f} to {:.0f})".format(*spread(values)) + " | " +
                  "{:.0f} ns ({:.0f} to {:.0f})".format(*spread(beyond)) + " |")
        seconds = 2 if options.small else 10
        subprocess.run([sys.executable, "-c", THREADS, str(options.threads), str(seconds)], timeout=120, check=True, cwd=directory,
                       env=profiled(directory, "cpu,offcpu", FLAMEPROBE_FORMAT="json"))
        told = json.loads(next(Path(directory).glob("*.json")).read_text())
        own = told["cpu_time"]["flameprobe_ns"] / told["run"]["duration_ns"]
        print(f"\n{options.threads} threads that wait, {told['counters']['off-CPU: waits'] / seconds:.0f} waits a second: the collector "
              f"used {100 * own:.1f} % of a CPU")


main()
