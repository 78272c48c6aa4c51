"""What hosts and runtimes were tried and the verdict, from the logs of tests: hosts_report.py BUILD [--runtimes FILE] [--write]

BUILD is a build directory whose tests were run (tools/test makes build-test/gcc), FILE what tests/integration/runtimes.py has
printed. With --write the tables in docs/site/tried.md are replaced, else they are printed. Exit status 1 if a test failed."""

import argparse
import datetime
import json
import re
import sys
from pathlib import Path

from count_cases import cases_in, read_log

NEARLY_ALL = 98  # percent
DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "site" / "tried.md"
# What it shows: the names of the tests (tests/integration/meson.build).
ROWS = (
    ("fork, exec, daemons, dropped rights, signals, small and shared stacks, plugins, sanitizers, real time",
     ("lives of hosts", "hosts of an ordinary user", "another user")),
    ("every end: exit, signals, abort, exit_group, SIGKILL at any time", ("ends of hosts", "kill")),
    ("trees of processes, orphans, images that exec replaces: one result", ("processes", "runs")),
    ("limits of memory, files, signals; filters, namespaces; perf refused", ("limits", "filters", "perf refused")),
    ("each system call of FlameProbe's fails, with each errno", ("faults", "faults, handlers")),
    ("blocking calls are not interrupted", ("interruptions",)),
    ("CPU time is that of the kernel's clocks", ("accounts", "totals")),
    ("gdb, strace, ltrace; malloc's lock under a breakpoint", ("debuggers",)),
    ("hosts that export our libraries' names; libraries that lie about clocks and ids", ("names of hosts", "libraries that lie")),
    ("the collector as a task of its own; attaching", ("collector task", "attach")),
    ("Varnish, Chromium, programs of Debian under load", ("varnish", "chromium", "real programs")),
    ("stacks of their own and deeper than the copy; Go", ("stacks of their own", "deep stacks", "go")),
    ("code that is made, moved, replaced or gone at run time", ("names of code",)),
)


def told(build):
    """{name without its suites: (passed, failed, skipped)}; a test that was run again counts as it ended then."""
    tests = read_log(build, "testlog.json") | read_log(build, "testlog-again.json")
    return {name.rpartition(" / ")[2]: (name, cases_in(test)) for name, test in tests.items()}


def hosts_table(build):
    tests = told(build)
    forgotten = [name for name, (long, _) in tests.items() if ":hosts /" in long and not any(name in names for _, names in ROWS)]
    if forgotten:
        sys.exit(f"no row for {', '.join(forgotten)}")
    log = build / "meson-logs" / "testlog.json"
    day = datetime.date.fromtimestamp(log.stat().st_mtime)
    lines, failures = [f"{day}, {sum(cases_in(json.loads(line))[0] for line in log.open())} cases in all:", "",
                       "| hosts | passed | failed | not here | verdict |", "|-|-|-|-|-|"], 0
    for what, names in ROWS:
        known = [tests[name][1] for name in names if name in tests]
        passed, failed, skipped = map(sum, zip(*known)) if known else (0, 0, 0)
        failures += failed
        verdict = "not run" if not known else "as alone" if failed == 0 else "**differs**"
        lines.append(f"| {what} | {passed} | {failed} | {skipped} | {verdict} |")
    return lines, failures


def runtimes_table(text):
    """Rows whose every cell is whole become one, and so do those that say the same."""
    head, rule, *rows = [line for line in text.splitlines() if line.startswith("|")]
    names_of = {}
    for row in rows:
        name, *cells = [cell.strip() for cell in row.strip("|").split("|")]
        shares = [float(share) for cell in cells for share in re.findall(r": ([\d.]+)%", cell)]
        whole = len(shares) == len(cells) and min(shares) >= NEARLY_ALL
        names_of.setdefault(" | ".join([f"{NEARLY_ALL} % at least"] * len(cells) if whole else cells), []).append(name)
    return [head, rule, *(f"| {'; '.join(names)} | {cells} |" for cells, names in names_of.items())]


def put(text, name, lines):
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    if begin not in text or end not in text:
        sys.exit(f"{DOCUMENT} has no place for {name}")
    return re.sub(f"{begin}\n.*?{end}", lambda _: "\n".join([begin, *lines, end]), text, flags=re.S)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--runtimes", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    lines, failures = hosts_table(options.build)
    tables = {"hosts": lines}
    if options.runtimes:
        tables["runtimes"] = runtimes_table(options.runtimes.read_text())
    if options.write:
        text = DOCUMENT.read_text()
        for name, table in tables.items():
            text = put(text, name, table)
        DOCUMENT.write_text(text)
    else:
        print("\n\n".join("\n".join(table) for table in tables.values()))
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
