"""One run of a command and all that it starts: its output, elapsed and CPU time, and memory where that is wanted."""

import contextlib
import os
import re
import resource
import select
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import profilers
from harness import clean_environment, end_group
from profilers import NotHere

OF_FLAMEGRAPH = re.compile(r"^writing flamegraph to .*\n", re.MULTILINE)  # cargo flamegraph's, where the program writes too


@dataclass
class Ran:
    stdout: str
    stderr: str
    seconds: float
    cpu_seconds: float  # of all that was started
    peak_bytes: int = 0


def descendants(pid="self"):
    found = []
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in children.read_text().split():
                found += [child, *descendants(child)]
    return found


class Memory:
    """The most that all that was started had at one time (Pss, so that what is shared counts once), seen every 20 ms."""

    def __enter__(self):
        self.peak, self.over = 0, threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def watch(self):
        while not self.over.wait(0.02):
            now = 0
            for pid in descendants():
                with contextlib.suppress(OSError, TypeError):
                    now += int(re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)[1]) * 1024
            self.peak = max(self.peak, now)


def execute(command, directory, memory=False, timeout=120):
    """NotHere where it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with Memory() if memory else contextlib.nullcontext() as watched:
        ran = profilers.run(command, directory, timeout=timeout)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ran.timed_out:
        raise NotHere(f"it took more than {timeout} s")
    if ran.returncode != 0:
        raise NotHere(f"exit status {ran.returncode}: {profilers.last_words(ran.stderr)}")
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    stdout = OF_FLAMEGRAPH.sub("", ran.stdout)
    return Ran(stdout, ran.stderr, ran.seconds, used, watched.peak if memory else 0)


def elapsed(command, directory, timeout=120):
    """Seconds of a command whose output nobody reads. The kernel tells the end: subprocess looks for it in steps of a millisecond."""
    begun = time.perf_counter()
    process = subprocess.Popen([str(word) for word in command], cwd=directory, env=clean_environment(), stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    ends = select.poll()
    with open(os.pidfd_open(process.pid), "rb", buffering=0) as pidfd:
        ends.register(pidfd, select.POLLIN)
        ended = ends.poll(timeout * 1000)
        seconds = time.perf_counter() - begun
    end_group(process.pid)
    if not ended or process.wait() != 0:
        raise NotHere(f"it took more than {timeout} s" if not ended else f"exit status {process.returncode}")
    return seconds


def shell(command, directory, memory=False, timeout=120):
    return execute(["bash", "-o", "pipefail", "-c", command], directory, memory=memory, timeout=timeout)
