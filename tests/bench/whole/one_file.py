"""Bytes of flameprobe as one file, and how long it takes to start: one_file.py [FILE...] [--times 50] [--small]

By default the files that tools/tarball/make and tools/tarball/make --arm64 have made. A start is a run of `--version`, from
before its exec to its end, beside one of /bin/true; medians, in milliseconds. A file of another CPU is not started."""

import argparse
import statistics
import subprocess
import time
from pathlib import Path

from contenders import BUILD, clean_environment, machine

from harness import ROOT  # noqa: E402  (contenders has added the path)

MADE = [ROOT / "build-tarball" / "one" / "flameprobe", ROOT / "build-tarball-arm64" / "one" / "flameprobe"]
MOST_BYTES, MOST_MS = 12_000_000, 30


def start_ms(argv, times):
    took = []
    for _ in range(times):
        begun = time.monotonic()
        subprocess.run(argv, env=clean_environment(), stdout=subprocess.DEVNULL, check=True)
        took.append(1000 * (time.monotonic() - begun))
    return statistics.median(took)


def row(path, times):
    try:
        start = f"{start_ms([path, '--version'], times):.1f}"
    except OSError:  # exec format
        start = "another CPU"
    return f"| {path.resolve()} | {path.stat().st_size:,} | {start} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--small", action="store_true", help="only to see that it works")
    options = parser.parse_args()
    if options.small:
        options.files, options.times = [BUILD / "tools" / "one" / "flameprobe-one"], 3
    files = [path for path in options.files or MADE if path.exists()]
    if not files:
        raise SystemExit(f"there is none of {', '.join(map(str, options.files or MADE))}: tools/tarball/make makes them")
    print(f"{machine()}\n\n| file | bytes, {MOST_BYTES:,} at most | start, ms, {MOST_MS} at most |\n|---|---|---|")
    for path in files:
        print(row(path, options.times), flush=True)
    print(f"| /bin/true | | {start_ms(['/bin/true'], options.times):.1f} |")


if __name__ == "__main__":
    main()
