"""Checks the stacks of tests/targets/deep, whose function names say what is right."""

import functools
import re
from dataclasses import dataclass

SEED_BITS = 16
PATH_LENGTH = 160
RECURSION_FRAME = 512

FRAME = re.compile(r"deep::(spell|node|recurse|bottom)\b(?:<\w+, (\d)u?>)?")


@dataclass
class Verdict:
    """Samples. `whole` ones reach the thread's start; of these, `wrong` ones hold parts of two paths."""

    whole: int = 0
    wrong: int = 0
    truncated: int = 0

    @property
    def all(self):
        return self.whole + self.truncated


def path(seed):
    """The kinds of the frames below the seed's, as deep.cpp draws them."""
    state = seed
    for _ in range(PATH_LENGTH):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        yield state >> 62


@functools.cache
def part(frame):
    """(what it is, which) of a frame; (None, None) of others."""
    found = FRAME.search(frame)
    return found.groups() if found else (None, None)


def parts(frames):
    """(bits of the seed, kinds of the path, frames of the recursion, whether the recursion is at the end)."""
    bits, kinds, recursions, bottom = [], [], 0, False
    for frame in frames:
        what, number = part(frame)
        if what == "spell":
            bits.append(int(number))
        elif what == "node":
            kinds.append(int(number))
        elif what == "recurse":
            recursions += 1
        elif what == "bottom":
            bottom = True
    return bits, kinds, recursions, bottom


def path_is_right(frames):
    bits, kinds, _, bottom = parts(frames)
    if "[recursion]" in frames:
        # Of the path its outermost frames and a round before the leaf are left.
        return len(bits) < SEED_BITS or not bottom or list(path(int("".join(map(str, bits)), 2)))[-len(kinds):] == kinds
    if len(bits) < SEED_BITS:  # on its way down
        return not kinds and not bottom
    truth = list(path(int("".join(map(str, bits)), 2)))
    return len(bits) == SEED_BITS and kinds == truth[:len(kinds)] and (not bottom or len(kinds) == PATH_LENGTH)


def recursion_is_right(frames, kibibytes):
    _, _, recursions, bottom = parts(frames)
    if "[recursion]" in frames:
        return True
    most = kibibytes * 1024 // RECURSION_FRAME
    return recursions == most if bottom else recursions <= most


def levels_are_right(frames, levels):
    """Of a stack of recursions levels: what is not folded has as many as were called, where it is at its leaf."""
    shown = sum("level(" in frame for frame in frames)
    return "[recursion]" in frames or not any("leaf(" in frame for frame in frames) or shown == levels + 1


def caller_is_right(frames):
    """A stack of deep callers: the work is its caller's."""
    callers, works = ({match for frame in frames for match in re.findall(rf"deep::{what}<(\d)u?>", frame)} for what in ("caller", "work"))
    if not callers:  # between two of them
        return not works
    return len(callers) == 1 and (not works or works == callers)


def judge(stacks, is_right):
    """Counts the samples that are in the program's main work, or are truncated and may be in it."""
    verdict = Verdict()
    for frames, count in stacks:
        if any("[truncated]" in frame or "[callers read later]" in frame for frame in frames):
            verdict.truncated += count
        elif any("deep::" in frame for frame in frames):
            verdict.whole += count
            verdict.wrong += 0 if is_right(frames) else count
    return verdict
