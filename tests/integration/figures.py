"""Rooted and named: how whole and how readable the stacks of a real program are."""

import re
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from elf import has_symbols

# Where threads begin. `_start` is the ELF entry (also ld.so's own), the others are glibc's.
ROOTS = re.compile(r"^(_start|_dl_start_user|__clone3?|clone3?|__GI___clone3?|start_thread|thread_start)$")
# Code without a symbol is named by its file: `[unknown in FILE]`, or `[FILE+0x1a2b40]` where unwind tables tell its
# start.
UNKNOWN = re.compile(r"^\[(?=unknown in |.+\+0x[0-9a-f]+\]$)(?:unknown in )?(.+?)(?:\+0x[0-9a-f]+)?\]$")
ADDRESS = re.compile(r"^0x[0-9a-f]+$")
# Frames of ours that stand for time, not for a sampled stack.
NOT_A_SAMPLE = {"[lost]", "[kernel, not permitted]", "[throttled]", "[not sampled]"}


def is_sample(frames):
    return not any(frame in NOT_A_SAMPLE for frame in frames)


def is_rooted(frames):
    """frames[0] is the thread's name. A stripped program's `_start` has no name, but nothing else calls
    __libc_start_main."""
    if len(frames) > 2 and UNKNOWN.match(frames[1]) and frames[2].startswith("__libc_start_main"):
        return True
    return len(frames) > 1 and bool(ROOTS.match(frames[1]))


@lru_cache(maxsize=None)
def path_of(name, executable):
    """The file that a frame's `[unknown in NAME]` or `[NAME+0x10]` means: the program or one of its libraries."""
    if name == Path(executable).name:
        return executable
    listed = subprocess.run(["ldd", executable], capture_output=True, text=True, check=False).stdout
    for path in re.findall(r"(/\S+)", listed):
        if Path(path).name == name or Path(path).resolve().name == name:
            return path
    return None


@dataclass
class Figures:
    samples: int = 0
    rooted: int = 0
    frames: int = 0         # user frames, weighted by their samples
    named: int = 0
    unnamed_with_symbols: int = 0  # frames without a name in files that have a symbol table

    def add(self, stacks, executable):
        for frames, count in stacks:
            if not is_sample(frames):
                continue
            self.samples += count
            self.rooted += count * is_rooted(frames)
            for frame in frames[1:]:
                if frame.endswith("_[k]") or (frame.startswith("[") and not UNKNOWN.match(frame)):
                    continue
                self.frames += count
                unknown = UNKNOWN.match(frame)
                if not unknown and not ADDRESS.match(frame):
                    self.named += count
                elif not unknown or has_symbols(path_of(unknown[1], executable) or ""):
                    self.unnamed_with_symbols += count
        return self

    @property
    def rooted_share(self):
        return self.rooted / max(1, self.samples)

    @property
    def named_share(self):
        """The share of frames with a name, in files that have symbols."""
        return self.named / max(1, self.named + self.unnamed_with_symbols)

    @property
    def named_share_of_all(self):
        return self.named / max(1, self.frames)
