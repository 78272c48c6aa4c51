"""Redis's own suite (Tcl) with and without FlameProbe in its servers: the same verdict for each test.

    apt-get source redis
    FLAMEPROBE_BUILD=build python3 tests/suites/redis.py redis-7.0.15 [--runs alone,default,ring,timer,signal] [PART...]

Needs Debian's redis-server and tcl. PART: all (the units of tests/test_helper.tcl), replication (those of them that
replicate), rest (the others), a unit's name such as unit/type/list, cluster or sentinel (tests/cluster, tests/sentinel;
cluster/NAME and sentinel/NAME: the files that match). Only servers and sentinels are preloaded, not the suite's other programs;
`default` is the preload with no setting but the place of its results, the others choose the engine. Many tests wait for a
fixed time: a part whose verdicts differ from the first run's is run again, thrice each way, and a test counts if it differs
every time. --keep leaves the output of each run in a folder. Prints a table; exit status 1 if a verdict differs."""

import argparse
import collections
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
from harness import ENGINES, clean_environment, profiled, run  # noqa: E402
from programs import listening  # noqa: E402

REPLICATION = """integration/block-repl integration/replication integration/replication-2 integration/replication-3
    integration/replication-4 integration/replication-psync integration/replication-buffer integration/psync2
    integration/psync2-reg integration/psync2-pingoff integration/psync2-master-restart integration/failover
    integration/shutdown unit/wait unit/pause""".split()
HELPER = "tests/test_helper.tcl"
SETTINGS = ("LD_PRELOAD", "FLAMEPROBE_")


def prepared(source, directory, name):
    """A copy of the suite whose src has Debian's programs, the servers behind a script that preloads."""
    for part in ("tests", "utils"):
        shutil.copytree(source / part, directory / part, symlinks=True)
    for file in source.glob("*.conf"):
        shutil.copy(file, directory)
    (directory / "src" / "bin").mkdir(parents=True)
    for tool in ("redis-cli", "redis-benchmark", "redis-check-aof", "redis-check-rdb"):
        (directory / "src" / tool).symlink_to(f"/usr/bin/{tool}")
    environment = {} if name == "alone" else profiled(OUT=directory / "profiles" / "%e.%p",
                                                      **({} if name == "default" else {"ENGINE": name}))
    settings = " ".join(f"'{key}={value}'" for key, value in environment.items() if key.startswith(SETTINGS))
    (directory / "profiles").mkdir()
    for server in ("redis-server", "redis-sentinel"):
        (directory / "src" / "bin" / server).symlink_to("/usr/bin/redis-server")
        script = directory / "src" / server
        script.write_text(f'#!/bin/sh\nexec env {settings} {directory}/src/bin/{server} "$@"\n')
        script.chmod(0o755)


def drawn(test):
    """A test's name without what differs from run to run: ports, process ids, and what the suite draws at random."""
    return re.sub(r"kill (first|chained) replica", "kill a replica", re.sub(r"\d+", "N", test))


def verdicts(text):
    """How often each (test, verdict) is in the output of test_helper.tcl, or of instances.tcl."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    found = collections.Counter()
    for verdict, test in re.findall(r"^\[(ok|err|exception|ignore|skip)\]: (.*?)(?: \(\d+ ms\))?$", text, re.M):
        found[drawn(re.sub(r" in tests/\S+$", "", test)), verdict] += 1
    for part in re.split(r"^(?=Testing unit: )", text, flags=re.M)[1:]:
        unit = part.split("\n", 1)[0][len("Testing unit: "):]
        for step in re.split(r"^\d\d:\d\d:\d\d> ", part, flags=re.M)[1:]:
            test, _, rest = step.partition(": ")
            passed = re.search(r"OK$", rest, re.M) and "FAILED: " not in rest
            found[f"{unit}: {drawn(test)}", "ok" if passed else "err"] += 1
    return found


def command(part, source, clients):
    kind, _, name = part.partition("/")
    if kind in ("cluster", "sentinel"):
        return ["tclsh8.6", f"tests/{kind}/run.tcl", *(["--single", name] if name else [])]
    every = re.search(r"set ::all_tests \{(.*?)\}", (source / HELPER).read_text(), re.S).group(1).split()
    units = {"all": every, "replication": REPLICATION, "rest": [u for u in every if u not in REPLICATION]}.get(part, [part])
    # Two runs at a time need ports of their own: the suite's own server takes the first, without a second try.
    base = next(port for port in range(21111, 24000, 100) if not listening(port - 32))
    return ["tclsh8.6", HELPER, "--clients", clients, "--baseport", base, "--durable",
            *(word for unit in units for word in ("--single", unit))]


def ran(part, name, options, attempt=0):
    """(verdicts, profiles left) of a part."""
    with tempfile.TemporaryDirectory(prefix="flameprobe-suite-") as place:
        directory = Path(place)
        prepared(options.source, directory, name)
        begun = time.monotonic()
        done = run(command(part, options.source, options.clients), directory, clean_environment(TERM="dumb"), options.timeout)
        found = verdicts(done.stdout)
        found["the suite itself", "timeout" if done.timed_out else f"exit {done.returncode}"] += 1
        if options.keep:
            kept = options.keep / f"{part.replace('/', '-')}.{name}.{attempt}.txt"
            kept.write_text(f"{time.monotonic() - begun:.0f} s\n{done.stdout}{done.stderr}")
        return found, len(list(directory.glob("profiles/*.fprobe")))


def line(part, name, found):
    def count(*what):
        return sum(number for (_, verdict), number in found.items() if verdict in what)
    return f"{part:32}{name:10}{count('ok'):>6}{count('err', 'exception'):>8}"


def differing(plain, mine):
    """Tests with a verdict in one run only. Not how often: some are repeated for a fixed time, or as often as a node that the
    suite draws is a master."""
    return sorted({test for test, _ in plain.keys() ^ mine.keys()})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=Path)
    parser.add_argument("--runs", default=",".join(["alone", "default", *ENGINES]))
    parser.add_argument("--clients", type=int, default=2, help="units that run at a time")
    parser.add_argument("--timeout", type=int, default=3600, help="seconds for each run of a part")
    parser.add_argument("--again", type=int, default=3, help="how often a part that differs is run again, each way")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("parts", nargs="*", default=["replication", "cluster", "sentinel"])
    options = parser.parse_intermixed_args()
    options.source = options.source.resolve()
    if not (options.source / HELPER).exists() or not Path("/usr/bin/redis-server").exists() or not shutil.which("tclsh8.6"):
        sys.exit(f"needs redis-server, tcl8.6 and {options.source / HELPER}")
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    wrong, first_name, *others = 0, *options.runs.split(",")
    print(f"{'part':32}{'run':10}{'ok':>6}{'failed':>8}{'differ':>8}{'every time':>12}{'profiles':>10}")
    for part in options.parts:
        first, profiles = ran(part, first_name, options)
        print(line(part, first_name, first) + f"{'':20}{profiles:>10}", flush=True)
        for number, name in enumerate(others, 1):
            mine, profiles = ran(part, name, options, number)
            different = real = differing(first, mine)
            for attempt in range(options.again):
                if real:
                    alone = ran(part, first_name, options, f"{number}.{attempt}")[0]
                    again = differing(alone, ran(part, name, options, f"{number}.{attempt}")[0])
                    real = [test for test in real if test in again]
            wrong += len(real) if name != "alone" else 0
            print(line(part, name, mine) + f"{len(different):>8}{len(real):>12}{profiles:>10}", flush=True)
            for test in different:
                print(f"  {test}{': every time' if test in real else ''}", flush=True)
    sys.exit(1 if wrong else 0)


main()
