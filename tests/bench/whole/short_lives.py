"""What processes cost that live for milliseconds: short_lives.py [--freq 99,999] [--pairs 5] [--project DIR] [--small]

CPU time of all that runs for them, the collectors too, alone and under FlameProbe in turns (A B A B): a posix_spawn of
`true`; a fork and exit of a shell that does nothing else; `make -j2` of a small C project, with the library preloaded,
which draws a picture of each process, and by `flameprobe run`, which draws one of all; with --project the same of the
project in a folder, which `make` must build and `make clean` undo (and only that). Medians of the pairs' differences,
with the quartiles. Elapsed time is worth something on a quiet machine only. Each run's results stay until the end:
ext4 looks at the inode of each file that was deleted in the last minutes before it makes another."""

import argparse
import os
import resource
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from contenders import LIBRARY, clean_environment, machine, spread
from harness import COMMAND


def wait_for_orphans():
    """A collector outlives its host: it is a child of this process then (harness), and its CPU time counts."""
    try:
        while True:
            os.wait()
    except ChildProcessError:
        pass


def measured(work):
    """(CPU, elapsed) seconds of `work`'s children."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    work()
    elapsed = time.perf_counter() - begun
    wait_for_orphans()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, elapsed


def spawns(number):
    def work(env, _):
        for _ in range(number):
            os.waitpid(os.posix_spawn("/bin/true", ["/bin/true"], env), 0)
    return work


def forks(number):
    loop = f"i=0; while [ $i -lt {number} ]; do (:); i=$((i + 1)); done"
    return lambda env, directory: subprocess.run(["/bin/sh", "-c", loop], env=env, cwd=directory, check=True)


def project(files, where):
    where.mkdir()
    for n in range(files):
        (where / f"part{n}.c").write_text("#include <stdio.h>\n#include <stdlib.h>\n"
                                          f"int part{n}(int x) {{ return x * {n} + abs(x); }}\n")
    objects = " ".join(f"part{n}.o" for n in range(files))
    (where / "Makefile").write_text(f"all: {objects}\n\tar rc all.a {objects}\n%.o: %.c\n\tcc -O2 -c $< -o $@\n"
                                    f"clean:\n\trm -f *.o all.a\n")
    return built(where)


def built(where):
    def work(env, directory, by_run=False):
        """By `flameprobe run` where the environment is FlameProbe's."""
        subprocess.run(["make", "-s", "clean"], cwd=where, check=True, stdout=subprocess.DEVNULL)
        run = []
        if by_run and env.pop("LD_PRELOAD", None):
            run = [COMMAND, "run", "-F", env["FLAMEPROBE_FREQ"], "-o", f"{directory}/%e.%p", "-f", "folded,svg", "--"]
        subprocess.run([*run, "make", "-s", "-j2"], cwd=where, env=env, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
    return work


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--freq", default="99,999")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--project", type=Path)
    parser.add_argument("--small", action="store_true", help="only to see that it works")
    options = parser.parse_args()
    if options.small:
        options.freq, options.pairs = "99", 1
    number, files = (20, 4) if options.small else (200, 40)
    forked = number * 10  # so that the shell's own picture is little beside them
    print(machine() + f", load {os.getloadavg()[0]:.1f}\n")
    print("| what | Hz | alone, CPU | added, CPU | ratio | added, elapsed |\n|-|-|-|-|-|-|")
    with tempfile.TemporaryDirectory(prefix="flameprobe-bench-") as directory:
        what = [("posix_spawn of true", spawns(number), number, 1e3, "ms"), ("fork and exit", forks(forked), forked, 1e3, "ms")]
        if options.project:
            make = built(options.project)
            what = [("make -j2, preloaded", make, 1, 1, "s"),
                    ("by flameprobe run", lambda env, where: make(env, where, by_run=True), 1, 1, "s")]
        elif shutil.which("make") and shutil.which("cc"):
            make = project(files, Path(directory) / "project")
            what.append((f"make -j2, {files} C files, preloaded", make, 1, 1, "s"))
            what.append(("by flameprobe run", lambda env, where: make(env, where, by_run=True), 1, 1, "s"))
        for name, work, count, scale, unit in what:
            for frequency in options.freq.split(","):
                alone, added, ratios, elapsed = [], [], [], []
                for _ in range(options.pairs):
                    results = Path(tempfile.mkdtemp(dir=directory))
                    ours = clean_environment(LD_PRELOAD=LIBRARY, FLAMEPROBE_FREQ=frequency, FLAMEPROBE_LOG="quiet",
                                             FLAMEPROBE_OUT=f"{results}/%e.%p")
                    (cpu, time_alone), (cpu_with, time_with) = (measured(lambda e=env: work(dict(e), results))
                                                                for env in (clean_environment(), ours))
                    alone.append(cpu / count * scale)
                    added.append((cpu_with - cpu) / count * scale)
                    ratios.append(cpu_with / cpu)
                    elapsed.append((time_with - time_alone) / count * scale)
                middle, low, high = spread(added)
                print(f"| {name} | {frequency} | {spread(alone)[0]:.2f} {unit} | {middle:.2f} {unit} ({low:.2f} to {high:.2f}) | "
                      f"{spread(ratios)[0]:.2f} | {spread(elapsed)[0]:.2f} {unit} |", flush=True)


main()
