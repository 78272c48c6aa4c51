"""What a profile says, by its folded text: the numbers that every other format has to agree with."""

import re
from collections import Counter

FOLDED_SUFFIX = re.compile(r"_\[[ki]\]$")


def by_flamegraph_rules(text):
    """[(frames, count)] as flamegraph.pl reads it: every line must match, and none may have a second column."""
    rule = re.compile(r"^(.*)\s+?(\d+(?:\.\d*)?)$", re.ASCII | re.DOTALL)
    stacks = []
    for line in text.split("\n")[:-1]:
        match = rule.match(line)
        if not match or rule.match(match[1]):
            raise ValueError(f"not one stack and one count: {line!r}")
        stacks.append((match[1].split(";"), int(match[2])))
    return stacks


def plain(frame):
    """A name without the changes that only folded text makes to it."""
    return FOLDED_SUFFIX.sub("", frame)


def as_folded(name):
    """A name from another format, with what folded text cannot hold replaced, to be compared."""
    name = " ".join(name.replace(";", ":").split(" ")).strip() or "[no name]"
    name = re.sub(r"^# ", "#_", name)
    return re.sub(r" (\d+(?:\.\d*)?)$", r"_\1", name)


def totals(stacks, without=lambda frames: frames):
    """{name: [self, total]}; a function counts once a stack. `without` takes frames out that a format keeps elsewhere."""
    self, total = Counter(), Counter()
    for frames, count in stacks:
        names = [plain(f) for f in without(frames)]
        self[names[-1]] += count
        for name in set(names):
            total[name] += count
    return {name: [self[name], total[name]] for name in total}
