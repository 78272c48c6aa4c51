"""How true the picture of lives shorter than a sampling period is, in each engine and under perf:
brief.py [--freq 99,999] [--lives 200,800,2000,5000,30000] [--milliseconds 3000] [--small]

tests/targets/brief: half of its CPU time is used by threads that live so long, one after the other. Printed are the share of
the picture that stands below their start routine, and of that what was not sampled; and the whole picture's CPU time, of what
the process used. perf script is asked for perf's."""

import argparse
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from contenders import BUILD, EVERY_ENGINE, LIBRARY, clean_environment, empty, machine

from harness import read_folded  # noqa: E402  (contenders has added the path)

BRIEF = BUILD / "tests" / "targets" / "brief"


def flameprobe(argv, engine, frequency, directory):
    env = clean_environment(LD_PRELOAD=LIBRARY, FLAMEPROBE_ENGINE=engine, FLAMEPROBE_FREQ=frequency,
                            FLAMEPROBE_FORMAT="folded,json", FLAMEPROBE_LOG="quiet", FLAMEPROBE_OUT=f"{directory}/out")
    done = subprocess.run(argv, env=env, cwd=directory, capture_output=True, text=True, timeout=300, check=True)
    told = [int(word) for word in done.stdout.split()]
    result = Path(directory) / "out.folded"
    stacks = read_folded(result.read_text())
    period = json.loads(result.with_suffix(".json").read_text())["sampling"]["period_ns"]
    below = [(frames, count) for frames, count in stacks if "brief_thread" in frames]
    unsampled = sum(count for frames, count in below if "not sampled" in frames[-1])
    return told, sum(count for _, count in below), unsampled, sum(count for _, count in stacks), period


def perf(argv, _, frequency, directory):
    record = ["perf", "record", "-q", "-o", f"{directory}/perf.data", "-e", "cpu-clock", "-F", str(frequency), "--call-graph",
              "dwarf,8192", "--"]
    done = subprocess.run([*record, *argv], env=clean_environment(), cwd=directory, capture_output=True, text=True, timeout=300,
                          check=True)
    script = subprocess.run(["perf", "script", "-i", f"{directory}/perf.data", "-F", "ip,sym"], capture_output=True, text=True,
                            timeout=300, check=True).stdout
    stacks = [block for block in script.split("\n\n") if block.strip()]
    return ([int(word) for word in done.stdout.split()], sum("brief_" in stack for stack in stacks), 0, len(stacks),
            1_000_000_000 // frequency)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--freq", default="99,999")
    parser.add_argument("--lives", default="200,800,2000,5000,30000")
    parser.add_argument("--milliseconds", type=int, default=3000)
    parser.add_argument("--small", action="store_true", help="only to see that it works")
    options = parser.parse_args()
    if options.small:
        options.freq, options.lives, options.milliseconds = "99", "2000", 300
    ways = [(f"FlameProbe ({engine})", flameprobe, engine) for engine in EVERY_ENGINE]
    if shutil.which("perf"):
        ways.append(("perf", perf, ""))
    print(machine() + f", load {os.getloadavg()[0]:.1f}\n")
    print("| profiler | Hz | life | share | of which not sampled | coverage |\n|-|-|-|-|-|-|")
    with tempfile.TemporaryDirectory(prefix="flameprobe-bench-") as directory:
        for name, measure, engine in ways:
            for frequency in options.freq.split(","):
                for life in options.lives.split(","):
                    argv = [str(BRIEF), "thread", life, str(options.milliseconds)]
                    told, brief, unsampled, every, period = measure(argv, engine, int(frequency), directory)
                    print(f"| {name} | {frequency} | {int(life) / 1000:g} ms | {100 * brief / max(every, 1):.1f} % | "
                          f"{100 * unsampled / max(brief, 1):.0f} % | {100 * every * period / told[2]:.1f} % |", flush=True)
                    empty(directory)


main()
