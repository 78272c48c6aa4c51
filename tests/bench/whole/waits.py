"""What it costs to know where threads wait, and how exact it is: waits.py [--pairs 7] [--threads 1000] [--seconds 10] [--small]

Each figure of cost is CPU time (user and system, of the program alone: the collector is another task and is told apart), so
that other load disturbs it little. The ways are run in turn (alone, cpu, cpu+offcpu, alone, ...); printed are medians and
quartiles, and of the difference to the cpu run before it.

  switch   two threads of one CPU hand a byte to and fro for 0.4 s (then FlameProbe would stop recording so many switches)
  redis    redis-server, one client without pipelining: it waits once for each request
  threads  many threads that wait, each woken about once a second: what the collector uses
  locks    the same number of threads, ten for each lock, of which one holds it for 80 ms: also who holds it is read
  exact    tests/targets/waits, which measures its own waits"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from contenders import BUILD, LIBRARY, clean_environment, empty, machine, spread

from harness import read_folded, without_holder  # noqa: E402  (contenders has put its place in the path)
from programs import Missing, find, free_port, listening, load  # noqa: E402
from test_waits import said_by, told_by, without_delay  # noqa: E402

PROGRAM = BUILD / "tests" / "targets" / "waits"
THREADS = """
import sys, threading, time
count, end = int(sys.argv[1]), time.monotonic() + float(sys.argv[2])
def wait(n):
    while time.monotonic() < end: time.sleep(0.5 + n / count)
threads = [threading.Thread(target=wait, args=(n,)) for n in range(count)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def profiled(directory, event, form="none"):
    return clean_environment(LD_PRELOAD=LIBRARY, FLAMEPROBE_EVENT=event, FLAMEPROBE_LOG="quiet",
                             FLAMEPROBE_OUT=f"{directory}/%p", FLAMEPROBE_FORMAT=form)


def ended(process):
    """Seconds of CPU time of a process that ends by itself, without the collector's."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{process.args[0]} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def of_a_switch(env, directory, _):
    with subprocess.Popen([PROGRAM, "0.4", "storm"], env=env, cwd=directory, stdout=subprocess.PIPE, text=True) as process:
        text = process.stdout.read()
        return ended(process) / int(text.split()[-1])


def of_a_request(env, directory, requests):
    port = free_port()
    with subprocess.Popen([find("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", directory],
                          env=env, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while not listening(port):
            time.sleep(0.02)
        load([find("redis-benchmark"), "-p", port, "-q", "-c", "1", "-n", requests, "-t", "get"], timeout=120)
        process.terminate()
        return ended(process) / requests


def costs(title, measure, pairs, directory, size=None):
    ways = {"alone": clean_environment(), "cpu": profiled(directory, "cpu"), "cpu,offcpu": profiled(directory, "cpu,offcpu")}
    of_way = {way: [] for way in ways}
    for _ in range(pairs):
        for way, env in ways.items():
            of_way[way].append(1e6 * measure(env, directory, size))
            empty(directory)
    print(f"| {title} | CPU time | beyond cpu | times cpu |\n|-|-|-|-|")
    for way, values in of_way.items():
        beyond = [value - cpu for value, cpu in zip(values, of_way["cpu"])]
        times = [value / cpu for value, cpu in zip(values, of_way["cpu"])]
        print(f"| {way} | " + " | ".join(form.format(*spread(of)) for form, of in (
            ("{:.2f} us ({:.2f} to {:.2f})", values), ("{:.2f} us ({:.2f} to {:.2f})", beyond),
            ("{:.3f} ({:.3f} to {:.3f})", times))) + " |")
    print()


def many_threads(count, seconds, directory, what, program):
    subprocess.run(program, timeout=120, check=True, cwd=directory, env=profiled(directory, "cpu,offcpu", "json"))
    told = json.loads(next(Path(directory).glob("*.json")).read_text())
    empty(directory)
    own = told["cpu_time"]["flameprobe_ns"] / told["run"]["duration_ns"]
    print(f"{count} threads that wait {what}, {told['counters']['off-CPU: waits'] / seconds:.0f} waits a second: the collector used "
          f"{100 * own:.1f} % of a CPU\n")


def exactness(seconds, directory):
    """The largest error of waiting + preempted + running time of a thread, and the distance of the waits' shares."""
    with subprocess.Popen([PROGRAM, str(seconds)], env=profiled(directory, "cpu,offcpu", "folded,json"), cwd=directory,
                          stdout=subprocess.PIPE, text=True) as process:
        said = said_by(process.stdout.read())
        ended(process)
    path = next(Path(directory).glob("*.offcpu.folded"))
    stacks = [(without_holder(frames), microseconds) for frames, microseconds in read_folded(path.read_text())]
    told_by_json = json.loads(Path(str(path).replace(".offcpu.folded", ".json")).read_text())
    empty(directory)
    told, off = told_by(stacks)
    life = {thread: abs((off[thread] + of["cpu"]) / of["life"] - 1) for thread, of in said.items() if thread != "waits"}
    blocked = without_delay(said)
    all_said, all_told = sum(blocked.values()), sum(sum(of.values()) for of in told.values())
    distance = sum(abs(seconds / all_said - told[thread][wait] / all_told) for (thread, wait), seconds in blocked.items()) / 2
    counters = told_by_json["counters"]
    rooted = 1 - sum(count for frames, count in stacks if "[truncated]" in frames) / sum(count for _, count in stacks)
    print(f"{seconds} s, {counters['off-CPU: switch records'] / 2 / seconds:.0f} switches a second: running, waiting and preempted "
          f"time are a thread's life within {100 * max(life.values()):.2f} %; waits are shared out with a distance of "
          f"{100 * distance:.1f} % (of {counters['off-CPU: waits with a stack']} waits that were read, of "
          f"{counters['off-CPU: waits']}); {100 * rooted:.2f} % of the time is on whole stacks")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--requests", type=int, default=40_000)
    parser.add_argument("--small", action="store_true", help="only to see that it works")
    options = parser.parse_args()
    if options.small:
        options.pairs, options.threads, options.seconds, options.requests = 2, 20, 2, 1000
    print(machine() + f", load {os.getloadavg()[0]:.1f}\n")
    with tempfile.TemporaryDirectory(prefix="flameprobe-bench-") as directory:
        costs("a switch", of_a_switch, options.pairs, directory)
        try:
            costs("a request of redis", of_a_request, options.pairs, directory, options.requests)
        except Missing as what:
            print(f"(redis is left out: {what} is not installed)\n")
        count, seconds = str(options.threads), str(options.seconds)
        many_threads(count, options.seconds, directory, "for time to pass", [sys.executable, "-c", THREADS, count, seconds])
        many_threads(count, options.seconds, directory, "for locks", [BUILD / "tests" / "targets" / "holders", seconds, "crowd", count])
        exactness(options.seconds, directory)


main()
