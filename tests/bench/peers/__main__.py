"""FlameProbe beside every peer, in one run: python3 tests/bench/peers [--whole] [--write]

Installs the peers that the registries have (--no-install: takes what is there), finds out which of them run here and says
what does not and why, and runs everything in turn, round after round, until the time is used: ten minutes, or an hour with
--whole, which can be done in parts of ten minutes: --whole --parts truth --minutes 9, then --add --whole --parts cost, and so
on. Every value and each profiler's own stacks are kept in BUILD/peers; the tables and plots are BUILD/peers/index.html
and plots.png. --write also puts the tables into docs/performance.md. BUILD is `build`, or FLAMEPROBE_BUILD."""

import argparse
import shlex
import sys
import time
from pathlib import Path

import profilers
from harness import ROOT
from profilers import EVERY, NotHere, Profiler, machine

import cost
import install
import memory
import plots
import rendering
import tables
import truth
import waiting
from figures_of_runs import Figures
from rounds import Rounds

PARTS = ("truth", "cost", "waits", "memory", "time")
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


def found(wanted, user):
    """({name: profiler}, {name: version}, {name: why it is not here}); each has profiled a short program."""
    here, versions, absent = {}, {}, {}
    for kind in EVERY:
        profiler = kind(user)
        if wanted and kind.name not in wanted and kind.name != tables.OURS:
            continue
        try:
            version = profiler.version()
            truth.tried(profiler)
        except (NotHere, OSError, ValueError, LookupError) as why:
            absent[kind.name] = " ".join((str(why) if isinstance(why, NotHere) else f"{type(why).__name__}: {why}").split())
            continue
        here[kind.name], versions[kind.name] = profiler, version
    return here, versions, absent


def options_of(arguments):
    parser = argparse.ArgumentParser(prog="tests/bench/peers", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--whole", action="store_true", help="every row, for an hour; else those of ten minutes")
    parser.add_argument("--small", action="store_true", help="only to see that it works: one short round")
    parser.add_argument("--minutes", type=float, help="how long to measure; 8 and 50 leave time for the rest")
    parser.add_argument("--only", default="", help="comma list of peers; FlameProbe is always there")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"comma list of {', '.join(PARTS)}; all by default")
    parser.add_argument("--add", action="store_true", help="to what earlier calls have put into the output")
    parser.add_argument("--rows", default="", help="a part of the names of the rows wanted")
    parser.add_argument("--no-install", action="store_true", help="take what is there")
    parser.add_argument("--nobody", action="store_true", help="started by root: run all programs as an ordinary user")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/performance.md")
    parser.add_argument("--output", type=Path, default=profilers.OUTPUT, help="a directory; BUILD/peers by default")
    options = parser.parse_args(arguments)
    if unknown := set(options.parts.split(",")) - set(PARTS):
        parser.error(f"--parts: {', '.join(unknown)} is none of {', '.join(PARTS)}")
    options.minutes = options.minutes or (50 if options.whole else 0.1 if options.small else 8)
    return options


def main():
    options = options_of(sys.argv[1:])
    profilers.OUTPUT = options.output.resolve()
    profilers.OUTPUT.mkdir(parents=True, exist_ok=True)
    wanted = [name for name in options.only.split(",") if name]
    refused = {} if options.no_install else install.all_of(wanted)
    profilers.PATIENCE = 60 if options.whole else 20
    user = NOBODY if options.nobody else ()
    here, versions, absent = found(wanted, user)
    absent = {**refused, **absent}
    for name, why in absent.items():
        print(f"{name} is left out: {why}", file=sys.stderr)
    figures = Figures(profilers.OUTPUT / "figures.jsonl", earlier=options.add)
    rounds = Rounds(figures, here, Profiler(user), options)
    parts = {"truth": lambda: truth.tasks(options), "cost": lambda: cost.tasks(options, user), "waits": lambda: waiting.tasks(options, here),
             "memory": lambda: memory.tasks(options, user), "time": lambda: rendering.tasks(options)}
    tasks = [task for part in PARTS if part in options.parts.split(",") for task in parts[part]()]
    versions |= memory.versions()
    rounds.add(sorted(tasks, key=lambda task: task.rare))
    begun = time.monotonic()
    rounds.until(begun + 60 * options.minutes)
    text = tables.whole(figures, list(here), versions, absent, "python3 tests/bench/peers " + shlex.join(sys.argv[1:]))
    (profilers.OUTPUT / "tables.md").write_text(text)
    plots.write(figures, text, f"FlameProbe beside other profilers, {tables.today()}, {machine()}", profilers.OUTPUT)
    print(text)
    if options.write and not tables.put_into(ROOT / "docs" / "performance.md", text):
        raise SystemExit("docs/performance.md has no markers for the tables")


if __name__ == "__main__":
    main()
