"""What profiles hold of programs that spend their time in the kernel, as root and as an ordinary user, in every engine, and
what that costs: ordinary_user.py [--minutes M] [--rounds N] [--state FILE] [--table] [--seconds S] [--freq HZ,HZ]
[--users root,ordinary] [--engines auto,ring,timer,signal] [--small] [PROGRAM...]

In each round every program runs S seconds with each user and engine, in another order each time, and once alone. The rounds
of one table row are added up. Started by root, an ordinary user is number 65534, and root's ring engine runs twice: pictures
are compared with its. Printed per program, frequency, user and engine:
  clock    samples x period of the CPU time by the threads' clocks
  rooted   of that CPU time, what has a stack that reaches the thread's start
  kernel   of the samples, those below a system call
  distance total variation distance of the picture to root's ring, kernel frames folded into one
  root's   the same between the two pictures of root's, which is what chance makes of it
  slower   how much more CPU time the program's own threads need for a unit of work (request, byte, round) than alone in
           the same round: median, least and most
  EINTR    blocking calls that ended early, of so many (tests/hosts/eintr, a program of its own at this frequency)

With --state every run is kept in FILE as soon as it is over: started again, the program goes on where it was ended, and
--table prints what there is. After --minutes no further run is begun."""

import argparse
import hashlib
import itertools
import json
import os
import re
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

from kernel_heavy import PROGRAMS

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "integration"))
from figures import is_rooted, is_sample  # noqa: E402  (the path above is where it lies)
from harness import LIBRARY, clean_environment, host, profiled, read_folded, render, run  # noqa: E402
from programs import Missing  # noqa: E402

# Preloaded by env, since setpriv is not what is measured.
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", f"LD_PRELOAD={LIBRARY}"]
HEAD = ("program", "Hz", "user", "engine", "clock", "rooted", "kernel", "distance", "root's", "slower", "EINTR", "rounds", "load")
EINTR = "EINTR"  # among the programs
PROCESS = re.compile(r" (× )?[0-9]+$")  # a process's frame


class Picture:
    def __init__(self, clock=0, sampled=0, rooted=0, kernel=0, stacks=()):
        self.clock, self.sampled, self.rooted, self.kernel, self.stacks = clock, sampled, rooted, kernel, Counter(stacks)

    @classmethod
    def of(cls, directory):
        self = cls()
        for profile in sorted(directory.glob("*.fprobe")):
            facts = json.loads(render(profile, "-o", "-", "--format", "json").stdout)
            period = facts["sampling"]["period_ns"]
            self.clock += facts["cpu_time"]["process_ns"]
            stacks = read_folded(profile.with_suffix(".folded").read_text())
            several = all(PROCESS.search(frames[0]) for frames, _ in stacks)  # nginx's master, if a sample hit it
            for frames, count in stacks:
                self.add(frames[several:], count * period)
        return self

    def add(self, frames, weight):
        if not is_sample(frames):
            self.stacks["no stack"] += weight
            return
        inside = [i for i, name in enumerate(frames) if name.endswith("_[k]") or name.startswith("[kernel")]
        self.sampled += weight
        self.rooted += weight * is_rooted(frames)
        self.kernel += weight * bool(inside)
        stack = ";".join([*frames[:inside[0]], "[kernel]"] if inside else frames)
        self.stacks[hashlib.blake2b(stack.encode(), digest_size=8).hexdigest()] += weight

    def __add__(self, other):
        return Picture(self.clock + other.clock, self.sampled + other.sampled, self.rooted + other.rooted,
                       self.kernel + other.kernel, self.stacks + other.stacks)

    def distance(self, other):
        mine, theirs = sum(self.stacks.values()), sum(other.stacks.values())
        return sum(abs(self.stacks[s] / mine - other.stacks[s] / theirs) for s in {*self.stacks, *other.stacks}) / 2


def environment(directory, user, engine, frequency):
    env = profiled(FREQ=frequency, OUT=f"{directory}/%p", FORMAT="folded", ENGINE=engine, LOG="quiet")
    if user:
        del env["LD_PRELOAD"]
    return env


def measure(program, frequency, user, engine, seconds):
    """One run. Without an engine: without FlameProbe."""
    command = NOBODY if user == "ordinary" and os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory(prefix="flameprobe-user-") as name:
        directory = Path(name)
        directory.chmod(0o777)
        env = environment(directory, command, engine, frequency) if engine else clean_environment()
        if program == EINTR:
            ran = run([*command, host("eintr"), str(1000 * seconds)], directory, env)
            return {"calls": int(re.search(r"(\d+) blocking calls", ran.stderr).group(1)),
                    "early": int(re.search(r"(\d+) interrupted", ran.stdout).group(1))}
        work, used = PROGRAMS[program](command if engine else command[:-1], directory, env, seconds)
        return {"work": work, "cpu_ns": used, **(vars(Picture.of(directory)) if engine else {})}


def wanted(options):
    """In the order in which they are measured: (program, frequency, user, engine, round). A second run with root's ring is
    of user "root again"."""
    ways = [("root" if user == "root" else "ordinary", engine) for user in options.users.split(",")
            for engine in options.engines.split(",") if (user, engine) != ("root", "auto")]  # which is root's ring
    own = [("ordinary", None)] + ([("root", "ring"), ("root again", "ring")] if os.geteuid() == 0 else [])
    ways = list(dict.fromkeys([*own, *ways]))
    for nth in range(options.rounds):
        for program, frequency in itertools.product([*options.programs, EINTR], map(int, options.freq.split(","))):
            for user, engine in ways[nth % len(ways):] + ways[:nth % len(ways)]:
                if program != EINTR or (nth == 0 and engine and user != "root again"):
                    yield program, frequency, user, engine, nth


def key(done):
    return done["program"], done["frequency"], done["user"], done["engine"], done["round"]


def go_on(options, done):
    end = time.monotonic() + 60 * options.minutes
    known, missing = {key(run_) for run_ in done}, set()
    for program, frequency, user, engine, nth in wanted(options):
        if (program, frequency, user, engine, nth) in known or program in missing:
            continue
        if time.monotonic() > end:
            print(f"(after {options.minutes:g} minutes; the same command goes on from here)", file=sys.stderr)
            return
        try:
            figures = measure(program, frequency, user, engine, options.seconds)
        except Missing as what:
            print(f"({program} is left out: {what} is not installed)", file=sys.stderr)
            missing.add(program)
            continue
        done.append({"program": program, "frequency": frequency, "user": user, "engine": engine, "round": nth,
                     "load": os.getloadavg()[0], **figures})
        if options.state:
            with options.state.open("a") as file:
                file.write(json.dumps(done[-1]) + "\n")


def slower(own, alone):
    """Of the rounds that have both."""
    ratios = [run_["cpu_ns"] / run_["work"] / (alone[nth]["cpu_ns"] / alone[nth]["work"]) - 1 for nth, run_ in own.items()
              if nth in alone]
    if not ratios:
        return ""
    return f"{statistics.median(ratios):+.1%}" + (f" ({min(ratios):+.1%} to {max(ratios):+.1%})" if len(ratios) > 1 else "")


def table(done):
    of, early = defaultdict(dict), {}
    for run_ in done:
        if run_["program"] == EINTR:
            early[run_["frequency"], run_["user"], run_["engine"]] = f"{run_['early']} of {run_['calls']}"
        else:
            of[run_["program"], run_["frequency"], run_["user"], run_["engine"]][run_["round"]] = run_

    def picture(*what):
        return sum((Picture(**{part: run_[part] for part in vars(Picture())}) for run_ in of[what].values()), Picture())

    print("| " + " | ".join(HEAD) + " |\n|" + "-|" * len(HEAD))
    for program, frequency, user, engine in sorted(of, key=lambda what: (list(PROGRAMS).index(what[0]), what[1],
                                                                         what[2] != "root", str(what[3]))):
        if engine is None or user == "root again":
            continue
        own, mine = of[program, frequency, user, engine], picture(program, frequency, user, engine)
        cells = [f"{mine.sampled / mine.clock:.1%}", f"{mine.rooted / mine.clock:.1%}",
                 f"{mine.kernel / max(1, mine.sampled):.1%}"]
        roots, again = picture(program, frequency, "root", "ring"), picture(program, frequency, "root again", "ring")
        both = roots.clock and again.clock
        cells += [f"{mine.distance(again):.3f}" if both else "", f"{roots.distance(again):.3f}" if both else ""]
        cells += [slower(own, of.get((program, frequency, "ordinary", None), {})), early.get((frequency, user, engine), ""),
                  str(len(own)), f"{statistics.median(run_['load'] for run_ in own.values()):.0f}"]
        print("| " + " | ".join([program, str(frequency), user, engine, *cells]) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=12)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=1, help="of a run")
    parser.add_argument("--freq", default="99,499,997")
    parser.add_argument("--users", default="root,ordinary" if os.geteuid() == 0 else "ordinary")
    parser.add_argument("--engines", default="auto,ring,timer,signal")
    parser.add_argument("--state", type=Path, help="where runs are kept, to go on later")
    parser.add_argument("--table", action="store_true", help="print what --state holds, and measure nothing")
    parser.add_argument("--small", action="store_true", help="to see that it works")
    parser.add_argument("programs", nargs="*", default=list(PROGRAMS), metavar="PROGRAM", help=", ".join(PROGRAMS))
    options = parser.parse_args()
    if unknown := set(options.programs) - set(PROGRAMS):
        parser.error(f"{', '.join(unknown)}: programs are {', '.join(PROGRAMS)}")
    if options.small:
        options.rounds, options.freq, options.programs, options.engines = 1, "499", ["calls"], "auto"
    done = []
    if options.state and options.state.exists():
        done = [json.loads(line) for line in options.state.read_text().splitlines()]
    if not options.table:
        go_on(options, done)
    table(done)


if __name__ == "__main__":
    main()
