"""What the picture says of threads that use little CPU time, in each engine, by root and by an ordinary user:
early.py [--engines auto,ring,timer,signal] [--freq 99,997] [--runs 3] [--small]

tests/targets/lives: of the CPU time of each of many threads the first 0.3 is in early(). For each way of living are printed:
coverage (CPU time in the picture, of what the process used), how much of it stands on stacks that were sampled, and the share
of early() in the time that was sampled in these functions, beside the true one, with the distance in standard errors of as
many independent samples as there were."""

import argparse
import json
import math
import os
import subprocess
import tempfile
from pathlib import Path

from contenders import BUILD, LIBRARY, clean_environment, machine

from harness import read_folded  # noqa: E402  (contenders has added the path)

LIVES = BUILD / "tests" / "targets" / "lives"
WAYS = {"sleepers of 14 ms": ("sleepers", 300, 14000, 14000), "sleepers of 5 to 30 ms": ("sleepers", 200, 5000, 30000),
        "busy, 5 to 30 ms": ("busy", 200, 5000, 30000), "in turn, 8 ms": ("sequence", 200, 8000, 8000),
        "in turn, 2 ms": ("sequence", 600, 2000, 2000), "in turn, 0.5 ms": ("sequence", 1500, 500, 500)}
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]


def measure(argv, user, engine, frequency, directory):
    Path(directory).chmod(0o777)
    env = clean_environment(LD_PRELOAD=LIBRARY, FLAMEPROBE_FREQ=frequency, FLAMEPROBE_FORMAT="folded,json",
                            FLAMEPROBE_LOG="quiet", FLAMEPROBE_OUT=f"{directory}/out", FLAMEPROBE_ENGINE=engine)
    if user == "ordinary":
        argv = [*NOBODY, "env", f"LD_PRELOAD={env.pop('LD_PRELOAD')}", *argv]
    done = subprocess.run(argv, env=env, cwd=directory, capture_output=True, text=True, timeout=300, check=True)
    early, every, process = map(int, done.stdout.split())
    stacks = read_folded((Path(directory) / "out.folded").read_text())
    told = json.loads((Path(directory) / "out.json").read_text())
    period = told["sampling"]["period_ns"]
    if told["sampling"]["engine"] != "ring" or "CPU timers" in told["sampling"]["engine_reason"]:
        process -= told["cpu_time"]["flameprobe_ns"]  # the collector is a thread of the host, whose clock counts it
    weight = lambda true: sum(count for frames, count in stacks if true(frames))
    on_stacks = weight(lambda frames: not frames[-1].startswith("[not sampled") and frames[-1] not in ("[lost]", "[truncated]"))
    hits = sum(function["total"] for function in told["functions"] if function["name"] in ("early", "late"))
    return {"process": process / period, "picture": weight(lambda _: True), "stacks": on_stacks, "hits": hits, "true": early / every,
            "early": weight(lambda frames: "early" in frames), "late": weight(lambda frames: "late" in frames)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", default="auto,ring,timer,signal")
    parser.add_argument("--freq", default="99,997")
    parser.add_argument("--ways", default=",".join(map(str, range(len(WAYS)))), help="numbers in the order of the table")
    parser.add_argument("--users", default="root,ordinary")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--small", action="store_true", help="only to see that it works")
    options = parser.parse_args()
    if options.small:
        options.engines, options.freq, options.runs, options.ways = "auto", "997", 1, "3"
    users = options.users.split(",") if os.geteuid() == 0 else ["ordinary"]
    ways = [list(WAYS.items())[int(way)] for way in options.ways.split(",")]
    print(machine() + f", load {os.getloadavg()[0]:.1f}, {options.runs} runs each\n")
    print("| threads | engine | user | Hz | coverage | on stacks | early, true | in the picture | z |\n|-|-|-|-|-|-|-|-|-|")
    for name, way in ways:
        for engine in options.engines.split(","):
            for user in users:
                for frequency in options.freq.split(","):
                    runs = []
                    for _ in range(options.runs):
                        with tempfile.TemporaryDirectory(prefix="flameprobe-bench-") as directory:
                            runs.append(measure([str(LIVES), *map(str, way)], user, engine, frequency, directory))
                    total = {key: sum(run[key] for run in runs) for key in runs[0]}
                    inside, true = total["early"] + total["late"], total["true"] / len(runs)
                    share = total["early"] / inside if inside else math.nan
                    error = math.sqrt(true * (1 - true) / max(total["hits"], 1))
                    print(f"| {name} | {engine} | {user} | {frequency} | {100 * total['picture'] / total['process']:.1f} % | "
                          f"{100 * total['stacks'] / total['process']:.1f} % | {true:.3f} | {share:.3f} | "
                          f"{(share - true) / error:+.1f} |", flush=True)


main()
