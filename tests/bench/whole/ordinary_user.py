"""What an ordinary user's profile holds of servers that spend their time in the kernel, beside root's:
ordinary_user.py [--seconds N] [--freq HZ,HZ] [--engines auto,timer] [--pairs N] [--eintr] [--small] [PROGRAM...]

Each program is profiled by an ordinary user with each engine (auto: the default), and, if this is started by root, twice by
root's ring engine. Printed per program, frequency and engine:
  clock    samples x period of the CPU time by the threads' clocks
  rooted   of that CPU time, what has a stack that reaches the thread's start
  kernel   of the samples, those below a system call
  distance total variation distance of the picture to root's, kernel frames folded into one
  root's   the same between the two pictures of root's, which is what chance makes of it
  slower   with --pairs: how much more CPU time the program's own threads need for a unit of work (request, byte, round)
           than alone; median and quartiles of pairs, one right after the other in alternating order

--eintr: instead, how many of the blocking calls of tests/hosts/eintr end early in each engine."""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "integration"))
from figures import is_rooted, is_sample  # noqa: E402  (the path above is where it lies)
from harness import LIBRARY, clean_environment, host, profiled, render, run, started, target, wait_until  # noqa: E402
from peers import spread  # noqa: E402
from programs import (NGINX, Missing, bound, find, forwarder_built, free_port, listening, load, words)  # noqa: E402

# Preloaded by env, since setpriv is not what is measured.
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", f"LD_PRELOAD={LIBRARY}"]
ROW = "| {:<14} | {:>5} | {:<6} | {:>7} | {:>6} | {:>6} | {:>6} | {:>8} | {:>6} | {:<24} |"


def until(seconds, argv):
    """Runs a load again and again. Gives how often."""
    end, times = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        load(argv)
        times += 1
    return times


def cpu_ns(pid):
    """Of a process's threads and its children's, without FlameProbe's."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().strip() != "flameprobe":
            total += int((task / "schedstat").read_text().split()[0])
        total += sum(cpu_ns(child) for child in (task / "children").read_text().split())
    return total


# Each program gives (work done, CPU time for it in nanoseconds).


def redis(user, directory, env, seconds):
    port = free_port()
    with started([*user, find("redis-server"), "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", directory],
                 directory, env) as process:
        wait_until(lambda: listening(port), what="redis-server listens")
        times = until(seconds, [find("redis-benchmark"), "-p", port, "-q", "-n", "20000", "-c", "20", "-t", "set,get"])
        used = cpu_ns(process.pid)
        process.terminate()
        process.wait(30)
    return times, used


def nginx(user, directory, env, seconds):
    port = free_port()
    (directory / "www").mkdir(mode=0o777)
    (directory / "www" / "page.txt").write_text(words(2000))
    text = NGINX.format(dir=directory, port=port).replace("worker_processes 2;", "worker_processes 1; user root;" if not user
                                                          and os.geteuid() == 0 else "worker_processes 1;")
    (directory / "nginx.conf").write_text(text.replace("gzip on;", ""))
    with started([*user, find("nginx"), "-p", directory, "-c", directory / "nginx.conf"], directory, env) as process:
        wait_until(lambda: listening(port), what="nginx listens")
        told = load([find("wrk"), "-t", 1, "-c", 8, "-d", f"{seconds}s", f"http://127.0.0.1:{port}/page.txt"], seconds + 30)
        used = cpu_ns(process.pid)
        os.kill(process.pid, 3)  # SIGQUIT: end gracefully
        process.wait(30)
    return int(re.search(r"(\d+) requests in", told).group(1)), used


def forwarder(streams):
    def forward(user, directory, env, seconds):
        iperf, program = find("iperf3"), forwarder_built()
        port, to = free_port(), free_port()
        with started([iperf, "-s", "-1", "-B", "127.0.0.1", "-p", to], directory, clean_environment()):
            wait_until(lambda: bound(to), what="iperf3 listens")
            with started([*user, program, port, to], directory, env) as process:
                wait_until(lambda: bound(port), what="the forwarder listens")
                told = load([iperf, "-J", "-c", "127.0.0.1", "-p", port, "-P", streams, "-t", seconds], timeout=seconds + 30)
                used = cpu_ns(process.pid)
                process.terminate()
                process.wait(30)
        return json.loads(told)["end"]["sum_received"]["bytes"], used
    return forward


def calls(*more):
    def call(user, directory, env, seconds):
        told = subprocess.run([*user, target("calls"), str(seconds), *more], env=env, cwd=directory, check=True, timeout=120,
                              capture_output=True, text=True).stdout
        rounds, used = map(int, re.fullmatch(r"(\d+) rounds in (\d+) ns\n", told).groups())
        return rounds, used
    return call


PROGRAMS = {"redis": redis, "nginx": nginx, "tokio -P 1": forwarder(1), "tokio -P 8": forwarder(8), "calls": calls(),
            "calls faults": calls("faults")}


class Picture:
    def __init__(self, directory):
        self.stacks, self.clock, self.sampled, self.rooted, self.kernel = Counter(), 0, 0, 0, 0
        for profile in sorted(directory.glob("*.fprobe")):
            facts = json.loads(render(profile, "-o", "-", "--format", "json").stdout)
            period = facts["sampling"]["period_ns"]
            self.clock += facts["cpu_time"]["process_ns"]
            for line in profile.with_suffix(".folded").read_text().splitlines():
                stack, _, count = line.rpartition(" ")
                frames, weight = stack.split(";"), int(count) * period
                if not is_sample(frames):
                    self.stacks["no stack"] += weight
                    continue
                self.sampled += weight
                self.rooted += weight * is_rooted(frames)
                inside = [i for i, name in enumerate(frames) if name.endswith("_[k]") or name.startswith("[kernel")]
                self.kernel += weight * bool(inside)
                self.stacks[";".join([*frames[:inside[0]], "[kernel]"] if inside else frames)] += weight

    def distance(self, other):
        mine, theirs = sum(self.stacks.values()), sum(other.stacks.values())
        return sum(abs(self.stacks[s] / mine - other.stacks[s] / theirs) for s in {*self.stacks, *other.stacks}) / 2


def environment(directory, user, engine, frequency):
    env = profiled(FREQ=frequency, OUT=f"{directory}/%p", FORMAT="folded", ENGINE=engine)
    if user:
        del env["LD_PRELOAD"]
    return env


def run_in_new_directory(program, user, engine, frequency, seconds):
    """`engine` None: without FlameProbe. Gives the picture, if there is one, and nanoseconds for a unit of work."""
    with tempfile.TemporaryDirectory(prefix="flameprobe-user-") as name:
        directory = Path(name)
        directory.chmod(0o777)
        if engine is None:
            work, used = program(user[:-1], directory, clean_environment(), seconds)
            return None, used / work
        work, used = program(user, directory, environment(directory, user, engine, frequency), seconds)
        return Picture(directory), used / work


def slower(program, user, engine, frequency, seconds, pairs):
    ratios = []
    for pair in range(pairs):
        ways = [engine, None] if pair % 2 else [None, engine]
        took = {way: run_in_new_directory(program, user, way, frequency, seconds)[1] for way in ways}
        ratios.append(took[engine] / took[None] - 1)
    middle, low, high = spread(ratios)
    return f"{middle:+.1%} ({low:+.1%} to {high:+.1%})"


def compare(name, program, frequency, options, user):
    roots = [run_in_new_directory(program, [], "ring", frequency, options.seconds)[0] for _ in range(2 if user else 0)]
    for engine in options.engines.split(","):
        mine, _ = run_in_new_directory(program, user, engine, frequency, options.seconds)
        cells = [f"{mine.sampled / mine.clock:.1%}", f"{mine.rooted / mine.clock:.1%}", f"{mine.kernel / mine.sampled:.1%}"]
        cells += [f"{roots[0].kernel / roots[0].sampled:.1%}", f"{mine.distance(roots[0]):.3f}",
                  f"{roots[0].distance(roots[1]):.3f}"] if user else ["", "", ""]
        cells.append(slower(program, user, engine, frequency, options.seconds, options.pairs) if options.pairs else "")
        print(ROW.format(name, frequency, engine, *cells), flush=True)


def interrupted(options, user):
    print("| engine | user | Hz | blocking calls | ended early |\n|-|-|-|-|-|")
    for engine in options.engines.split(","):
        for frequency in options.freq.split(","):
            with tempfile.TemporaryDirectory(prefix="flameprobe-user-") as name:
                Path(name).chmod(0o777)
                ran = run([*user, host("eintr"), str(1000 * options.seconds)], Path(name), environment(name, user, engine, frequency))
                calls = re.search(r"(\d+) blocking calls", ran.stderr).group(1)
                early = re.search(r"(\d+) interrupted", ran.stdout).group(1)
                print(f"| {engine} | {'ordinary' if user else 'this'} | {frequency} | {calls} | {early} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--freq", default="99,499,997")
    parser.add_argument("--engines", default="auto", help="comma list of auto, ring, timer, signal")
    parser.add_argument("--pairs", type=int, default=0, help="with and without FlameProbe, for how much slower it is")
    parser.add_argument("--eintr", action="store_true", help="blocking calls that end early, instead")
    parser.add_argument("--small", action="store_true", help="to see that it works")
    parser.add_argument("programs", nargs="*")
    options = parser.parse_args()
    user = NOBODY if os.geteuid() == 0 else []
    if options.small:
        options.seconds, options.freq, options.programs, options.pairs = 1, "499", ["calls"], 1
    if options.eintr:
        return interrupted(options, user)
    print(ROW.format("program", "Hz", "engine", "clock", "rooted", "kernel", "root", "distance", "root's", "slower"))
    print(ROW.format(*["---"] * 10))
    for name, program in PROGRAMS.items():
        if options.programs and name not in options.programs:
            continue
        for frequency in options.freq.split(","):
            try:
                compare(name, program, frequency, options, user)
            except Missing as what:
                print(f"| {name:<14} | not installed: {what}")
                break


if __name__ == "__main__":
    main()
