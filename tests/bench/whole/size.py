"""Bytes on disk for each sample of a server, as its profile grows: size.py [--seconds 3600] [--frequency 99]

redis-server under redis-benchmark, which leaves it about half of a CPU; a row for every twelfth of the time. The profile is
read while it is written."""

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

from contenders import LIBRARY, clean_environment, machine
from harness import render, started, wait_until
from programs import Missing, find, free_port, listening


def samples_in(profile):
    return json.loads(render(profile, "-f", "json", "-o", "-").stdout)["stack_samples"]


def row(clock, profile, before):
    size, samples = profile.stat().st_size, samples_in(profile)
    grown = f"{(size - before[0]) / (samples - before[1]):.1f}" if samples > before[1] else "-"
    print(f"| {clock:.0f} | {samples:,} | {size:,} | {size / max(samples, 1):.1f} | {grown} |", flush=True)
    return size, samples


def measure(seconds, frequency, directory):
    server, benchmark = find("redis-server"), find("redis-benchmark")
    port, profile = free_port(), Path(directory) / "redis.fprobe"
    env = clean_environment(LD_PRELOAD=LIBRARY, FLAMEPROBE_FREQ=frequency, FLAMEPROBE_FORMAT="none",
                            FLAMEPROBE_OUT=profile.with_suffix(""))
    argv = [server, "--port", port, "--save", "", "--appendonly", "no", "--dir", directory]
    load = [benchmark, "-p", str(port), "-q", "-n", "20000", "-t", "set,get,lpush,lrange_100,zadd,mset", "-r", "1000"]
    with started([str(a) for a in argv], directory, env) as process:
        wait_until(lambda: listening(port), what="redis-server listens")
        begun, before, next_row = time.monotonic(), (0, 0), seconds / 12
        while (clock := time.monotonic() - begun) < seconds:
            subprocess.run(load, env=clean_environment(), capture_output=True, check=True)
            subprocess.run([find("redis-cli"), "-p", str(port), "flushall"], env=clean_environment(), capture_output=True,
                           check=True)
            if clock >= next_row and profile.exists():
                before, next_row = row(clock, profile, before), next_row + seconds / 12
        process.terminate()
        process.wait(60)
        row(time.monotonic() - begun, profile, before)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--frequency", type=int, default=99)
    parser.add_argument("--small", action="store_true", help="only to see that it works")
    options = parser.parse_args()
    print(machine())
    print("\n| seconds | samples | bytes | bytes a sample | since the row before |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="flameprobe-bench-") as directory:
        try:
            measure(3 if options.small else options.seconds, options.frequency, directory)
        except Missing as what:
            print(f"{what} is not installed")


if __name__ == "__main__":
    main()
