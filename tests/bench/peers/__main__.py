"""FlameProbe beside every peer, in one run: python3 tests/bench/peers [--whole] [--write]

Installs the peers that the registries have (--no-install: takes what is there), finds out which of them run here and says
what does not and why, and runs everything in turn, round after round, until the time is used: ten minutes, or an hour with
--whole. That can be done in parts, each with its date: --whole --parts code --minutes 12, then --add --whole --parts lives,
and so on. A row that is measured anew takes the place of the earlier one. Every value and each profiler's own stacks are
kept in BUILD/peers; the tables and plots are BUILD/peers/index.html and plots.png. --write also puts the tables into
docs/site/performance.md, docs/site/figures.md and the README, and the plots into docs/images; --minutes 0 --add --write does it again without measuring. BUILD is `build`, or FLAMEPROBE_BUILD."""

import argparse
import shlex
import shutil
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import profilers
from harness import ROOT
from profilers import EVERY, NotHere, Profiler, machine

import cost
import install
import memory
import plots
import rendering
import summary
import tables
import truth
import waiting
from figures_of_runs import Call, Figures
from rounds import Rounds

PARTS = ("code", "lives", "jit", "cost", "threads", "servers", "waits", "memory", "time")
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


def commit():
    """The sources beside this command; the build is taken to be of them."""
    done = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True)
    return f" ({done.stdout.strip()})" if done.returncode == 0 else ""


def tried(kind, user):
    """(profiler, [version, how it is started]); it has profiled a short program."""
    profiler = kind(user)
    version = profiler.version() + (commit() if kind.name == tables.OURS else "")
    truth.tried(profiler)
    return profiler, [version, profiler.shown()]


def found(wanted, user):
    """({name: profiler}, {name: [version, how it is started]}, {name: why it is not here})"""
    here, versions, absent = {}, {}, {}
    asked = {kind.name: partial(tried, kind, user) for kind in EVERY}
    asked |= {name: lambda of=of: (None, [of[0](), of[1]()]) for name, of in {**memory.OTHERS, **rendering.OTHERS}.items()}
    for name, ask in asked.items():
        if wanted and name not in (*wanted, tables.OURS):
            continue
        try:
            profiler, versions[name] = ask()
        except (NotHere, OSError, ValueError, LookupError, TypeError) as why:
            absent[name] = " ".join((str(why) if isinstance(why, NotHere) else f"{type(why).__name__}: {why}").split())
            continue
        if profiler:
            here[name] = profiler
    return here, versions, absent


def options_of(arguments):
    parser = argparse.ArgumentParser(prog="tests/bench/peers", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--whole", action="store_true", help="every row, for an hour; else those of ten minutes")
    parser.add_argument("--small", action="store_true", help="only to see that it works: one short round")
    parser.add_argument("--minutes", type=float, help="how long to measure; 8, or 58 with --whole, by default")
    parser.add_argument("--only", default="", help="comma list of peers; FlameProbe is always there")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"comma list of {', '.join(PARTS)}; all by default")
    parser.add_argument("--add", action="store_true", help="to what earlier calls have put into the output")
    parser.add_argument("--rows", action="append", help="a part of the names of the rows wanted; may be given again")
    parser.add_argument("--no-install", action="store_true", help="take what is there")
    parser.add_argument("--nobody", action="store_true", help="started by root: run all programs as an ordinary user")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/site/performance.md, docs/site/figures.md and README.md")
    parser.add_argument("--output", type=Path, default=profilers.OUTPUT, help="a directory; BUILD/peers by default")
    options = parser.parse_args(arguments)
    if unknown := set(options.parts.split(",")) - set(PARTS):
        parser.error(f"--parts: {', '.join(unknown)} is none of {', '.join(PARTS)}")
    if options.minutes == 0 and not options.add:
        parser.error("--minutes 0 shows what earlier calls have measured, with --add")
    if options.minutes is None:
        options.minutes = 58 if options.whole else 0.1 if options.small else 8
    return options


def tasks_of(options, here, user):
    """part -> its tasks, in the order of the tables."""
    return {"code": truth.tasks(options, truth.code), "lives": truth.tasks(options, truth.lives), "jit": truth.tasks(options, truth.jit),
            "cost": cost.tasks(options, user), "threads": cost.thread_tasks(options), "servers": cost.server_tasks(options),
            "waits": waiting.tasks(options, here), "memory": memory.tasks(options, user), "time": rendering.tasks(options)}


def results(figures, columns, output, write):
    first, whole = summary.first_screen(figures, columns), tables.whole(figures, columns)
    (output / "tables.md").write_text(f"{first}\n\n{whole}")
    plots.write(figures, f"{first}\n{whole}", f"FlameProbe beside other profilers, {summary.days(figures)}, {tables.machines(figures)}", output)
    print(f"{first}\n\n{whole}")
    if write:
        for page, part in {"docs/site/performance.md": {"summary": first}, "docs/site/figures.md": {"tables": whole},
                           "README.md": {"few": summary.few(figures)}}.items():
            if not tables.put_into(ROOT / page, part):
                raise SystemExit(f"{page} has no markers for its table")
        shutil.copy(output / "plots.svg", ROOT / "docs" / "images" / "peers.svg")


def prepared(options, user):
    """({name: profiler}, what is known of this call); nothing is looked for where nothing is measured."""
    call = Call(tables.now(), "", tables.load(), "python3 tests/bench/peers " + shlex.join(sys.argv[1:]), machine())
    if options.minutes == 0:
        return {}, call
    wanted = [name for name in options.only.split(",") if name]
    refused = {} if options.no_install else install.all_of(wanted)
    here, call.profilers, absent = found(wanted, user)
    call.absent = {**refused, **absent}
    for name, why in call.absent.items():
        print(f"{name} is left out: {why}", file=sys.stderr)
    return here, call


def main():
    options = options_of(sys.argv[1:])
    profilers.OUTPUT = options.output.resolve()
    profilers.OUTPUT.mkdir(parents=True, exist_ok=True)
    profilers.PATIENCE = 60 if options.whole else 20
    user = NOBODY if options.nobody else ()
    here, call = prepared(options, user)
    figures = Figures(profilers.OUTPUT / "figures.jsonl", call, earlier=options.add)
    tasks = tasks_of(options, here, user)
    figures.listed = [row for of_part in tasks.values() for task in of_part for row in task.rows]
    if options.minutes > 0:
        rounds = Rounds(figures, here, Profiler(user), options)
        rounds.add(sorted((task for part in PARTS if part in options.parts.split(",") for task in tasks[part]), key=lambda task: task.rare))
        rounds.until(time.monotonic() + 60 * options.minutes)
        figures.end(tables.now(), f"{call.load} to {tables.load()}")
    results(figures, [kind.name for kind in EVERY if kind.name in {tables.OURS, *figures.profilers()}], profilers.OUTPUT, options.write)


if __name__ == "__main__":
    main()
