"""stress-ng's stressors of processes, threads, signals, timers, memory and limits with and without FlameProbe, in every
engine: each verifies its own results (--verify), and must end in the same way.

    FLAMEPROBE_BUILD=build python3 tests/suites/stress_ng.py [--engines ring,timer,signal] [STRESSOR...]

Needs Debian's stress-ng. One that ends differently is run again, thrice each way: only one that differs every time counts.
Prints a table; exit status 1 if one differs."""

import argparse
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
from harness import ENGINES, clean_environment, profiled, run  # noqa: E402

STRESSORS = """access alarm atomic brk chdir chmod clock clone close context daemon dup env epoll eventfd exec fault
    fork fp-error fstat futex get getdent hrtimers itimer kill lockf longjmp madvise malloc membarrier memfd mergesort mlock
    mmap mmapfork mprotect mq mremap munmap mutex nanosleep null open personality pidfd pipe poll prctl pthread rlimit
    schedpolicy seccomp sem set sigabrt sigchld sigfd sigfpe sigio signal signest sigpending sigpipe sigq sigrt sigsegv
    sigsuspend sigtrap sleep sock sockpair spawn stack switch tee timer timerfd tmpfs tree udp usersyscall
    utime vfork vforkmany wait yield zlib zombie""".split()


def verdict(stressor, env, seconds):
    with tempfile.TemporaryDirectory(prefix="flameprobe-suite-") as directory:
        ran = run(["/usr/bin/stress-ng", f"--{stressor}", "1", "-t", str(seconds), "--verify", "--temp-path", directory],
                  directory, env, timeout=60)
    if ran.timed_out:
        return "hangs"
    counts = re.findall(r"(failed|skipped|passed): (\d+)", ran.stdout + ran.stderr)
    return f"exit {ran.returncode}" + "".join(f", {what} {count}" for what, count in counts if count != "0")


def differs(stressor, env, seconds, plain):
    """What it ends with, if that is not what it always ends with alone."""
    mine = verdict(stressor, env, seconds)
    for _ in range(3):
        if mine == plain:
            return None
        plain, mine = verdict(stressor, clean_environment(), seconds), verdict(stressor, env, seconds)
    return f"{stressor}: {mine}, alone {plain}" if mine != plain else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--seconds", type=int, default=1)
    parser.add_argument("stressors", nargs="*", default=STRESSORS)
    options = parser.parse_args()
    if not Path("/usr/bin/stress-ng").exists():
        sys.exit("stress-ng is not installed")
    engines = options.engines.split(",")
    same = dict.fromkeys(engines, 0)
    different = []
    for stressor in options.stressors:
        plain = verdict(stressor, clean_environment(), options.seconds)
        for engine in engines:
            env = profiled(ENGINE=engine, FREQ=999, FORMAT="none", LOG="quiet")
            found = differs(stressor, env, options.seconds, plain)
            same[engine] += found is None
            if found:
                different.append(f"{engine}: {found}")
                print(different[-1], flush=True)
    for engine in engines:
        print(f"{engine:8} {same[engine]} of {len(options.stressors)} end as they do alone")
    sys.exit(1 if different else 0)


main()
