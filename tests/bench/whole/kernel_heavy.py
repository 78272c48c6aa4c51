"""Programs that spend their time in the kernel, each under a load for some seconds: a function of (command before the
program, directory, environment, seconds) that gives (work done, nanoseconds of CPU time that the program's own threads used
for it)."""

import functools
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "integration"))
from harness import clean_environment, started, target, wait_until  # noqa: E402  (the path above is where it lies)
from programs import NGINX, bound, find, forwarder_built, free_port, listening, load, words  # noqa: E402


def cpu_ns(pid):
    """Of a process's threads and its children's, without FlameProbe's."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().strip() != "flameprobe":
            total += int((task / "schedstat").read_text().split()[0])
        total += sum(cpu_ns(child) for child in (task / "children").read_text().split())
    return total


def redis(user, directory, env, seconds):
    requests, port = 10_000, free_port()
    with started([*user, find("redis-server"), "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", directory],
                 directory, env) as process:
        wait_until(lambda: listening(port), what="redis-server listens")
        before, end, times = cpu_ns(process.pid), time.monotonic() + seconds, 0
        while time.monotonic() < end:
            load([find("redis-benchmark"), "-p", port, "-q", "-n", requests, "-c", "20", "-t", "set,get"])
            times += 1
        used = cpu_ns(process.pid) - before
        process.terminate()
        process.wait(30)
    return times * 2 * requests, used


def nginx(user, directory, env, seconds):
    port = free_port()
    (directory / "www").mkdir(mode=0o777)
    (directory / "www" / "page.txt").write_text(words(2000))
    text = NGINX.format(dir=directory, port=port).replace("worker_processes 2;", "worker_processes 1; user root;" if not user
                                                          and os.geteuid() == 0 else "worker_processes 1;")
    (directory / "nginx.conf").write_text(text.replace("gzip on;", ""))
    with started([*user, find("nginx"), "-p", directory, "-c", directory / "nginx.conf"], directory, env) as process:
        wait_until(lambda: listening(port), what="nginx listens")
        before = cpu_ns(process.pid)
        told = load([find("wrk"), "-t", 1, "-c", 8, "-d", f"{seconds}s", f"http://127.0.0.1:{port}/page.txt"], seconds + 30)
        used = cpu_ns(process.pid) - before
        os.kill(process.pid, 3)  # SIGQUIT: end gracefully
        process.wait(30)
    return int(re.search(r"(\d+) requests in", told).group(1)), used


forwarder_program = functools.cache(forwarder_built)


def forwarder(streams):
    def forward(user, directory, env, seconds):
        iperf, program = find("iperf3"), forwarder_program()
        port, to = free_port(), free_port()
        with started([iperf, "-s", "-1", "-B", "127.0.0.1", "-p", to], directory, clean_environment()):
            wait_until(lambda: bound(to), what="iperf3 listens")
            with started([*user, program, port, to], directory, env) as process:
                wait_until(lambda: bound(port), what="the forwarder listens")
                before = cpu_ns(process.pid)
                told = load([iperf, "-J", "-c", "127.0.0.1", "-p", port, "-P", streams, "-t", seconds], timeout=seconds + 30)
                used = cpu_ns(process.pid) - before
                process.terminate()
                process.wait(30)
        return json.loads(told)["end"]["sum_received"]["bytes"], used
    return forward


def calls(*more):
    def call(user, directory, env, seconds):
        told = subprocess.run([*user, target("calls"), str(seconds), *more], env=env, cwd=directory, check=True, timeout=120,
                              capture_output=True, text=True).stdout
        rounds, used = map(int, re.match(r"(\d+) rounds in (\d+) ns", told).groups())
        return rounds, used
    return call


PROGRAMS = {"redis": redis, "nginx": nginx, "tokio -P 1": forwarder(1), "tokio -P 8": forwarder(8), "calls": calls(),
            "calls faults": calls("faults")}
