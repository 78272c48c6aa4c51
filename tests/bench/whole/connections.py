"""What a process for each connection costs PostgreSQL: connections.py [--pairs 5] [--seconds 4] [--freq 99] [--small]

`pgbench -C -S`, which makes a connection for each query, and so a server process: connections a second alone and under
FlameProbe in turns (A B A B); medians, with the quartiles."""

import argparse
import os
import re
import tempfile
from pathlib import Path

from contenders import LIBRARY, clean_environment, machine, spread

from programs import Missing, postgres_server  # noqa: E402  (contenders has added the path)


def rate(env, seconds):
    with tempfile.TemporaryDirectory(prefix="flameprobe-bench-") as parent:
        directory = Path(parent) / "server"
        directory.mkdir()
        with postgres_server(directory, env) as (process, pgbench, _):
            said = pgbench("-n", "-C", "-S", "-c", "2", "-T", seconds)
            process.send_signal(2)  # SIGINT: a fast shutdown
            process.wait(60)
    return float(re.search(r"tps = ([0-9.]+)", said)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--freq", default="99")
    parser.add_argument("--small", action="store_true", help="only to see that it works")
    options = parser.parse_args()
    if options.small:
        options.pairs, options.seconds = 1, 1
    print(machine() + f", load {os.getloadavg()[0]:.1f}, {options.freq} Hz\n")
    ours = clean_environment(LD_PRELOAD=LIBRARY, FLAMEPROBE_FREQ=options.freq, FLAMEPROBE_LOG="quiet")
    alone, with_ours, ratios = [], [], []
    try:
        for _ in range(options.pairs):
            alone.append(rate(clean_environment(), options.seconds))
            with_ours.append(rate(ours, options.seconds))
            ratios.append(with_ours[-1] / alone[-1])
    except Missing as what:
        return print(f"{what} is not installed")
    middle, low, high = spread(ratios)
    print("| | alone | under FlameProbe | ratio |\n|-|-|-|-|")
    print(f"| connections a second | {spread(alone)[0]:.0f} | {spread(with_ours)[0]:.0f} | {middle:.2f} ({low:.2f} to {high:.2f}) |")
    return None


main()
