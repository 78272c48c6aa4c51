#!/usr/bin/env python3
"""How long a comparison takes: diff_speed.py RENDER [--stacks 150000] [--runs 3] [--changes 0,20]

Both sides are folded text of the same N distinct stacks of 8 to 30 frames, with counts drawn at random. Of so many functions
half of the stacks are gone after. Printed is the fastest run's CPU time in user mode, as text and as a page, and how many
changes it named."""

import argparse
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import make_folded  # noqa: E402  (the path above is where it lies)


def write_sides(count, changes, directory):
    rng = random.Random(1)
    names = sorted({make_folded.make_name(rng) for _ in range(5000)})
    planted = [f"planted_{nth}" for nth in range(changes)]
    stack, seen = ["server", "_start", "main"], {}
    while len(seen) < count:
        del stack[rng.randint(3, max(3, len(stack) - 1)):]
        nth = len(seen) % 40
        stack[3:4] = [planted[nth]] if nth < changes else [f"part_{nth}"]
        length = rng.randint(8, 30)
        del stack[length - 1:]
        while len(stack) < length:
            stack.append(rng.choice(names))
        seen[";".join(stack)] = nth
    with open(directory / "before.folded", "w") as before, open(directory / "after.folded", "w") as after:
        for line, nth in sorted(seen.items()):  # as all writers sort them
            before.write(f"{line} {rng.randint(1, 50)}\n")
            if nth >= changes or rng.random() < 0.5:
                after.write(f"{line} {rng.randint(1, 50)}\n")


def measure(argv):
    """User seconds, and the first line that was printed."""
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(argv, stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            sys.exit(f"{argv[0]} ended with status {os.waitstatus_to_exitcode(status)}")
        out.seek(0)
        return usage.ru_utime, out.readline().decode()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("render")
    parser.add_argument("--stacks", type=int, default=150_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--changes", default="0,20")
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.0f}; {options.stacks:,} stacks a side; user seconds\n\n| changes | text | page | says |\n|-|-|-|-|")
    for changes in map(int, options.changes.split(",")):
        with tempfile.TemporaryDirectory(prefix="flameprobe-diff-") as name:
            place = Path(name)
            write_sides(options.stacks, changes, place)
            sides = [options.render, "--diff", place / "before.folded", place / "after.folded"]
            text, page = ([measure([*sides, *more]) for _ in range(options.runs)] for more in ([], ["-o", place / "page.html"]))
            print(f"| {changes} | {min(text)[0]:.2f} | {min(page)[0]:.2f} | {text[0][1].strip()} |", flush=True)


if __name__ == "__main__":
    main()
