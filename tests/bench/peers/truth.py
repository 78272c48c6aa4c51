"""How true and how whole each profiler's stacks are, of programs whose shares are known.

distance  total variation distance between the shares in the profile and the true ones, of the functions that are known; what
          the profile has elsewhere counts as wrong
          (a known function that is not in the profile too). As many samples drawn at random have one as well: "by chance"
rooted    CPU time on stacks that reach the thread's start, of the CPU time that the program uses when it runs alone, at most all
          of it"""

import math
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import profilers
from profilers import BUILD, NotHere
from figures import ROOTS
from harness import named, target

from figures_of_runs import Row
from rounds import Task
from runs import execute

HERE = Path(__file__).resolve().parent
NO_STACK = re.compile(r"\[(not sampled|lost|truncated|throttled|kernel, not permitted)")  # time of which FlameProbe knows no stack
KNOWN = BUILD / "tests" / "bench" / "peers" / "known"


def told(stdout):
    """What the program says itself: lines "FUNCTION WEIGHT"."""
    return {function: float(weight) for function, weight in re.findall(r"^(\w+) (\d+)$", stdout, re.MULTILINE)}


def fixed(**shares):
    return lambda stdout: shares


def has_name(name):
    return lambda frame: named([frame], name)


def lambda_number(name):
    """Where the number is not shown, both are taken for the first one, as a reader of the picture cannot tell them apart."""
    shown = "[1]?" if name[-1] == "1" else name[-1]
    return lambda frame: re.search(rf"lambda\(\)(\s?#{shown}(?!\d)|{'>' if name[-1] == '1' else '(?!.)'})", frame) is not None


@dataclass
class Known:
    name: str
    frequency: int
    argv: Callable[[], list]
    truth: Callable[[str], dict]  # of standard output: function -> share, or a weight
    is_function: Callable = has_name
    rare: bool = False  # as in rounds.py
    by_size: bool = False  # names are not expected: the leaves are compared with the truth in the order of their size

    def words(self):
        return [str(word) for word in self.argv()]


def shares_of(stacks, known, truth):
    """function -> nanoseconds, of the innermost frame that is a known function."""
    if known.by_size:
        leaves = {}
        for frames, ns in stacks:
            leaves[frames[-1]] = leaves.get(frames[-1], 0) + ns
        ordered = sorted(leaves.values(), reverse=True)
        return dict(zip([*sorted(truth, key=truth.get, reverse=True), *(f"other {n}" for n in range(len(ordered)))], ordered))
    functions = {function: known.is_function(function) for function in truth if function != "elsewhere"}
    found = {}
    for frames, ns in stacks:
        function = next((name for frame in reversed(frames) for name, matches in functions.items() if matches(frame)), "elsewhere")
        found[function] = found.get(function, 0) + ns
    return found


def distance(found, truth):
    every, all_true = sum(found.values()), sum(truth.values())
    if every == 0:
        return 1.0
    return sum(abs(found.get(name, 0) / every - truth.get(name, 0) / all_true) for name in {*found, *truth}) / 2


def by_chance(truth, samples):
    """What the distance of so many independent samples is to be expected to be."""
    shares = [weight / sum(truth.values()) for weight in truth.values()]
    return sum(math.sqrt(share * (1 - share) * 2 / math.pi / samples) for share in shares) / 2


def rooted_ns(stacks):
    """The thread's name may be the first frame, and some say more than one thing there. A stripped program's `_start` has no name,
    but nothing else calls __libc_start_main. samply takes a `_` from each name."""
    def is_root(frame):
        return ROOTS.match(frame.removesuffix(" (inlined)")) or re.match("_?_libc_start_main|_?clone3?$|start$", frame)
    return sum(ns for frames, ns in stacks if any(map(is_root, frames[:4])) and not NO_STACK.match(frames[-1]))


def stripped():
    """A copy without symbols or debug information, in the output's directory."""
    copy = profilers.OUTPUT / "stripped-shares"
    subprocess.run(["strip", "-o", copy, target("shares")], check=True)
    return copy


def calls_truth(stdout):
    all_ns, user = map(float, re.search(r"in (\d+) ns, user_work in (\d+) ns", stdout).groups())
    return {"user_work": user, "system calls": all_ns - user}


def calls_function(name):
    if name == "user_work":
        return has_name(name)
    return lambda frame: any(named([frame], function) for function in ("read_work", "write_work", "short_work"))


def brief_truth(stdout):
    main, lives = map(float, re.search(r"^(\d+) (\d+) \d+$", stdout, re.MULTILINE).groups())
    return {"main_half": main, "brief_thread": lives}


def rhythm_truth(stdout):
    return {f"part_{n}": float(line) for n, line in enumerate(re.findall(r"^\d+$", stdout, re.MULTILINE))}


def node(rounds):
    return [profilers.tool("node"), "--perf-basic-prof", "--no-turbo-inlining", HERE / "work.js", rounds]


def java(rounds):
    """Compiled once, into the output's directory."""
    made, source = profilers.OUTPUT / "Work.class", HERE / "Work.java"
    if not made.exists() or made.stat().st_mtime < source.stat().st_mtime:
        subprocess.run([profilers.tool("javac"), "-d", profilers.OUTPUT, source], check=True, capture_output=True)
    return [profilers.tool("java"), "-XX:+UnlockDiagnosticVMOptions", "-XX:+PreserveFramePointer", "-XX:+DumpPerfMapAtExit", "-cp",
            profilers.OUTPUT, "Work", rounds]


def jit_function(name):
    return lambda frame: re.search(rf"(?<![\w]){name}(?![\w])", frame) is not None


def mode_of_known(mode, amount):
    return lambda: [KNOWN, mode, amount]


def code(seconds, frequency):
    """Programs whose stacks and names are hard, sized for some seconds of CPU time."""
    rounds = round(3000 * seconds)

    def shares(mode):
        return lambda: [target("shares"), mode, rounds]
    leaves = fixed(leaf_70=70, leaf_20=20, leaf_7=7, leaf_3=3)
    return [
        Known("no frame pointers", frequency, shares("leaves"), leaves),
        Known("inlined", frequency, shares("inlined"), fixed(inlined_45=45, inlined_25=25, host_30=30)),
        Known("lambdas", frequency, mode_of_known("lambdas", rounds), told, lambda_number),
        Known("stripped", frequency, lambda: [stripped(), "leaves", rounds], leaves, by_size=True),
        Known("recursion, 224 KiB deep", frequency, mode_of_known("deep", rounds), told),
    ]


def lives(seconds, frequency):
    """Programs whose threads and rhythms are hard."""
    return [
        Known("3 long threads", frequency, mode_of_known("threads", round(3000 * seconds)), told),
        Known("2,000 idle threads", frequency, mode_of_known("idle", 2000), told),
        Known("threads of 2 ms", frequency, lambda: [target("brief"), "thread", 2000, round(1000 * seconds)], brief_truth),
        Known("in step with the period", frequency, lambda: [target("rhythm"), round(1e9 / frequency), round(1000 * seconds)],
              rhythm_truth),
        Known("half in system calls", frequency, lambda: [target("calls"), seconds], calls_truth, calls_function),
    ]


def jit(seconds, frequency):
    return [
        Known("JIT: node", frequency, lambda: node(round(200 * seconds)), told, jit_function, rare=True),
        Known("JIT: Java", frequency, lambda: java(round(90 * seconds)), told, jit_function, rare=True),
    ]


def measure(known, profiler, directory):
    """(figures, stacks, what it says). The CPU time that the program used is of its own run, alone."""
    argv = known.words()
    ran = execute(profiler.command(argv, known.frequency, directory), directory)
    stacks = profiler.stacks(argv[0], known.frequency, directory)
    truth = known.truth(ran.stdout)
    return {"distance": distance(shares_of(stacks, known, truth), truth), "rooted_ns": rooted_ns(stacks)}, stacks, \
        profiler.says(directory, ran.stderr)


def tried(profiler):
    """NotHere or another error if it cannot profile a short program here."""
    with tempfile.TemporaryDirectory(prefix="flameprobe-peers-") as directory:
        Path(directory).chmod(0o777)
        stacks = measure(Known("tried", 997, lambda: [target("shares"), "leaves", 300], fixed(leaf_70=1)), profiler, directory)[1]
    if not stacks:
        raise NotHere("it ran, but its profile is empty")


def task(known):
    def run(profiler, directory):
        if profiler.name == "alone":
            ran = execute(profiler.command(known.words(), known.frequency, directory), directory)
            return [by_chance(known.truth(ran.stdout), ran.cpu_seconds * known.frequency), ran.cpu_seconds], None, None
        figures, stacks, says = measure(known, profiler, directory)
        return [figures["distance"], figures["rooted_ns"] / 1e9], stacks, says
    return Task([Row("truth", known.name, "%"), Row("rooted", known.name, "%", "more")], run,
                [lambda distance, chance: distance, lambda rooted, used: min(1, rooted / used)], rare=known.rare,
                shown_alone=["by chance", None])


def tasks(options, programs):
    """`programs`: one of the functions above. Below the kernel's tick, 250 times a second, every timer can come as often as it is asked
    to."""
    seconds, frequency = (0.3, 997) if options.small else (1.4 if options.whole else 0.8, 199)
    return [task(known) for known in programs(seconds, frequency)]
