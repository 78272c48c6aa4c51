#!/usr/bin/env python3
"""summary.py BUILD [HERE...]: what tools/test-arm64 has shown, as tables: real programs by engine and user,
cases of tests and lines of code, aarch64 beside this machine. BUILD is the build directory of the guest, with the log of its
tests; HERE are build directories with logs of the same tests on this machine (tools/test makes them)."""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from count_cases import cases_in  # noqa: E402

# As real_programs.py prints it: program, samples, rooted, named of the frames in files with symbols.
ROW = re.compile(r"^\| (\S.*?) +\| +(\d+) \| +([\d.]+%) \| +([\d.]+%) \|", re.MULTILINE)


def tests_in(build):
    """{name without its suites: what meson or run_tests.py told of it}"""
    log = Path(build) / "meson-logs" / "testlog.json"
    lines = log.read_text().splitlines() if log.exists() else []
    return {test["name"].rpartition(" / ")[2]: test for test in map(json.loads, lines)}


def programs(guest):
    rows = {}
    for name, test in guest.items():
        found = re.fullmatch(r"table-(\w+)-(\w+)-(\w+)", name)
        for program, samples, rooted, named in ROW.findall(test["stdout"]) if found else ():
            machine, engine, user = found.groups()
            rows.setdefault((program, engine, user), {})[machine] = f"{samples} | {rooted} | {named}"
    yield "| program | engine | user | aarch64: samples | rooted | named | x86-64: samples | rooted | named |"
    yield "|-|-|-|-|-|-|-|-|-|"
    for key, by_machine in sorted(rows.items()):
        yield "| " + " | ".join((*key, by_machine.get("aarch64", " | | "), by_machine.get("x86_64", " | | "))) + " |"


def cases(guest, here):
    yield "| tests | aarch64: passed | of | x86-64: passed | of |"
    yield "|-|-|-|-|-|"
    for name, test in sorted(guest.items()):
        if name.startswith("table-"):
            continue
        passed, failed, skipped = cases_in(test)
        beside = here.get(name.removeprefix("unit-")) or here.get(name)
        theirs = cases_in(beside) if beside else None
        yield f"| {name} | {passed} | {passed + failed + skipped} | " + (f"{theirs[0]} | {sum(theirs)} |" if theirs else "| |")


def lines(*patterns):
    return sum(len(path.read_bytes().splitlines()) for pattern in patterns for path in ROOT.glob(pattern) if path.is_file())


def code():
    yield "| lines in | x86-64 | aarch64 |"
    yield "|-|-|-|"
    for what, patterns in (("src/arch", ("src/arch/{}/**/*",)), ("tests", ("tests/unit/*/{}/**/*", "tests/targets/{}/**/*"))):
        counts = (lines(*(pattern.format(cpu) for pattern in patterns)) for cpu in ("x86_64", "aarch64"))
        yield f"| {what} | " + " | ".join(map(str, counts)) + " |"


def main(build, *here):
    guest = tests_in(build)
    beside = {name: test for place in here for name, test in tests_in(place).items()}
    for table in (programs(guest), cases(guest, beside), code()):
        print("\n".join(table) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
