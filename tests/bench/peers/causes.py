"""What keeps FlameProbe from being as good as a peer, for each row in which one is ahead. Read when the tables are made, so that each row
stands under a cause or under none."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Cause:
    what: str
    why: str
    rows: str  # of the row's table and name
    peers: str = ""


KERNEL = "perf|cargo flamegraph|samply"
HANDLERS = "gperftools|pprof-rs"
CAUSES = (
    Cause("What is written at the end is no picture",
          "FlameProbe draws one before the process is gone ([0010](../decisions/0010-the-end-of-a-process.md)), "
          "unless `FLAMEPROBE_FORMAT=none` is set: see the column without a picture.",
          "start and end|memory at most|on disk"),
    Cause("One timer for the whole process",
          "Its signal comes at the kernel's tick, 250 times a second for all threads together. At 4,000 Hz such "
          "a profile has a sixteenth of the CPU time, at 997 Hz a quarter.", r"Hz", HANDLERS),
    Cause("Nothing is done for a thread or a child",
          "One timer sees all threads, and children are not sampled. FlameProbe opens an event and a ring for "
          "each thread ([0014](../decisions/0014-one-event-a-thread.md)).", r"pthread|fork", HANDLERS),
    Cause("Threads inherit one event for each CPU",
          "FlameProbe opens one for each thread, which takes 100 µs of CPU time. Inherited events miss brief and "
          "mostly idle threads: see the rows of 2 ms and of 2,000 idle threads. At a switch between such threads "
          "the kernel swaps contexts only (`context_equiv()`), while FlameProbe's event is stopped and the other "
          "started ([0014](../decisions/0014-one-event-a-thread.md)).",
          r"threads, |pthread|forwarder", KERNEL),
    Cause("A thread opens its own event",
          "async-profiler's hook does it in the new thread. FlameProbe's collector opens it, so that no signal "
          "is needed. For whole lives see pthread_join.",
          r"threads, |pthread", "async-profiler"),
    Cause("Children inherit the event",
          "The kernel does it in fork. A child under FlameProbe opens its own events once it has used 5 ms "
          "([0004](../decisions/0004-when-a-child-is-sampled.md)).", "fork", KERNEL),
    Cause("Stacks are unwound afterwards",
          "perf writes copies of stacks, megabytes a second, and unwinds them when it reports. FlameProbe "
          "unwinds while the program runs: see the CPU time of all.",
          r"Hz, by its clock", "perf dwarf|cargo flamegraph"),
    Cause("No stack is copied",
          "Without frame pointers such a profile has no whole stacks. FlameProbe copies 8 KiB above 1,000 Hz and "
          "40 KiB below, 1 to 5 µs a sample ([0001](../decisions/0001-bytes-of-stack.md)).", r"Hz", "perf -g"),
    Cause("Each allocation is counted",
          "FlameProbe samples one in 512 KiB ([memory](../memory.md)): less exact, and the program is faster.",
          "known sites", "heaptrack|valgrind"),
)


def cause_of(row, peer):
    """The first that is about the row and the peer, or None."""
    return next((cause for cause in CAUSES if re.search(cause.rows, row.name) and re.match(cause.peers or "", peer)), None)
