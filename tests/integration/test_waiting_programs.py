"""Where real programs wait: nearly all of their waiting time reaches the start of its thread, and ends in the system call."""

import unittest
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import programs
from figures import is_rooted
from harness import Case, profiled, read_folded, sized, target, without_holder
from programs import Missing, find, forwarder, postgres, whole

SECONDS = sized(2, 4)
NOT_SAMPLED = {"[wait not sampled]", "[preempted]", "[lost]"}  # time that no look stands for

NODE = """
const {{ Worker, isMainThread }} = require('worker_threads'), fs = require('fs'), end = Date.now() + {ms};
if (isMainThread) {{
    for (let i = 0; i < 2; i++) new Worker(__filename);
}}
const read = () => fs.readFile(__filename, () => Date.now() < end && setTimeout(read, 3));
read();
"""

PYTHON = """
import queue, select, socket, subprocess, threading, time
end, jobs, (here, there) = time.monotonic() + {seconds}, queue.Queue(), socket.socketpair()
def worker():
    while jobs.get() is not None: time.sleep(0.002)
def poller():
    ready = select.epoll()
    ready.register(here, select.EPOLLIN)
    while here.recv(1) != b"e": ready.poll(0.01)
threads = [threading.Thread(target=worker) for _ in range(2)] + [threading.Thread(target=poller)]
for thread in threads: thread.start()
while time.monotonic() < end:
    jobs.put(1)
    there.send(b"x")
    time.sleep(0.004)
subprocess.run(["true"], check=True)
for _ in range(2): jobs.put(None)
there.send(b"e")
for thread in threads: thread.join()
"""


def node(directory, env, seconds):
    (directory / "waits.js").write_text(NODE.format(ms=1000 * seconds))
    return whole([find("node"), directory / "waits.js"], directory, env)


def python(directory, env, seconds):
    if not Path("/usr/bin/python3").exists():
        raise Missing("/usr/bin/python3")
    (directory / "waits.py").write_text(PYTHON.format(seconds=seconds))
    return whole(["/usr/bin/python3", directory / "waits.py"], directory, env)


def asio(directory, env, seconds):
    if not target("waits-asio").exists():
        raise Missing("libboost-dev, when this was built")
    return whole([target("waits-asio"), seconds], directory, env)


def redis(directory, env, seconds):
    """With pauses: under a steady load it hardly waits."""
    return programs.redis(directory, env, seconds, ("-n", "2000", "-c", "2", "-t", "set,get"), pause=0.1)


@dataclass(frozen=True)
class Program:
    start: object
    calls: tuple  # in which it is known to wait: beginnings of names, since CPUs and versions differ
    rooted: float = 0.99
    long: bool = False  # takes more than some seconds, or a build


PROGRAMS = {
    "redis": Program(redis, ("epoll",)),
    "python": Program(python, ("futex", "clock_nanosleep", "epoll")),
    # A lock that JavaScript waits for, on a busy machine, is below code made at run time, at some of which a walk with all
    # registers ends too.
    "node": Program(node, ("futex", "epoll"), rooted=0.95),
    "postgres": Program(postgres, ("epoll",), long=True),
    "tokio": Program(forwarder, ("futex", "epoll"), long=True),
}


class Waiting(Case):
    def check(self, program):
        try:
            ran, _ = program.start(self.fresh_directory("run"), profiled(EVENT="cpu,offcpu", CHILDREN="separate"), SECONDS)
        except Missing as what:
            self.skipTest(f"{what} is not installed")
        seen, rooted, cut = defaultdict(int), 0, defaultdict(int)
        for result in ran.results().values():
            if not result.path("offcpu.folded").exists():
                continue  # it has not waited
            for all_frames, microseconds in read_folded(result.path("offcpu.folded").read_text()):
                frames = without_holder(all_frames)
                if frames[-1] in NOT_SAMPLED or frames[-1] == "vfork":  # whose stack the child has meanwhile
                    continue
                seen[frames[-1]] += microseconds
                rooted += microseconds * is_rooted(frames)
                if not is_rooted(frames):
                    cut[";".join(frames)] += microseconds
        self.assertGreater(sum(seen.values()), 500_000)
        self.assertGreaterEqual(rooted / sum(seen.values()), program.rooted, sorted(cut.items(), key=lambda one: -one[1])[:5])
        for begin in program.calls:
            self.assertTrue(any(call.startswith(begin) for call in seen), (begin, dict(seen)))
        for call in seen:
            self.assertRegex(call, r"^([a-z]\w+|\[not in a system call\])$")


class Asio(Waiting):
    def test_asio(self):
        self.check(Program(asio, ("futex", "epoll", "clock_nanosleep")))


class WaitingPrograms(Waiting):
    """Their tests are added below."""


for name, one in PROGRAMS.items():
    if not one.long or sized(False, True):
        setattr(WaitingPrograms, "test_" + name, lambda self, program=one: self.check(program))

if __name__ == "__main__":
    unittest.main()
