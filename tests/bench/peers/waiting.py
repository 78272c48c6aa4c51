"""Waiting: tests/targets/waits knows its waits. Distance as in truth.py, and how long the program lived that was asked for
`seconds`: a sleep that a profiler's signal ends early makes it shorter."""

import re
from pathlib import Path

import profilers
import readers
from harness import target
from profilers import AsyncProfiler, FlameProbe, Gperftools, NotHere, Perf, output_of, tool
from test_waits import WAITS, said_by, without_delay

from figures_of_runs import Row
from rounds import Task
from runs import execute
from truth import distance, has_name

SWITCH = re.compile(r"(\d+\.\d+):\s+sched:sched_switch: prev_comm=(.*) prev_pid=(\d+) .*prev_state=(\w).* ==> .* next_pid=(\d+)")


class FlameProbeWaits(FlameProbe):
    def environment(self, frequency, directory):
        return super().environment(frequency, directory) | {"FLAMEPROBE_EVENT": "cpu,offcpu"}

    def stacks(self, program, frequency, directory):
        return readers.folded((Path(directory) / "flameprobe.offcpu.folded").read_text(), 1000)


class AsyncProfilerWall(AsyncProfiler):
    name = "async-profiler, wall"

    def arguments(self, frequency, directory):
        return super().arguments(frequency, directory).replace("event=cpu", "event=wall,cstack=dwarf")


class GperftoolsRealTime(Gperftools):
    name = "gperftools, real time"

    def environment(self, frequency, directory):
        return super().environment(frequency, directory) | {"CPUPROFILE_REALTIME": 1}


class PerfSwitches(Perf):
    """A thread's wait belongs to the stack at which it left the CPU, until it has one again. With the maps that perf reads of what
    runs already, its own child among them before it is the program, it could follow no stack of the program in every other run."""

    name = "perf, sched_switch"

    def before(self, frequency, directory):
        return [tool("perf"), "record", "--synth=no", "-m", "16M", "-e", "sched:sched_switch", "-a", "--call-graph", "dwarf",
                "-o", f"{directory}/perf.data", "--"]

    def stacks(self, program, frequency, directory):
        text = output_of(tool("perf"), "script", "--force", "-i", f"{directory}/perf.data", "-F", "comm,tid,time,event,trace,ip,sym",
                         directory=directory)
        left, found = {}, []
        for block in text.split("\n\n"):
            head, *frames = block.splitlines() or [""]
            if switch := SWITCH.search(head):
                now, comm, before, state, after = switch.groups()
                if after in left:
                    begun, stack = left.pop(after)
                    found.append((stack, (float(now) - begun) * 1e9))
                if state != "R":
                    names = [line.split(None, 1)[-1] for line in frames if line.strip()]
                    left[before] = float(now), [comm, *reversed(names)]
        return found


WAYS = (FlameProbeWaits, PerfSwitches, AsyncProfilerWall, GperftoolsRealTime)


def shares_of(stacks):
    """wait_X -> nanoseconds; what is in no known wait is not waiting of the program, or nobody knows where."""
    waits = {wait: has_name(wait) for wait in WAITS}
    found = {}
    for frames, ns in stacks:
        wait = next((name for name, matches in waits.items() if any(map(matches, frames))), None)
        if wait and frames[-1] != "[preempted]":
            found[wait] = found.get(wait, 0) + ns
    return found


def task(seconds, here):
    program = target("waits")

    def run(way, directory):
        ran = execute(way.command([program, seconds], 99, directory), directory)
        said = said_by("\n".join(re.findall(r"^\w+ \w+ \d+$", ran.stdout, re.MULTILINE)))
        truth = {}
        for (_, wait), waited in without_delay(said).items():
            truth[wait] = truth.get(wait, 0) + waited
        stacks = way.stacks(str(program), 99, directory)
        lived = max(of["life"] for of in said.values())
        found = shares_of(stacks)
        told = sum(found.values()) / 1e9 / sum(truth.values())
        return [distance(found, truth), told, lived / seconds], stacks, way.says(directory, ran.stderr)
    rows = [Row("waits", "distance to the known waits", "%"), Row("waits", "waiting time, of the known", "%", None),
            Row("waits", "the program's life, of what was asked", "%", None)]
    ways = {way.name: way(here[kind].user) for way in WAYS for kind in here if isinstance(here[kind], way.__mro__[1])}
    return Task(rows, run, of=ways)


def tasks(options, here):
    return [task(1 if options.small else 5 if options.whole else 2, here)] if here else []
