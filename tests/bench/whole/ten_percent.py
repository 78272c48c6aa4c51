"""How often 10 % more of one function of a real program is found, and named first: ten_percent.py [--runs 40] [--of 10]
[--seconds 3] [--more 10] [--draws 100] [--freq 997] [--keep DIR]

archive.c splits, counts and sorts words, and compresses them by zlib, which is about a third of its time. Its work is fixed; by
a switch it compresses one block of ten once more. Both are run in turns, --runs of each. Then --of runs of a side are drawn at
random, without one twice, and `flameprobe compare --before ... --after ...` is asked what changed: that is to be
`compress_block`, as the first finding. So a hundred draws cost eighty runs. As many draws have both sides from equal runs: what
they name is false. Draws share runs, so they are not independent of each other. With --keep the profiles stay in DIR, and what is
there is not measured again: another version can judge the same runs. Runs keep their own clock's seconds of CPU time, so shares
are compared.

Prints a line for each; exit status 1 where fewer than 95 % are found."""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "integration"))
from harness import BUILD, COMMAND, clean_environment, profiled  # noqa: E402  (the path above is where it lies)

PROGRAM = BUILD / "tests" / "bench" / "whole" / "archive"
FUNCTION = "compress_block"


def text_of(place):
    """The project's documents, without which the program has nothing to do."""
    path = place / "text.txt"
    if not path.exists():
        docs = Path(__file__).resolve().parents[3] / "docs"
        path.write_bytes(b"".join(doc.read_bytes() for doc in sorted(docs.glob("*.md")))[:256 * 1024])
    return path


def rounds_for(seconds, text):
    """Of this machine, by a run without FlameProbe."""
    rounds = 10
    while True:
        before = os.times().children_user
        subprocess.run([PROGRAM, str(rounds), text], env=clean_environment(), check=True, timeout=300, stdout=subprocess.DEVNULL)
        used = os.times().children_user - before
        if used > min(seconds, 0.5):
            return max(1, round(rounds * seconds / used))
        rounds *= 3


def measure(place, options):
    """The profiles of both, as they are and changed."""
    sides = {name: [place / f"{name}-{nth:03}.fprobe" for nth in range(options.runs)] for name in ("as-it-is", "changed")}
    text = text_of(place)
    rounds_file = place / "rounds"
    if not rounds_file.exists():
        rounds_file.write_text(str(rounds_for(options.seconds, text)))
    for nth in range(options.runs):
        for name, paths in sides.items():
            if paths[nth].exists():
                continue
            more = [str(options.more)] if name == "changed" else []
            subprocess.run([PROGRAM, rounds_file.read_text(), text, *more], check=True, timeout=600, stdout=subprocess.DEVNULL,
                           env=profiled(FREQ=options.freq, OUT=paths[nth].with_suffix(""), FORMAT="none", LOG="quiet"))
    return list(sides.values())


def answer(place, before, after):
    out = place / "change.json"
    done = subprocess.run([COMMAND, "compare", "--before", *before, "--after", *after, "-o", out], check=False, timeout=120,
                          env=clean_environment(), capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"flameprobe compare: {done.stderr}")
    return json.loads(out.read_text())


def told(answers):
    named = [[finding["name"] for finding in one["findings"]] for one in answers]
    first = sum(bool(names) and names[0] == FUNCTION for names in named)
    alone = sum(names == [FUNCTION] for names in named)
    others = sum(len([name for name in names if FUNCTION not in name]) for names in named)
    return f"a change is named in {sum(map(bool, named))}, {FUNCTION} first in {first}, alone in {alone}; other findings: {others}", first


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=40, help="of each side")
    parser.add_argument("--of", type=int, default=10, help="runs of a side in a comparison")
    parser.add_argument("--seconds", type=float, default=3, help="of CPU time a run")
    parser.add_argument("--more", type=int, default=10, help="per cent")
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--freq", type=int, default=997)
    parser.add_argument("--keep", type=Path, metavar="DIR")
    parser.add_argument("--small", action="store_true", help="to see that it works")
    options = parser.parse_args()
    if options.small:
        options.runs, options.of, options.seconds, options.draws = 4, 2, 0.2, 2
    with tempfile.TemporaryDirectory(prefix="flameprobe-ten-") as temporary:
        place = options.keep or Path(temporary)
        place.mkdir(parents=True, exist_ok=True)
        as_it_is, changed = measure(place, options)
        chance = random.Random(1)
        print(f"load {os.getloadavg()[0]:.0f}; {options.runs} runs a side, {options.of} in a comparison, {options.freq} Hz")
        found = [answer(place, chance.sample(as_it_is, options.of), chance.sample(changed, options.of))
                 for _ in range(options.draws)]
        words, first = told(found)
        print(f"{options.more} % more: of {options.draws}, {words}", *[one["answer"] for one in found[:3]], sep="\n  ", flush=True)
        equal = []
        for _ in range(options.draws):
            both = chance.sample(as_it_is, min(2 * options.of, options.runs))
            equal.append(answer(place, both[:len(both) // 2], both[len(both) // 2:]))
        print(f"equal: of {options.draws}, {told(equal)[0]}")
    if not options.small and first < 0.95 * options.draws:
        sys.exit(1)


if __name__ == "__main__":
    main()
