#!/usr/bin/env python3
"""run_tests.py BUILD LOG LIST [START...]: runs FlameProbe's tests in a guest machine, where there is no meson, and writes
what they said to the file LOG in the form of meson's testlog.json, which tests/count_cases.py adds up on the machine
outside. LIST is one of LISTS, START chooses tests by how their names begin.

As many tests at a time as there are virtual CPUs, two at most. A test that is longer than its time is ended and has
failed."""

import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Emulated, everything takes ten times as long or more: what is chosen takes minutes and shows every stage, engine and
# kind of host. Python suites by what tests/integration/run.py takes, then seconds.
HOSTS = [
    ("test_hosts.Lives", 600),
    ("test_hosts.Ends", 400),
    ("test_hosts.OrdinaryUser", 400),
    ("test_hosts.Processes", 300),
    ("test_hosts.Refused", 200),
    ("test_task", 300),
]
SHARES = [("test_shares", 400)]
REAL = [
    ("test_real_programs.RealPrograms.test_redis_server", 300),
    ("test_real_programs.RealPrograms.test_python3", 300),
    ("test_real_programs.RealPrograms.test_nginx", 300),
    ("test_real_programs.RealPrograms.test_xz_T2", 300),
]
LISTS = {
    "whole": [("unit", None), *HOSTS, *SHARES, ("test_ordinary_user", 400), ("test_deep", 300), ("test_scopes.Exact", 300), *REAL],
    "hosts": [*HOSTS, *SHARES, ("test_ordinary_user", 400)],
}
UNIT_SECONDS = 300
print_lock = threading.Lock()


def unit_programs(build):
    """Each with its stage's name. What tests names of debug information takes longest, so it comes first."""
    programs = [path for path in build.glob("tests/unit/*/unit-*") if path.is_file() and os.access(path, os.X_OK)]
    order = ("unit-unwind", "unit-symbolize", "unit-capture")
    return sorted(programs, key=lambda path: (path.name not in order, path.name))


def run(name, command, seconds, environment):
    begun = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=seconds, env=environment,
                              stdin=subprocess.DEVNULL)
        result = {0: "OK", 77: "SKIP"}.get(done.returncode, "FAIL")
        out, err = done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        result = "TIMEOUT"
        out, err = ((text or b"").decode(errors="replace") for text in (late.stdout, late.stderr))
    with print_lock:
        print(f"{result:<8} {name} ({time.monotonic() - begun:.0f} s)", flush=True)
        if result not in ("OK", "SKIP"):
            print("\n".join("    " + line for line in (out + err).splitlines()[-40:]), flush=True)
    return {"name": name, "result": result, "stdout": out, "stderr": err}


def main(build, log, chosen, *wanted):
    environment = os.environ | {"FLAMEPROBE_BUILD": str(build), "PYTHONDONTWRITEBYTECODE": "1"}
    # What distributions other than Debian have, so that perf may be used by users at all.
    Path("/proc/sys/kernel/perf_event_paranoid").write_text(os.environ.get("PARANOID", "2"))
    tests = []
    for name, seconds in LISTS[chosen]:
        if name == "unit":
            tests += [(program.name, [str(program)], UNIT_SECONDS) for program in unit_programs(build)]
        else:
            tests.append((name, ["python3", str(ROOT / "tests/integration/run.py"), name], seconds))
    tests = [test for test in tests if not wanted or any(test[0].startswith(start) for start in wanted)]
    with ThreadPoolExecutor(min(2, os.cpu_count())) as pool:
        results = list(pool.map(lambda test: run(*test, environment), tests))
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("".join(json.dumps(result) + "\n" for result in results))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
