"""How many of a program's deep stacks are found whole, and how many of those are wrong: deep.py [--small]

tests/targets/deep knows its own truth. 224 KiB and 4 MiB of recursion, and random paths of calls, some 130 KiB deep, which
change every so often; "even" ones have frames of one size, so that one path's frames lie where the other's lay."""

import argparse
import tempfile

from contenders import machine
from deep_stacks import judge, path_is_right, recursion_is_right
from harness import ENGINES, profiled, run, target

CASES = (("recursion", 224, 4000), ("recursion", 4096, 250), ("tree", 20, 4000), ("tree", 200, 4000), ("tree", 2000, 4000),
         ("tree", 20000, 999), ("even-tree", 20, 4000), ("even-tree", 200, 4000), ("even-tree", 2000, 4000),
         ("even-tree", 20000, 999))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="only to see that it works")
    parser.add_argument("--seconds", type=float, default=5)
    options = parser.parse_args()
    print(machine())
    print("\n| engine | stacks | Hz | samples | whole | of those, wrong |\n|---|---|---|---|---|---|")
    for engine in ENGINES[:1] if options.small else ENGINES:
        for mode, amount, frequency in CASES[:3] if options.small else CASES:
            with tempfile.TemporaryDirectory(prefix="flameprobe-bench-") as directory:
                ran = run([target("deep"), mode, amount, 0.3 if options.small else options.seconds], directory,
                          profiled(ENGINE=engine, FREQ=frequency, FORMAT="folded"))
                is_right = path_is_right if mode != "recursion" else lambda frames: recursion_is_right(frames, amount)
                verdict = judge(ran.result().stacks(), is_right)
            what = f"{amount} KiB" if mode == "recursion" else f"every {amount} us"
            print(f"| {engine} | {mode}, {what} | {frequency} | {verdict.all} | {verdict.whole / max(1, verdict.all):.2%} "
                  f"| {verdict.wrong} |", flush=True)


if __name__ == "__main__":
    main()
