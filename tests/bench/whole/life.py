"""What FlameProbe costs around and beside the sampling: life.py [--small]

start-up of `true`; the collector's own CPU time for each sample; from the host's end to the finished SVG, beside
`perf script`; the size on disk, beside perf.data; memory above redis-server's own. Medians; perf's way to a picture is
counted without its stackcollapse and flamegraph steps unless FLAMEGRAPH_DIR names the perl toolkit."""

import argparse
import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from contenders import ENGINE, LIBRARY, clean_environment, empty, machine, spread
from harness import RENDER, Result, render, run, started, wait_until
from programs import Missing, find, free_port, listening


def environment(directory, **settings):
    return clean_environment(LD_PRELOAD=LIBRARY, FLAMEPROBE_OUT=f"{directory}/flameprobe.%e.%p",
                             **{f"FLAMEPROBE_{k}": v for k, v in settings.items()})


def startup(pairs, directory):
    """Milliseconds that the preloaded library adds to a program that does nothing."""
    added = []
    for _ in range(pairs):
        seconds = []
        for env in (clean_environment(), environment(directory)):
            begun = time.perf_counter()
            subprocess.run(["/bin/true"], env=env, cwd=directory, check=True)
            seconds.append(time.perf_counter() - begun)
        added.append((seconds[1] - seconds[0]) * 1e3)
    middle, low, high = spread(added)
    print(f"| start-up of `true`, added | {middle:.2f} ms ({low:.2f} to {high:.2f}, {pairs} pairs) |")


def own_time(frequency, rounds, directory):
    """The collector's own CPU time for each sample, as flameprobe-render --info tells it."""
    ran = run([ENGINE, rounds], directory, environment(directory, FREQ=frequency, FORMAT="none"))
    info = render(ran.result().path("fprobe"), "--info").stdout
    samples = int(re.search(r"^Samples:\s+([\d,]+)", info, re.MULTILINE)[1].replace(",", ""))
    used, unit, memory_used = re.search(r"^FlameProbe:.*?([\d.]+) (ms|s) of CPU time.*?([\d.]+ \w+) of memory", info,
                                        re.MULTILINE).groups()
    microseconds = float(used) * (1e6 if unit == "s" else 1e3)
    print(f"| the collector's CPU time at {frequency} Hz | {microseconds / samples:.2f} us a sample ({samples} samples) |")
    print(f"| memory that FlameProbe reports for itself there | {memory_used} |")
    empty(directory)


def to_picture(samples_wanted, directory):
    """Seconds from the host's end to the SVG; the profiled program is flameprobe-render itself, for its debug
    information."""
    text = Path(directory) / "input.folded"
    depth = [f"frame{i}" for i in range(30)]
    text.write_text("".join(";".join(f"{f}_{n * 7919 % 997}" for f in depth[:5 + n % 25]) + f" {1 + n % 9}\n"
                            for n in range(samples_wanted * 3)))
    argv = [RENDER, text, "-o", "/dev/null", "--format", "html"]
    frequency = 4000
    spool = run(argv, directory, environment(directory, FREQ=frequency, FORMAT="none"), timeout=300)
    profile = spool.result().path("fprobe")
    begun = time.perf_counter()
    done = render(profile, "-o", Path(directory) / "picture.svg")
    ours = time.perf_counter() - begun
    samples = sum(count for _, count in Result(profile.with_suffix("")).stacks())
    print(f"| {samples} samples of flameprobe-render ({RENDER.stat().st_size / 1e6:.0f} MB with debug information) to SVG "
          f"| {ours:.2f} s (exit {done.returncode}) |")
    print(f"| its .fprobe | {profile.stat().st_size / 1e6:.2f} MB |")
    perf = shutil.which("perf")
    if perf is None:
        return
    data = Path(directory) / "perf.data"
    subprocess.run([perf, "record", "-q", "-o", data, "-e", "cpu-clock", "-F", str(frequency), "--call-graph", "dwarf,16384",
                    "--", *map(str, argv)], env=clean_environment(), cwd=directory, check=True, capture_output=True)
    toolkit = os.environ.get("FLAMEGRAPH_DIR")
    steps = f" | perl '{toolkit}/stackcollapse-perf.pl' | perl '{toolkit}/flamegraph.pl'" if toolkit else ""
    begun = time.perf_counter()
    try:
        subprocess.run(f"'{perf}' script -i '{data}'{steps} > '{directory}/perf.out'", shell=True, env=clean_environment(),
                       check=True, capture_output=True, timeout=1800)
        theirs = f"{time.perf_counter() - begun:.2f} s"
        ratio = f" ({(time.perf_counter() - begun) / ours:.0f} times ours)"
    except subprocess.TimeoutExpired:
        theirs, ratio = "more than 30 minutes", ""
    print(f"| perf script{' | stackcollapse | flamegraph' if toolkit else ' alone'} | {theirs}{ratio} |".replace(" | stack", ", stack")
          .replace("collapse | flame", "collapse, flame"))
    size = data.stat().st_size
    print(f"| its perf.data | {size / 1e6:.1f} MB ({size / profile.stat().st_size:.0f} times the .fprobe) |")


def resident(pid):
    """Kilobytes that are this process's alone or its share of (smaps_rollup's Pss)."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(re.search(r"^Pss:\s+(\d+)", text, re.MULTILINE)[1])


def redis_memory(seconds, directory, env):
    """[kilobytes at the quarters of a minute's load]"""
    server, benchmark = find("redis-server"), find("redis-benchmark")
    port = free_port()
    with started([server, "--port", port, "--save", "", "--appendonly", "no", "--dir", directory], directory, env) as process:
        wait_until(lambda: listening(port), what="redis-server listens")
        readings, begun = [], time.monotonic()
        while time.monotonic() < begun + seconds:
            subprocess.run([benchmark, "-p", str(port), "-q", "-n", "20000", "-t", "set,get,lrange_100", "-r", "1000"],
                           env=clean_environment(), capture_output=True, check=True)
            subprocess.run([find("redis-cli"), "-p", str(port), "flushall"], env=clean_environment(), capture_output=True,
                           check=True)
            readings.append(resident(process.pid))
        process.terminate()
        process.wait(30)
    return readings


def memory(seconds, directory):
    try:
        alone = redis_memory(seconds, directory, clean_environment())
        with_us = redis_memory(seconds, directory, environment(directory, FREQ=999))
    except Missing as what:
        print(f"| memory above redis-server | {what} is not installed |")
        return
    half = len(with_us) // 2
    print(f"| memory above redis-server at 999 Hz (Pss) | {(max(with_us) - max(alone)) / 1024:.1f} MiB at most; second half "
          f"{(max(with_us[half:]) - max(with_us[:half] or [0])) / 1024:+.1f} MiB over the first ({seconds} s) |")
    empty(directory)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="only to see that it works")
    small = parser.parse_args().small
    print(machine())
    print("\n| what | how much |\n|---|---|")
    with tempfile.TemporaryDirectory(prefix="flameprobe-bench-") as directory:
        startup(3 if small else 60, directory)
        own_time(4000, 200 if small else 20000, directory)
        memory(2 if small else 60, directory)
        to_picture(500 if small else 2000000, directory)


if __name__ == "__main__":
    main()
