#!/usr/bin/env python3
"""Writes folded text of N distinct stacks, about 350 bytes a line, the same for every run.

usage: make_folded.py [N [SEED]]  > stacks.folded
"""
import random
import sys

WORDS = """alloc apply begin buffer cache call check close commit copy decode dispatch encode event fetch find flush
handle insert iterate key list load lock lookup merge node open parse poll process queue read request resolve run scan
send serialize sort split start store submit table task update validate value visit wait walk work write""".split()


def make_name(rng):
    parts = [rng.choice(WORDS) for _ in range(rng.randint(1, 3))]
    name = "::".join(["app"] * rng.randint(0, 1) + parts)
    if rng.random() < 0.3:
        name += "<%s, %s>" % (rng.choice(WORDS), rng.choice(WORDS))
    return "%s_%d(%s)" % (name, rng.randint(0, 99), rng.choice(["", "int", "char const*", "std::string const&"]))


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    names = [make_name(rng) for _ in range(5000)]
    # A random walk over call trees: a stack keeps the lower frames of the one before, as real programs do.
    stack = ["server", "_start", "main"]
    out = sys.stdout
    seen = set()
    while len(seen) < count:
        del stack[rng.randint(3, max(3, len(stack) - 1)):]
        while len(stack) < 13 or (len(stack) < 25 and rng.random() < 0.5):
            stack.append(rng.choice(names))
        line = ";".join(stack)
        key = hash(line)
        if key in seen:
            continue
        seen.add(key)
        out.write("%s %d\n" % (line, rng.randint(1, 50)))


if __name__ == "__main__":
    main()
