#!/usr/bin/env python3
"""run_tests.py BUILD LIST [START...]: runs FlameProbe's tests in a guest machine, where there is no meson, and writes what
they said to the guest's log (tools/guest/run) in the form of meson's testlog.json, which tests/count_cases.py adds up on the
machine outside. LIST is one of LISTS, START chooses tests by how their names begin.

PART=K/N in the environment: this is the K-th of N machines that share the list. JOBS tests run at a time. A test that is
longer than its time is ended and has failed."""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from log_test import log, run

ROOT = Path(__file__).resolve().parents[2]
LOG = Path("/.guest/log")
KEPT = Path("/tmp/out/kept")  # what tests keep for tests outside, by FLAMEPROBE_KEEP

# Emulated, everything takes ten times as long or more: what is chosen takes minutes and shows every stage, engine and
# kind of host. What tests/integration/run.py takes, then what it costs beside the others.
HOSTS = [
    ("test_hosts.Lives.test_ring", 240),
    ("test_hosts.Lives.test_timer", 50),
    ("test_hosts.Lives.test_signal", 55),
    ("test_hosts.Lives.test_own_sigprof", 6),
    ("test_hosts.Ends.test_ring", 75),
    ("test_hosts.Ends.test_timer", 15),
    ("test_hosts.Ends.test_signal", 15),
    ("test_hosts.OrdinaryUser", 85),
    ("test_hosts.Processes", 25),
    ("test_hosts.Refused", 10),
    ("test_exports", 50),
    ("test_task", 30),
]
SHARES = [("test_shares.Shares.test_ring_at_4000", 50),
          ("test_shares.Shares.test_timer_at_997", 35),
          ("test_shares.Shares.test_signal_at_997", 35), ("test_ordinary_user", 50)]
REAL = ("test_real_programs.RealPrograms.test_redis_server", 20)
COMMANDS = [("test_waits.Waits.test_each_wait_is_where_the_program_says", 20), ("test_stat.Stat.test_waiting_time_by_system_call", 10),
            ("test_command.Run.test_profile_status_and_path", 10), ("test_command.Run.test_a_tree_of_processes_is_one_picture", 10),
            ("test_command.Doctor.test_here", 10), ("test_one_file.Commands", 60)]
# A table of real programs each, which tools/guest/summary.py puts together. PostgreSQL is in those of a user.
TABLES = [(f"table-{os.uname().machine}-{engine}-{user}", cost) for engine in ("ring", "timer", "signal")
          for user, cost in (("root", 35), ("user", 75))]
LISTS = {
    "whole": [("unit", 20), *HOSTS, *SHARES, ("test_deep", 70), ("test_scopes.Exact", 90), REAL, *COMMANDS,
              *TABLES],
    "kernels": [*HOSTS, *SHARES, ("test_kernels", 10), ("test_cpus", 15)],
    # Without the counting clock, so without known shares: many ticks are missed there (MISSES_TICKS in harness.py).
    "kernels-without-counting": [*HOSTS, ("test_kernels", 10), ("test_cpus", 15)],
    "cpus": [("test_cpus", 15)],  # needs two
    # What depends on the size of a page: rings, guards, copies of stacks, images that are mapped.
    "pages": [*((f"unit-{stage}", 10) for stage in ("base", "capture", "collect", "symbolize", "unwind")), SHARES[0]],
    "tables": TABLES,
}
SECONDS = 600


def unit_programs(build):
    """Not unit-bench: thousands of simulated comparisons, which take ten minutes here and know of no machine."""
    return sorted(path for path in build.glob("tests/unit/*/unit-*")
                  if path.is_file() and os.access(path, os.X_OK) and path.name != "unit-bench")


def tests_of(build, chosen, wanted):
    """[(name, command, cost)]"""
    tests = []
    for name, cost in LISTS[chosen]:
        if name.startswith("table-"):
            tests.append((name, [str(ROOT / "tools/guest/table"), name], cost))
        elif name.startswith("unit"):
            tests += [(path.name, [str(path)], cost) for path in unit_programs(build) if path.name.startswith(name)]
        else:
            tests.append((name, ["python3", str(ROOT / "tests/integration/run.py"), name], cost))
    return [test for test in tests if not wanted or any(test[0].startswith(start) for start in wanted)]


def part_of(tests, part, parts):
    """The costly ones first, each to the machine that has least so far."""
    shares = [[0, []] for _ in range(parts)]
    for test in sorted(tests, key=lambda test: -test[2]):
        share = min(shares, key=lambda share: share[0])
        share[0] += test[2]
        share[1].append(test)
    return shares[part - 1][1]


def main(build, chosen, *wanted):
    KEPT.mkdir(parents=True, exist_ok=True)
    KEPT.chmod(0o777)
    environment = os.environ | {"FLAMEPROBE_BUILD": str(build), "PYTHONDONTWRITEBYTECODE": "1", "FLAMEPROBE_GUEST": str(KEPT)}
    # What distributions other than Debian have, so that perf may be used by users at all.
    Path("/proc/sys/kernel/perf_event_paranoid").write_text(os.environ.get("PARANOID", "2"))
    part, parts = map(int, os.environ.get("PART", "1/1").split("/"))
    tests = part_of(tests_of(build, chosen, wanted), part, parts)
    page = os.sysconf("SC_PAGE_SIZE")
    if page != 4096:
        tests = [(f"{name}, pages of {page // 1024} KiB", command, cost) for name, command, cost in tests]
    log(LOG, {"planned": [name for name, _, _ in tests]})
    one_writer = threading.Lock()

    def run_and_log(test):
        what = run(test[0], test[1], environment, SECONDS)
        with one_writer:
            log(LOG, what)

    with ThreadPoolExecutor(int(os.environ.get("JOBS", "1"))) as pool:
        list(pool.map(run_and_log, tests))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
