"""The table of real programs:
real_programs.py [--engine E] [--user] [--unwind U] [--freq HZ] [--stack BYTES] [--seconds N]
    [--least-rooted SHARE] [PROGRAM...]

Each program, unmodified from Debian's packages, is run under a load with FlameProbe preloaded; printed are the samples,
how many of them are rooted (their stack reaches the thread's start) and how many of their frames are named (of the
frames in files that have symbols, and of all). Exit status 1 if one has no samples, or fewer rooted than SHARE of them."""

import argparse
import os
import re
import tempfile
from pathlib import Path

from figures import Figures
from harness import profiled, render
from programs import COMPILER, PROGRAMS, Missing

ROW = "| {:<14} | {:>8} | {:>8} | {:>8} | {:>9} | {:<8} | {:<8} |"


def facts(result):
    """(engine, unwinder) as flameprobe-render --info tells them."""
    info = render(result.path("fprobe"), "--info").stdout
    return tuple(found[1] if (found := re.search(rf"\b{word} (\w+)", info)) else "?" for word in ("engine", "unwinder"))


def measure(program, directory, env, seconds):
    """(Figures, engine, unwinder, results) over all processes of the program itself."""
    ran, executable = program.start(directory, env, seconds)
    figures, engine, unwinder = Figures(), "?", "?"
    results = list(ran.results().values())
    for result in results:
        figures.add(result.stacks(), executable if Path(executable).name == result.executable else f"/usr/bin/{result.executable}")
        engine, unwinder = facts(result)
    return figures, engine, unwinder, results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--unwind", default="auto")
    parser.add_argument("--freq", type=int, default=999)
    parser.add_argument("--stack", type=int)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--least-rooted", type=float, default=0)
    parser.add_argument("--user", action="store_true", help="as an ordinary user, where root measures")
    parser.add_argument("--table", action="store_true", help="the default and only output")
    parser.add_argument("programs", nargs="*")
    options = parser.parse_args()
    if options.user and os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
    bad = []
    print(ROW.format("program", "samples", "rooted", "named", "of all", "unwinder", "engine"))
    print(ROW.format(*["---"] * 7))
    for program in (*PROGRAMS, COMPILER):
        if options.programs and program.name not in options.programs:
            continue
        with tempfile.TemporaryDirectory(prefix="flameprobe-table-") as directory:
            env = profiled(CHILDREN="separate", FREQ=options.freq, ENGINE=options.engine, UNWIND=options.unwind,
                           **({"STACK": options.stack} if options.stack else {}))
            (Path(directory) / "run").mkdir()
            try:
                figures, engine, unwinder, _ = measure(program, Path(directory) / "run", env, options.seconds)
            except Missing as what:
                print(f"| {program.name:<14} | not installed: {what}")
                continue
            print(ROW.format(program.name, figures.samples, f"{figures.rooted_share:.2%}", f"{figures.named_share:.2%}",
                             f"{figures.named_share_of_all:.2%}", unwinder, engine), flush=True)
            if figures.samples == 0 or figures.rooted_share < options.least_rooted:
                bad.append(program.name)
    if bad:
        raise SystemExit(f"no samples, or too few rooted: {', '.join(bad)}")


if __name__ == "__main__":
    main()
