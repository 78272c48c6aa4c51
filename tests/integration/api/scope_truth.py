"""Compares the scopes in folded stacks of exact_shares with those that the names of their functions tell."""

import math
import re
from collections import Counter

SCOPE = re.compile(r"^\[(L\d{3}|G\d)\]$")
INSIDE = re.compile(r"\binside<(\d+)>")
NORMAL = 3.2905  # of a two-sided 99.9 % interval


class Tally:
    """Samples: `inside` a label, of those `right`, `missing` a scope, or `wrong` (a scope that was not open, or in the
    wrong place); `outside` of every label, of those `wrong`; `far`: the group's scope was past the copied bytes, and no
    other sample had seen it yet."""

    def __init__(self, stacks):
        self.count = Counter()
        self.labels = Counter()
        self.fibers = Counter()  # the samples of the labels that are on stacks switched by hand
        self.examples = []
        for frames, count in stacks:
            self.add(frames, count)

    def add(self, frames, count):
        scopes = [m[1] for m in map(SCOPE.match, frames) if m]
        inside = [(at, int(m[1])) for at, m in ((at, INSIDE.search(f)) for at, f in enumerate(frames)) if m]
        far = "[truncated]" in frames or "[recursion]" in frames or sum("deep" in f for f in frames) > 100
        if inside:
            at, label = inside[-1]
            self.count["inside"] += count
            self.labels[label] += count
            expected = [f"G{label % 10}", f"L{label:03d}"]
            # The label stands right before the function that was called in it, and the group where it was opened.
            if scopes == expected and SCOPE.match(frames[at - 1]):
                kind = "right"
            elif all(s in expected for s in scopes) and len(scopes) < 2:
                kind = "far" if far and scopes != expected[:1] else "missing"
            else:
                kind = "wrong"
            if label % 10 == 6:
                self.fibers[kind] += count
        elif any(re.search(r"\boutside\b", f) for f in frames):
            kind = "wrong outside" if any(s.startswith("L") for s in scopes) else "outside"
        else:
            kind = "between"
        self.count[kind] += count
        if kind in ("wrong", "wrong outside", "missing") and len(self.examples) < 5:
            self.examples.append(f"{kind}: {';'.join(frames)}")

    def wrong(self):
        return self.count["wrong"] + self.count["wrong outside"]

    def shares_outside_interval(self, units):
        """Labels whose share of the samples inside labels is outside the 99.9 % interval around their share of the work."""
        every, work = self.count["inside"], sum(units.values())
        out = []
        for label, mine in units.items():
            share = mine / work
            if abs(self.labels[label] - every * share) > NORMAL * math.sqrt(every * share * (1 - share)) + 1:
                out.append(label)
        return out

    def __str__(self):
        return ", ".join(f"{count} {kind}" for kind, count in sorted(self.count.items()))
