"""What an ordinary user's profile holds of servers that spend their time in the kernel, beside root's:
ordinary_user.py [--seconds N] [--freq HZ,HZ] [--small] [PROGRAM...]

Each program is profiled by an ordinary user with FlameProbe's defaults, and, if this is started by root, twice by root's
ring engine. Printed per program and frequency:
  clock    samples x period of the CPU time by the threads' clocks
  rooted   of that CPU time, what has a stack that reaches the thread's start
  kernel   of the samples, those below a system call
  distance total variation distance of the picture to root's, kernel frames folded into one
  root's   the same between the two pictures of root's, which is what chance makes of it"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "integration"))
from figures import is_rooted, is_sample  # noqa: E402  (the path above is where it lies)
from harness import LIBRARY, clean_environment, profiled, render, started, target, wait_until  # noqa: E402
from programs import (NGINX, Missing, bound, find, forwarder_built, free_port, listening, load, words)  # noqa: E402

# Preloaded by env, since setpriv is not what is measured.
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", f"LD_PRELOAD={LIBRARY}"]
ROW = "| {:<14} | {:>5} | {:>7} | {:>6} | {:>6} | {:>6} | {:>8} | {:>6} |"


def until(seconds, argv):
    """Runs a load again and again."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        load(argv)


def redis(user, directory, env, seconds):
    port = free_port()
    with started([*user, find("redis-server"), "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", directory],
                 directory, env) as process:
        wait_until(lambda: listening(port), what="redis-server listens")
        until(seconds, [find("redis-benchmark"), "-p", port, "-q", "-n", "20000", "-c", "20", "-t", "set,get"])
        process.terminate()
        process.wait(30)


def nginx(user, directory, env, seconds):
    port = free_port()
    (directory / "www").mkdir(mode=0o777)
    (directory / "www" / "page.txt").write_text(words(2000))
    text = NGINX.format(dir=directory, port=port).replace("worker_processes 2;", "worker_processes 1; user root;" if not user
                                                          and os.geteuid() == 0 else "worker_processes 1;")
    (directory / "nginx.conf").write_text(text.replace("gzip on;", ""))
    with started([*user, find("nginx"), "-p", directory, "-c", directory / "nginx.conf"], directory, env) as process:
        wait_until(lambda: listening(port), what="nginx listens")
        load([find("wrk"), "-t", 1, "-c", 8, "-d", f"{seconds}s", f"http://127.0.0.1:{port}/page.txt"], seconds + 30)
        os.kill(process.pid, 3)  # SIGQUIT: end gracefully
        process.wait(30)


def forwarder(streams):
    def forward(user, directory, env, seconds):
        iperf, program = find("iperf3"), forwarder_built()
        port, to = free_port(), free_port()
        with started([iperf, "-s", "-1", "-B", "127.0.0.1", "-p", to], directory, clean_environment()):
            wait_until(lambda: bound(to), what="iperf3 listens")
            with started([*user, program, port, to], directory, env) as process:
                wait_until(lambda: bound(port), what="the forwarder listens")
                load([iperf, "-c", "127.0.0.1", "-p", port, "-P", streams, "-t", seconds], timeout=seconds + 30)
                process.terminate()
                process.wait(30)
    return forward


def calls(*more):
    def call(user, directory, env, seconds):
        subprocess.run([*user, target("calls"), str(seconds), *more], env=env, cwd=directory, check=True, timeout=120)
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


def take(program, user, engine, frequency, seconds):
    with tempfile.TemporaryDirectory(prefix="flameprobe-user-") as name:
        directory = Path(name)
        directory.chmod(0o777)
        settings = {"ENGINE": engine} if engine else {}
        env = profiled(FREQ=frequency, OUT=f"{directory}/%p", FORMAT="folded", **settings)
        if user:
            del env["LD_PRELOAD"]
        program(user, directory, env, seconds)
        return Picture(directory)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--freq", default="99,499,997")
    parser.add_argument("--small", action="store_true", help="to see that it works")
    parser.add_argument("programs", nargs="*")
    options = parser.parse_args()
    is_root = os.geteuid() == 0
    if options.small:
        options.seconds, options.freq, options.programs = 1, "499", ["calls"]
    print(ROW.format("program", "Hz", "clock", "rooted", "kernel", "root", "distance", "root's"))
    print(ROW.format(*["---"] * 8))
    for name, program in PROGRAMS.items():
        if options.programs and name not in options.programs:
            continue
        for frequency in options.freq.split(","):
            try:
                roots = [take(program, [], "ring", frequency, options.seconds) for _ in range(2 if is_root else 0)]
                mine = take(program, NOBODY if is_root else [], None, frequency, options.seconds)
            except Missing as what:
                print(f"| {name:<14} | not installed: {what}")
                break
            shares = [f"{mine.sampled / mine.clock:.1%}", f"{mine.rooted / mine.clock:.1%}", f"{mine.kernel / mine.sampled:.1%}"]
            shares += [f"{roots[0].kernel / roots[0].sampled:.1%}", f"{mine.distance(roots[0]):.3f}",
                       f"{roots[0].distance(roots[1]):.3f}"] if is_root else ["", "", ""]
            print(ROW.format(name, frequency, *shares), flush=True)


if __name__ == "__main__":
    main()
