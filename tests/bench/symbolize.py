#!/usr/bin/env python3
"""Names N addresses of one file by FlameProbe's symbolizer, llvm-symbolizer, eu-addr2line (libdwfl), addr2line and perf script with inlined
functions, A B C A B C, and prints medians of time and memory (perf script: once, and without the addr2line that it runs
beside itself, so its CPU time and memory are more than is shown).

  symbolize.py SYMBOLIZE_ADDRESSES [FILE] [--addresses N] [--rounds R] [--without addr2line|perf]...

FILE defaults to SYMBOLIZE_ADDRESSES itself; a file that matters is one of 100 MB of debug information or more."""
import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def text_section(path):
    listing = subprocess.run(["readelf", "-SW", path], check=True, capture_output=True, text=True).stdout
    for line in listing.splitlines():
        fields = line[line.find("]") + 1 :].split()
        if fields and fields[0] == ".text":
            return int(fields[2], 16), int(fields[4], 16)
    raise SystemExit(f"{path}: no .text section")


def measure(command, addresses):
    """Seconds on the clock, seconds of CPU, MB at most."""
    with open(addresses, encoding="ascii") as source, open(os.devnull, "wb") as sink:
        begin = time.monotonic()
        child = subprocess.Popen(command, stdin=source, stdout=sink)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.monotonic() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"{command[0]} ended with {child.returncode}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def contenders(arguments, samples):
    ours = [arguments.program, arguments.file]
    yield "flameprobe", ours
    yield "flameprobe, 1 thread", ours + ["--workers", "1"]
    yield "flameprobe, file read", ours + ["--read"]
    for name in ("llvm-symbolizer", "llvm-symbolizer-14"):
        if shutil.which(name) and "llvm-symbolizer" not in arguments.without:
            yield name, [name, "--obj=" + arguments.file, "--inlines", "--demangle"]
            break
    if samples:
        yield PERF, ["perf", "script", "-i", samples]
    if shutil.which("eu-addr2line") and "eu-addr2line" not in arguments.without:
        yield "eu-addr2line, libdwfl", ["eu-addr2line", "-a", "-i", "-f", "-C", "-e", arguments.file]
    if shutil.which("addr2line") and "addr2line" not in arguments.without:
        yield "addr2line", ["addr2line", "-a", "-i", "-f", "-C", "-e", arguments.file]


PERF = "perf script, inlines"


def make_samples(arguments, addresses, samples):
    """A perf.data with a sample at each of the addresses; the path, or nothing where there is no perf."""
    if not shutil.which("perf") or "perf" in arguments.without:
        return None
    with open(addresses, encoding="ascii") as source, open(samples, "wb") as data:
        subprocess.run([sys.executable, Path(__file__).with_name("perf_script.py"), arguments.file], stdin=source, stdout=data,
                       check=True)
    return samples


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("file", nargs="?")
    parser.add_argument("--addresses", type=int, default=10000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--without", action="append", default=[])
    arguments = parser.parse_args()
    arguments.file = os.path.abspath(arguments.file or arguments.program)

    start, size = text_section(arguments.file)
    chosen = random.Random(1).sample(range(start, start + size), min(arguments.addresses, size))
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as addresses:
        addresses.write("".join(f"{address:#x}\n" for address in chosen))
        addresses.flush()
        with tempfile.TemporaryDirectory(prefix="flameprobe-bench-") as directory:
            samples = make_samples(arguments, addresses.name, f"{directory}/perf.data")
            results = {name: [] for name, _ in contenders(arguments, samples)}
            for number in range(arguments.rounds):
                for name, command in contenders(arguments, samples):
                    if name != PERF or number == 0:
                        results[name].append(measure(command, addresses.name))
    print(f"{len(chosen)} addresses of {arguments.file}, {os.path.getsize(arguments.file) >> 20} MB")
    print(f"{'':26}{'seconds':>9}{'  (least to most)':<18}{'CPU':>8}{'MB':>7}")
    for name, rounds in results.items():
        clock, cpu, memory = (statistics.median(column) for column in zip(*rounds))
        spread = f"  ({min(r[0] for r in rounds):.2f} to {max(r[0] for r in rounds):.2f})"
        print(f"{name:26}{clock:9.2f}{spread:<18}{cpu:8.2f}{memory:7.0f}")


if __name__ == "__main__":
    main()
