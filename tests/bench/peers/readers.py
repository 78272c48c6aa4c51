"""What each profiler wrote, as stacks: [(frames from the root, nanoseconds)]. A frame's name is what the profiler shows."""

import re
import struct

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


def gperftools(data, named):
    """A profile in words of eight bytes: a header with the period, then of each stack the count, the number of frames and their
    addresses, innermost first, until a count of 0. `named`: `google-pprof --raw`, of which each line is an address and its functions,
    outermost first. A caller's is the address before the one to return to."""
    words = struct.unpack_from(f"<{len(data) // 8}Q", data)
    names = {int(address, 16): re.sub("<[0-9a-f]{16}>", "", text).split("--")
             for address, text in re.findall(r"^(0x[0-9a-f]+) (.+)$", named, re.MULTILINE)}
    stacks, at, ns = [], 2 + words[1], words[3] * 1000
    while at + 1 < len(words) and words[at] != 0:
        count, depth = words[at], words[at + 1]
        frames = [address - (nth > 0) for nth, address in enumerate(words[at + 2:at + 2 + depth])]
        stacks.append(([name for address in reversed(frames) for name in names.get(address, [hex(address)])], count * ns))
        at += 2 + depth
    return stacks
