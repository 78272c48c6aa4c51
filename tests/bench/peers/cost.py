"""What each profiler costs the program: how much slower it is by its own clock, and what starting, threads, forks, memory and
disk cost beyond the program alone."""

import functools
import statistics
import time
from pathlib import Path

from harness import clean_environment, started, wait_until
from kernel_heavy import forwarder
from contenders import ENGINE, FLOOR
from profilers import BUILD, FlameProbe, NotHere, Profiler
from programs import Missing, find, free_port, listening

from figures_of_runs import Row
from rounds import Task
from runs import elapsed, execute
from truth import KNOWN

RATES = (99, 997, 4000)
THREADS = BUILD / "tests" / "bench" / "whole" / "threads"


def slower(value, alone):
    return value / alone - 1


def of_alone(value, alone):
    return value / alone


def beyond(value, alone):
    return value - alone


@functools.cache
def engine_rounds(seconds):
    """How often the engine repeats itself in so many seconds, alone."""
    wall = int(execute([ENGINE, 400], "/tmp").stdout.split()[1])
    return max(1, round(400 * seconds * 1e9 / wall))


def on_disk(directory):
    return sum(path.stat().st_size for path in Path(directory).rglob("*") if path.is_file())


class Interrupt(Profiler):
    """One event that records the instruction pointer alone: no profiler that samples by perf can cost less."""

    name = "the interrupt alone"
    in_process = False

    def before(self, frequency, directory):
        return [FLOOR, frequency]


class Undrawn(FlameProbe):
    """As the peers whose run makes no picture."""

    name = "FlameProbe, no picture"

    def environment(self, frequency, directory):
        return super().environment(frequency, directory) | {"FLAMEPROBE_FORMAT": "none"}


def engine(frequency, seconds, user):
    def run(profiler, directory):
        ran = execute(profiler.command([ENGINE, engine_rounds(seconds)], frequency, directory), directory)
        return [int(ran.stdout.split()[-2]), ran.cpu_seconds], None, None
    name = f"C++ engine, {frequency:,} Hz"
    return Task([Row("cost", f"{name}, by its clock", "%"), Row("cost", f"{name}, CPU time of all", "%")], run, [slower, slower],
                also={Interrupt.name: Interrupt(user)})


def told(frequency, seconds):
    """What a timer that comes more seldom than it was asked to leaves out."""
    def run(profiler, directory):
        ran = execute(profiler.command([ENGINE, engine_rounds(seconds)], frequency, directory), directory)
        if profiler.name == "alone":
            return [ran.cpu_seconds], None, None
        return [sum(ns for _, ns in profiler.stacks(str(ENGINE), frequency, directory)) / 1e9], None, None
    return Task([Row("cost", f"C++ engine, {frequency:,} Hz, CPU time in the profile, of what it uses", "%", None)], run, [of_alone],
                rare=True)


def room(frequency, seconds, user):
    """Memory and disk, with the picture or whatever the run itself makes at its end."""
    def run(profiler, directory):
        ran = execute(profiler.command([ENGINE, engine_rounds(seconds)], frequency, directory), directory, memory=True)
        return [ran.peak_bytes, on_disk(directory) / seconds], None, None
    name = f"C++ engine, {frequency:,} Hz"
    return Task([Row("cost", f"{name}, memory at most", "MB"), Row("cost", f"{name}, on disk a second", "kB/s")], run, [beyond, beyond],
                also={Undrawn.name: Undrawn(user)})


def busy(threads, frequency):
    def run(profiler, directory):
        ran = execute(profiler.command([KNOWN, "busy", threads], frequency, directory), directory)
        return [int(ran.stdout.split()[-1])], None, None
    return Task([Row("cost", f"{threads:,} threads, {frequency:,} Hz, by their clock", "%")], run, [slower])


def threads(count):
    def run(profiler, directory):
        told = execute(profiler.command([THREADS, count], 99, directory), directory).stdout.split()[-2:]
        return [int(nanoseconds) / 1e9 for nanoseconds in told], None, None
    return Task([Row("cost", "pthread_create", "us"), Row("cost", "pthread_create to the end of pthread_join", "us")], run, [beyond, beyond])


def starts(times, user):
    """`true` from its start to where its user goes on, with whatever is written at the end."""
    def run(profiler, directory):
        command = profiler.command(["/bin/true"], 99, directory)
        return [statistics.median(elapsed(command, directory) for _ in range(times))], None, None
    return Task([Row("cost", "start and end of `true`, with what it writes", "ms")], run, [beyond],
                also={Undrawn.name: Undrawn(user)})


def forks(number):
    """By the difference of a shell with so many forks and one with a single one, so that its own start is not in it."""
    def run(profiler, directory):
        few, many = (execute(profiler.command(["/bin/sh", "-c", f"i=0; while [ $i -lt {times} ]; do (:); i=$((i + 1)); done"], 99,
                                              directory), directory) for times in (1, number + 1))
        return [(many.seconds - few.seconds) / number, (many.cpu_seconds - few.cpu_seconds) / number], None, None
    return Task([Row("cost", "fork and exit of a shell", "ms"), Row("cost", "fork and exit of a shell, CPU time of all", "ms")], run,
                [beyond, beyond])


def redis(frequency, requests):
    def run(profiler, directory):
        port = free_port()
        server = [find("redis-server"), "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", directory]
        with started(profiler.command(server, frequency, directory), directory, clean_environment()) as process:
            wait_until(lambda: listening(port), what="redis-server listens")
            begun = time.perf_counter()
            execute([find("redis-benchmark"), "-p", port, "-q", "-n", requests, "-c", "20", "-t", "set,get"], directory)
            seconds = time.perf_counter() - begun
            process.terminate()
            process.wait(30)
        return [seconds], None, None
    return Task([Row("cost", f"redis, {frequency:,} Hz, by its requests a second", "%")], needing(run), [slower])


def tokio(frequency, seconds):
    def run(profiler, directory):
        work, _ = forwarder(4)(profiler.command([], frequency, directory), directory, clean_environment(), seconds)
        return [seconds / work], None, None
    return Task([Row("cost", f"Rust forwarder (tokio), {frequency:,} Hz, by its bytes a second", "%")], needing(run), [slower])


def needing(run):
    """Programs that are not installed are the row's reason for being empty."""
    def checked(profiler, directory):
        try:
            return run(profiler, directory)
        except (Missing, AssertionError) as what:
            raise NotHere(f"{what}"[:200]) from what
    return checked


def tasks(options, user):
    if options.small:
        return [engine(997, 0.2, user), told(997, 0.2), threads(300), starts(3, user), forks(10), room(997, 0.3, user)]
    if not options.whole:
        return [engine(99, 0.5, user), engine(4000, 0.5, user), told(4000, 0.5), starts(3, user), threads(3000), forks(60), room(997, 2, user)]
    return [*(engine(rate, 1.5, user) for rate in RATES), *(told(rate, 1) for rate in RATES), starts(9, user), threads(10_000), forks(200),
            room(997, 3, user)]


def thread_tasks(options):
    if options.small or not options.whole:
        return [busy(200, 99 if options.small else 997)]
    return [busy(count, rate) for count in (200, 2000) for rate in RATES]


def server_tasks(options):
    if options.small:
        return []
    if not options.whole:
        return [redis(997, 20_000)]
    return [*(redis(rate, 100_000) for rate in RATES), *(tokio(rate, 2) for rate in RATES)]
