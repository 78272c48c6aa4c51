"""What each profiler wrote, as stacks: [(frames from the root, nanoseconds)]. A frame's name is what the profiler shows."""

import re

SAMPLE = re.compile(r"^(\S.*?)\s+\d+\s+(\d+)\s*$")  # perf script's "comm tid period"


def folded(text, ns):
    """Folded text, of which each count stands for `ns`."""
    stacks = []
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        if stack and count.isdigit():
            stacks.append((stack.split(";"), int(count) * ns))
    return stacks


def perf_script(text):
    """`perf script -F comm,tid,period,ip,sym`; the period of cpu-clock is nanoseconds."""
    stacks, thread = [], None
    for line in text.splitlines():
        if found := SAMPLE.match(line):
            thread = found[1]
            stacks.append(([thread], int(found[2])))
        elif thread is not None and line[:1].isspace() and line.strip():
            words = line.split(None, 1)
            stacks[-1][0].insert(1, words[1] if len(words) > 1 else "[unknown]")  # the innermost frame comes first
    return stacks
