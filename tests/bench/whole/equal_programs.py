"""How often a comparison of equal runs of real programs names a change, and a gate of 1 % fails:
equal_programs.py [--runs 12] [--seconds 3] [--freq 99,997] [--programs nginx,postgres,gcc,tokio,python,processes] [--keep DIR]

Each program runs again and again, in turns with the others. Of its runs each is compared with each, in both orders. Pairs of
neighbours have no run in common, and are counted by themselves. With --keep the profiles stay in DIR, and what is there is not
measured again: another version can judge the same runs, with --runs 0 only them. Printed are the spread of the odds of
functions from run to run, beside samples (docs/decisions/0017-one-comparison.md), and on stderr what failed."""

import argparse
import itertools
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "integration"))
import programs  # noqa: E402
from harness import RENDER, clean_environment, profiled  # noqa: E402  (the path above is where it lies)

ROW = "| {:<9} | {:>4} | {:>4} | {:>7} | {:>5} | {:>6} | {:>5} | {:>7} | {:>6} | {:>6} |"


def processes(directory, env, seconds):
    """A run of a hundred processes, one after the other."""
    script = directory / "many.py"
    script.write_text("import hashlib, sys\nfor i in range(int(sys.argv[1])): hashlib.sha256(sorted(str(i * i))[0].encode() * 999).hexdigest()\n")
    line = f"for i in $(seq 100); do /usr/bin/python3 {script} {150 * seconds}; done"
    return programs.whole(["/bin/sh", "-c", line], directory, env)


STARTS = {"nginx": programs.nginx, "postgres": programs.postgres, "gcc": programs.compiler, "tokio": programs.forwarder,
          "python": programs.python, "processes": processes}


def take(name, frequency, seconds, out):
    """One run; a `.fprobe` with all its processes."""
    with tempfile.TemporaryDirectory(prefix="flameprobe-equal-", ignore_cleanup_errors=True) as place:
        directory = Path(place) / "run"
        directory.mkdir(mode=0o777)
        STARTS[name](directory, profiled(FREQ=frequency, FORMAT="none", LOG="quiet", OUT=directory / "result"), seconds)
        found = sorted(directory.glob("result*.fprobe"))
        if len(found) == 1:
            shutil.move(found[0], out)
        elif found:
            out.with_suffix("").mkdir()
            for path in found:
                shutil.move(path, out.with_suffix(""))


def judge(before, after):
    done = subprocess.run([RENDER, "--diff", before, after, "--fail-above", "1"], capture_output=True, text=True,
                          env=clean_environment(), timeout=120)
    if done.returncode not in (0, 3):
        raise SystemExit(f"flameprobe-render --diff: {done.stderr}")
    lines = done.stdout.splitlines()
    return done.returncode == 3, not lines[0].startswith("Nothing"), lines


def samples_of(lines):
    found = re.search(r"([\d,]+) samples before", "\n".join(lines))
    return int(found[1].replace(",", "")) if found else 0


def row_of(name, frequency, runs):
    failed = named = near = near_failed = pairs = 0
    samples = []
    for one, other in itertools.permutations(range(len(runs)), 2):
        is_failed, is_named, lines = judge(runs[one], runs[other])
        pairs, failed, named = pairs + 1, failed + is_failed, named + is_named
        if other == one + 1 and one % 2 == 0:
            near, near_failed = near + 1, near_failed + is_failed
            samples.append(samples_of(lines))
        if is_failed:
            told = [line for line in lines if line.startswith("above ")]
            print(f"{name}, {frequency} Hz, {runs[one].name} and {runs[other].name}: {lines[0]}", *told, sep="\n  ", file=sys.stderr)
    return [len(runs), round(statistics.median(samples)) if samples else 0, near, near_failed, pairs, failed, named]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=12, help="of each program at each frequency")
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--freq", default="99,997")
    parser.add_argument("--programs", default=",".join(STARTS))
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--small", action="store_true", help="to see that it works")
    options = parser.parse_args()
    if options.small:
        options.runs, options.seconds, options.programs, options.freq = 2, 1, "gcc", "997"
    with tempfile.TemporaryDirectory(prefix="flameprobe-equal-") as temporary:
        place = options.keep or Path(temporary)
        wanted = list(itertools.product(options.programs.split(","), options.freq.split(",")))
        missing = set()
        for nth in range(options.runs):
            for name, frequency in wanted:
                out = place / f"{name}-{frequency}" / f"{nth:03}.fprobe"
                out.parent.mkdir(parents=True, exist_ok=True)
                if name in missing or out.exists() or out.with_suffix("").exists():
                    continue
                try:
                    take(name, frequency, options.seconds, out)
                except programs.Missing as why:
                    missing.add(name)
                    print(f"{name}: left out, since there is no {why}", file=sys.stderr)
                except AssertionError as why:  # on a machine that is too busy; another run may do
                    print(f"{name}, {frequency} Hz: {why}", file=sys.stderr)
        print(f"load {os.getloadavg()[0]:.0f}; neighbours: pairs that have no run in common")
        print(ROW.format("program", "Hz", "runs", "samples", "pairs", "failed", "", "ordered", "failed", "named"))
        for name, frequency in wanted:
            runs = sorted((place / f"{name}-{frequency}").iterdir())
            if len(runs) > 1:
                runs_, samples, near, near_failed, pairs, failed, named = row_of(name, frequency, runs)
                print(ROW.format(name, frequency, runs_, samples, near, near_failed, "", pairs, failed, named), flush=True)


if __name__ == "__main__":
    main()
