"""What attaching sees of a program beside the library in it, and what it costs: attach.py [--only redis,nginx,...]
[--users root,ordinary] [--rounds 3] [--seconds 1.3] [--perf] [--small] [--write]

Each program runs twice under a load that does not end, as root and as an ordinary user.

Without the library: ten seconds after its start it is attached to at 997 Hz for four seconds. Then its work is counted for
some seconds, in turns alone and attached at 99 and 997 Hz; each turn is compared with those alone before and after it.

With the library: its sampling at 997 Hz is switched on and off in the same way. At the end both sample it at the same time.

rooted: the share of sampled time on whole stacks. named: the share of frames of user code that have a name. Both first
attached, then in-process. distance: half the sum of the differences between functions' shares of user time, and what two
samples of that size differ by as a rule. --write puts the table into docs/site/attach.md. To be run on a quiet machine."""

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from attached_programs import PROGRAMS, signal_all
from contenders import machine

from harness import AS_ORDINARY_USER, COMMAND, ROOT, clean_environment, profiled, read_folded  # noqa: E402  (contenders: the path)
from programs import Missing

PAGE = ROOT / "docs" / "site" / "attach.md"
BEGIN, END = "<!-- tests/bench/whole/attach.py: begin -->", "<!-- tests/bench/whole/attach.py: end -->"
TOGGLE = 44  # a realtime signal, which none of the programs uses
PERF_WAYS = ("perf -p", "perf -a")
NO_CODE = ("[kernel", "[lost", "[not sampled", "[truncated", "[throttled")


class Watcher:
    """`flameprobe attach` to a process, from when it samples until the end of the block."""

    def __init__(self, program, pid, frequency, out, before=(), formats="none"):
        argv = [*before, COMMAND, "attach", *(["--tree"] if program.tree else []), "-F", frequency, "-f", formats, "-o", out, pid]
        self.process = subprocess.Popen([str(word) for word in argv], stderr=subprocess.PIPE, text=True, env=clean_environment())

    def __enter__(self):
        if "attached to process" not in (said := self.process.stderr.readline()):
            raise SystemExit(said)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        said = self.process.communicate(timeout=100)[1]
        if self.process.returncode != 0:
            raise SystemExit(said)


class Perf:
    """`perf record` without stacks: what the kernel's part costs alone. Of the same processes, or of whole CPUs."""

    def __init__(self, whole_cpus, pid, frequency, directory):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        of = ["-a"] if whole_cpus else ["-p", ",".join([str(pid), *children])]
        self.argv = ["perf", "record", "-q", "-F", str(frequency), "-e", "cpu-clock", "-o", str(directory / "perf.data"), *of]

    def __enter__(self):
        self.process = subprocess.Popen(self.argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1)

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)


def rate(count, seconds):
    begun, before = time.monotonic(), count()
    time.sleep(seconds)
    return (count() - before) / (time.monotonic() - begun)


def beside_alone(rates):
    """Of [(way, units a second)], of which every other is alone: what each other way took from its neighbours, in per cent."""
    taken = {}
    for at in range(1, len(rates) - 1, 2):
        alone = statistics.mean((rates[at - 1][1], rates[at + 1][1]))
        taken.setdefault(rates[at][0], []).append(100 * (1 - rates[at][1] / alone))
    return taken


def unrest(rates):
    """How much turns alone differ from the mean of those beside them, in per cent: what chance makes of a single turn."""
    alone = [units for way, units in rates if way == "alone"]
    apart = [abs(1 - 2 * alone[at] / (alone[at - 1] + alone[at + 1])) for at in range(1, len(alone) - 1)]
    return 100 * statistics.median(apart) if apart else math.nan


class Profile:
    def __init__(self, stem):
        told = json.loads(Path(f"{stem}.json").read_text())
        self.rooted = told["samples"]["rooted_share"] or 0
        frames = named = 0
        self.leaves = {}
        for stack, count in read_folded(Path(f"{stem}.folded").read_text()):
            code = [frame for frame in stack[1:] if not frame.endswith("_[k]") and not frame.startswith(NO_CODE)]
            frames += count * len(code)
            named += count * sum(not frame.startswith("[") for frame in code)
            if code and stack[-1] == code[-1]:  # not in the kernel
                name = code[-1].removesuffix("_[i]")
                self.leaves[name] = self.leaves.get(name, 0) + count
        self.named = named / max(frames, 1)
        self.hits = sum(self.leaves.values())


def distance(one, other):
    """(The distance, that by chance)."""
    far = chance = 0
    for name in one.leaves.keys() | other.leaves.keys():
        mine, its = one.leaves.get(name, 0), other.leaves.get(name, 0)
        both = (mine + its) / max(one.hits + other.hits, 1)
        far += abs(mine / max(one.hits, 1) - its / max(other.hits, 1)) / 2
        chance += math.sqrt(2 / math.pi * both * (1 - both) * (1 / max(one.hits, 1) + 1 / max(other.hits, 1))) / 2
    return far, chance


def without_library(program, user, options, directory):
    begun, before = time.monotonic(), AS_ORDINARY_USER if user == "ordinary" and os.geteuid() == 0 else []
    with program.start(before, directory, clean_environment()) as (process, count):
        time.sleep(max(0, begun + options.age - time.monotonic()))
        with Watcher(program, process.pid, 997, directory / "attached", before, "folded,json"):
            time.sleep(options.sampled)
        rates = [("alone", rate(count, options.seconds))] if options.rounds else []
        for _ in range(options.rounds):
            for frequency in (99, 997):
                with Watcher(program, process.pid, frequency, directory / "turn", before):
                    time.sleep(options.seconds / 8)
                    rates.append((frequency, rate(count, options.seconds)))
                rates.append(("alone", rate(count, options.seconds)))
                for way in PERF_WAYS if options.perf else ():
                    with Perf(way == "perf -a", process.pid, frequency, directory):
                        rates.append((f"{way} {frequency}", rate(count, options.seconds)))
                    rates.append(("alone", rate(count, options.seconds)))
    return Profile(directory / "attached"), beside_alone(rates), unrest(rates)


def with_library(program, user, options, directory):
    before = AS_ORDINARY_USER if user == "ordinary" and os.geteuid() == 0 else []
    env = profiled(OUT=directory / "inside", FREQ=997, FORMAT="folded,json", START=0, SIGNAL=TOGGLE, LOG="quiet", MIN_CPU="1ms")
    with program.start(before, directory, env) as (process, count):
        time.sleep(min(options.age, 2))
        rates = [("alone", rate(count, options.seconds))] if options.rounds else []
        for _ in range(options.rounds):
            signal_all(process.pid, TOGGLE)
            rates.append((997, rate(count, options.seconds)))
            signal_all(process.pid, TOGGLE)
            rates.append(("alone", rate(count, options.seconds)))
        with Watcher(program, process.pid, 997, directory / "beside", before, "folded,json"):
            signal_all(process.pid, TOGGLE)
            time.sleep(options.sampled)
            signal_all(process.pid, TOGGLE)
        process.send_signal(program.stop)
        process.wait(60)
    wait_for(directory / "inside.json")
    return Profile(directory / "inside"), distance(Profile(directory / "inside"), Profile(directory / "beside")), beside_alone(rates)


def wait_for(path):
    end = time.monotonic() + 60
    while not path.exists():
        if time.monotonic() > end:
            raise SystemExit(f"{path} is not there; there are {sorted(each.name for each in path.parent.iterdir())}")
        time.sleep(0.1)


def taken(percents):
    if not percents:
        return "–"
    return f"{statistics.median(percents):.1f} ({min(percents):.1f} to {max(percents):.1f})"


def row(name, user, options):
    program = PROGRAMS[name]
    with tempfile.TemporaryDirectory(prefix="flameprobe-attach-") as place:
        sides = []
        for side in (without_library, with_library):
            directory = Path(place) / side.__name__
            directory.mkdir()
            for each in (Path(place), directory):
                each.chmod(0o777)
            sides.append(side(program, user, options, directory))
    (outside, of_attached, chance_of_turn), (inside, (far, by_chance), of_library) = sides
    if options.perf:
        for way in PERF_WAYS:
            print(f"{program.name}, {user}: `{way}` without stacks takes {taken(of_attached.get(f'{way} 99'))} % at 99 Hz, "
                  f"{taken(of_attached.get(f'{way} 997'))} at 997")
    unrest_of_turns = "–" if math.isnan(chance_of_turn) else f"{chance_of_turn:.1f}"
    return (f"| {program.name} | {user} | {outside.rooted:.1%}, {inside.rooted:.1%} | {outside.named:.1%}, {inside.named:.1%} | "
            f"{far:.3f} ({by_chance:.3f}) | {taken(of_attached.get(99))} | {taken(of_attached.get(997))} | "
            f"{taken(of_library.get(997))} | {unrest_of_turns} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="default: all")
    parser.add_argument("--users", default="root,ordinary" if os.geteuid() == 0 else "ordinary")
    parser.add_argument("--rounds", type=int, default=3, help="0: on a busy machine, where what it costs cannot be measured")
    parser.add_argument("--seconds", type=float, default=1.3, help="of each turn")
    parser.add_argument("--perf", action="store_true", help="also what `perf record` without stacks takes")
    parser.add_argument("--small", action="store_true", help="only to see that it works")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    options.age, options.sampled = 10, 4
    if options.small:
        options.rounds, options.seconds, options.age, options.sampled = 1, 0.2, 0.5, 1
    names = (options.only or ("redis,python3" if options.small else ",".join(PROGRAMS))).split(",")
    begun = time.monotonic()
    lines = ["| program | user | rooted | named | distance (by chance) | attached, 99 Hz: slowdown, % | attached, 997 Hz | in-process, 997 Hz | "
             "chance of one turn |", "|---|---|---|---|---|---|---|---|---|"]
    turns = f"{options.rounds} turns of {options.seconds} s: medians (least to most)" if options.rounds else "what it costs was not measured"
    head = f"{machine()}, load {os.getloadavg()[0]:.1f} before, {turns}."
    print(head, "", *lines, sep="\n", flush=True)
    for name in names:
        try:
            for user in options.users.split(","):
                lines.append(row(name, user, options))
                print(lines[-1], flush=True)
        except Missing as what:
            print(f"({name} is left out: {what} is not installed)", file=sys.stderr)
    print(f"\n{time.monotonic() - begun:.0f} s")
    if options.write:
        page = PAGE.read_text()
        PAGE.write_text(page[:page.index(BEGIN) + len(BEGIN)] + "\n" + "\n".join([head, "", *lines]) + "\n" + page[page.index(END):])


if __name__ == "__main__":
    main()
