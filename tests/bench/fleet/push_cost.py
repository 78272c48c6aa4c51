#!/usr/bin/env python3
"""What `flameprobe push` costs, and what it loses: push_cost.py busy|simulated|outage|hanging [options]

busy       N busy processes under FLAMEPROBE_PUSH for some time: the uploader's share of a core, its memory.
simulated  a spool into which windows of N processes come at the real rate, N every 15 s, of a tenth as many services.
outage     windows of N processes for so many minutes lie in the spool of an engine that was down: how long it takes to
           drain them, and whether all of them arrive.
hanging    a program of fixed work, its CPU time with an engine that answers and with one that hangs, A B A B.

FLAMEPROBE_BUILD names the build directory. Each ends with what the engine got beside what the windows hold. CPU time is
getrusage's of the uploader, user and system."""

import argparse
import contextlib
import itertools
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2] / "integration"
sys.path[:0] = [str(TESTS), str(TESTS / "fleet")]

import engine as faults
from harness import COMMAND, clean_environment, profiled, render, run, target
from push_case import pprof_in

WINDOW = 15  # seconds, the default of FLAMEPROBE_PUSH


class Uploader:
    """Runs until the end of the block; `cpu` in seconds and `memory` in bytes afterwards."""

    def __init__(self, spool, url, directory, *options):
        self.argv = [str(a) for a in (COMMAND, "push", "--spool", spool, "--to", url, *options)]
        self.log = open(Path(directory) / "uploader.log", "a")

    def __enter__(self):
        self.begun = time.monotonic()
        self.process = subprocess.Popen(self.argv, env=clean_environment(), stdin=subprocess.DEVNULL, stderr=self.log)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.seconds = time.monotonic() - self.begun
        self.cpu, self.memory = usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10
        self.log.close()

    def row(self):
        return f"{self.cpu:.2f} s of CPU in {self.seconds:.0f} s: {self.cpu / self.seconds:.2%} of a core, {self.memory >> 20} MB"


def waiting(spool):
    return [p for p in Path(spool).glob("*.fprobe") if not p.name.startswith(".")]


def weight(window):
    """Nanoseconds of CPU time in a window."""
    told = json.loads(render(window, "-f", "json", "-o", "-").stdout)
    return told["stack_ns"]


def received(engine):
    return sum(pprof_in(r).total("cpu") for r in engine.taken)


def say(title, uploader, engine, expected):
    found = received(engine)
    print(f"{title}: {uploader.row()}")
    print(f"  {len(engine.taken)} requests, {sum(len(r['body']) for r in engine.taken) / 1e6:.2f} MB; "
          f"read back {found:,} ns, in the windows {expected:,} ns: {'equal' if found == expected else 'NOT EQUAL'}")
    return found == expected


def drained(spool, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end and waiting(spool):
        time.sleep(0.1)
    return not waiting(spool)


def recorded(directory, services):
    """[(window, nanoseconds)], each of another service and as many samples as a busy process has in 15 s at 99 Hz."""
    spool = directory / "recorded"
    for number in range(services):
        run([target("shares"), "threads", "1500"], directory,
            profiled(PUSH=spool, FREQ=999, DUMP_EVERY="24h", LABELS=f"service_name=service_{number}"))
    return [(window, weight(window)) for window in sorted(waiting(spool))]


def put(window, spool, name):
    """As a program does: complete, by rename."""
    shutil.copyfile(window, spool / f".{name}")
    (spool / f".{name}").rename(spool / f"{name}.fprobe")


def pass_on(written, kept, spool):
    """Finished windows from where programs write them to the uploader's spool; a second name keeps each to be read."""
    for window in waiting(written):
        os.link(window, kept / window.name)
        window.rename(spool / window.name)


def busy(options, directory):
    written, kept, spool = (directory / name for name in ("written", "kept", "spool"))
    for path in (written, kept, spool):
        path.mkdir(mode=0o700)
    engine, env = faults.Engine(), profiled(PUSH=written)
    programs = [subprocess.Popen(["nice", "-n", "19", target("shares"), "threads", "100000000"], env=env, cwd=directory,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(options.processes)]
    with Uploader(spool, engine.url, directory) as uploader:
        try:
            end = time.monotonic() + options.seconds
            while time.monotonic() < end:
                pass_on(written, kept, spool)
                time.sleep(0.2)
        finally:
            for program in programs:
                program.terminate()
            for program in programs:
                program.wait()
        pass_on(written, kept, spool)
        complete = drained(spool, 120)
    expected = sum(weight(window) for window in waiting(kept))
    equal = say(f"{options.processes} busy processes, {len(waiting(kept))} windows", uploader, engine, expected)
    engine.close()
    return complete and equal


def simulated(options, directory):
    spool, engine = directory / "spool", faults.Engine()
    spool.mkdir(mode=0o700)
    windows = recorded(directory, max(1, min(options.services, options.processes)))
    source, expected = itertools.cycle(windows), 0
    with Uploader(spool, engine.url, directory) as uploader:
        begun, number = time.monotonic(), 0
        while (now := time.monotonic() - begun) < options.seconds:
            while number < now * options.processes / WINDOW:
                window, ns = next(source)
                put(window, spool, f"w{number}")
                expected, number = expected + ns, number + 1
            time.sleep(0.02)
        complete = drained(spool, 120)
    equal = say(f"{options.processes} processes, simulated, {number} windows", uploader, engine, expected)
    engine.close()
    return complete and equal


def outage(options, directory):
    spool, down = directory / "spool", faults.Engine()
    spool.mkdir(mode=0o700)
    down.fails = lambda _: True
    windows = recorded(directory, options.services)
    count = options.processes * options.minutes * 60 // WINDOW
    expected = 0
    for number in range(count):
        window, ns = windows[number % len(windows)]
        put(window, spool, f"w{number}")
        expected += ns
    held = sum(p.stat().st_size for p in waiting(spool))
    with Uploader(spool, down.url, directory, "--gather", "1s") as uploader:
        time.sleep(options.down)
        kept = len(waiting(spool))
        down.fails = lambda _: False
        again = time.monotonic()
        complete = drained(spool, 600)
        took = time.monotonic() - again
    print(f"{count} windows ({held / 1e6:.0f} MB), {kept} kept after {len(down.refused)} failures, "
          f"{'drained' if complete else 'NOT DRAINED'} in {took:.0f} s")
    equal = say("after the outage", uploader, down, expected)
    down.close()
    return complete and equal and kept == count


def program_cpu(spool, options, directory):
    process = subprocess.Popen([target("shares"), "threads", str(options.work)], env=profiled(PUSH=spool, DUMP_EVERY="1s"),
                               cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def hanging(options, directory):
    """The programs and the uploader share nothing but the spool; this shows it. Both uploaders run all the time."""
    seconds = {"answers": [], "hangs": []}
    spools = {kind: directory / f"spool-{kind}" for kind in seconds}
    engines = {"answers": faults.Engine(), "hangs": faults.Engine(*[faults.hang] * 100000)}
    with contextlib.ExitStack() as uploaders:
        for kind, engine in engines.items():
            uploaders.enter_context(Uploader(spools[kind], engine.url, directory, "--gather", "1s", "--timeout", "20s"))
        for number in range(options.pairs):
            for kind in sorted(seconds, reverse=number % 2 == 1):
                seconds[kind].append(program_cpu(spools[kind], options, directory))
        for engine in engines.values():
            engine.closing.set()
    print(f"requests answered: {len(engines['answers'].taken)}; that hung: {len(engines['hangs'].refused)}")
    for engine in engines.values():
        engine.close()
    ratios = [b / a for a, b in zip(seconds["answers"], seconds["hangs"])]
    for kind, values in seconds.items():
        print(f"engine {kind}: the program's CPU time, mean of {len(values)}: {statistics.mean(values):.4f} s")
    error = statistics.stdev(ratios) / len(ratios) ** 0.5 if len(ratios) > 1 else float("nan")
    print(f"hangs / answers: mean {statistics.mean(ratios):.5f}, standard error {error:.5f}; "
          f"median {statistics.median(ratios):.5f}, from {min(ratios):.4f} to {max(ratios):.4f}")
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["busy", "simulated", "outage", "hanging"])
    parser.add_argument("--processes", type=int, default=50)
    parser.add_argument("--services", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--minutes", type=int, default=30)
    parser.add_argument("--down", type=float, default=10, help="seconds that the engine is down for, of outage")
    parser.add_argument("--pairs", type=int, default=5, help="of runs, of hanging")
    parser.add_argument("--work", type=int, default=3000, help="rounds of a program's work, of hanging")
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="flameprobe-fleet-"))
    try:
        return 0 if globals()[options.what](options, directory) else 1
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
