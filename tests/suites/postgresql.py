"""PostgreSQL's installcheck-parallel, by its own pg_regress, with and without FlameProbe in the server: the same verdicts.

    apt-get source postgresql-15
    FLAMEPROBE_BUILD=build python3 tests/suites/postgresql.py postgresql-15-15.* [--runs alone,alone,default,ring,timer,signal]

Needs Debian's postgresql-15 and, for regress.so, gcc and the headers of postgresql-server-dev-15 (--headers: their
include/postgresql/15/server where `dpkg -x` put them). The server is an ordinary user's. `default` is the preload with no
other setting, the others choose the engine. The first run is what the others are compared with: run `alone` twice to see
which tests vary by themselves. --keep leaves each run's outputs, differences and server log in a folder. Prints a table; exit
status 1 if a verdict differs."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
from harness import ENGINES, clean_environment, profiled, run  # noqa: E402
from programs import postgres_server  # noqa: E402

PG = Path("/usr/lib/postgresql/15")
PG_REGRESS = PG / "lib" / "pgxs" / "src" / "test" / "regress" / "pg_regress"
VERDICT = re.compile(r"^(?:test)?\s+([\w.]+)\s+\.\.\. (ok|(?:failed|FAILED).*?)(?:\s+\d+ ms)?$", re.M)


def regress_library(source, headers, directory):
    """regress.so and, as the suite's make does, the two of contrib/spi beside it."""
    flags = ["-O2", "-fPIC", "-shared", "-w", f"-I{headers}"]
    subprocess.run(["gcc", *flags, source / "regress.c", "-o", directory / "regress.so"], check=True)
    for name in ("refint.so", "autoinc.so"):
        shutil.copy(PG / "lib" / name, directory)


def environment(name):
    settings = {} if name in ("alone", "default") else {"ENGINE": name}
    return clean_environment() if name == "alone" else profiled(**settings)


def verdicts(name, source, libraries, timeout):
    """({test: verdict}, the server's exit status, profiles left) and a folder with what the run left."""
    parent = Path(tempfile.mkdtemp(prefix="flameprobe-suite-"))
    parent.chmod(0o755)
    directory, output = parent / "server", parent / "output"
    for path in (directory, output):
        path.mkdir()
        path.chmod(0o777)
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    with postgres_server(directory, environment(name)) as (server, _, _):
        port = (directory / "data" / "postmaster.pid").read_text().splitlines()[3]
        ran = run([*user, PG_REGRESS, f"--inputdir={source}", f"--outputdir={output}", f"--dlpath={libraries}",
                   f"--bindir={PG / 'bin'}", f"--host={directory}", f"--port={port}", "--user=postgres",
                   "--max-concurrent-tests=20", f"--schedule={source / 'parallel_schedule'}"], output, timeout=timeout)
        server.send_signal(2)  # SIGINT: a fast shutdown
        try:
            status = f"exit {server.wait(60)}"
        except subprocess.TimeoutExpired:
            status = "hangs"
    (parent / "pg_regress.txt").write_text(ran.stdout + ran.stderr)
    found = dict(VERDICT.findall(ran.stdout))
    if ran.timed_out:
        found["pg_regress itself"] = "timeout"
    return found, status, len(list(directory.glob("flameprobe.*.fprobe"))), parent


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=Path)
    parser.add_argument("--runs", default=",".join(["alone", "alone", "default", *ENGINES]))
    parser.add_argument("--headers", default="/usr/include/postgresql/15/server")
    parser.add_argument("--timeout", type=int, default=3600, help="seconds for each run")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    source = options.source.resolve() / "src" / "test" / "regress"
    if not PG_REGRESS.exists() or not (source / "parallel_schedule").exists() or not Path(options.headers, "postgres.h").exists():
        sys.exit(f"needs {PG_REGRESS} (postgresql-15), {source}/parallel_schedule and {options.headers}/postgres.h")
    wrong, first = 0, None
    with tempfile.TemporaryDirectory(prefix="flameprobe-suite-") as libraries:
        os.chmod(libraries, 0o755)
        regress_library(source, options.headers, Path(libraries))
        print(f"{'run':10}{'tests':>6}{'ok':>6}{'failed':>8}{'differ':>8}  {'server':10}{'profiles':>9}{'seconds':>9}")
        for number, name in enumerate(options.runs.split(",")):
            begun = time.monotonic()
            found, server, profiles, left = verdicts(name, source, libraries, options.timeout)
            first = first or found
            differ = sorted(test for test in first.keys() | found.keys() if first.get(test) != found.get(test))
            wrong += bool(differ) and name != "alone"
            passed = sum(verdict == "ok" for verdict in found.values())
            print(f"{name:10}{len(found):>6}{passed:>6}{len(found) - passed:>8}{len(differ):>8}  {server:10}{profiles:>9}"
                  f"{time.monotonic() - begun:>9.0f}", flush=True)
            for test in differ:
                print(f"  {test}: {found.get(test)}, {first.get(test)} in the first run", flush=True)
            if options.keep:
                shutil.rmtree(left / "server" / "data", ignore_errors=True)
                shutil.move(left, options.keep / f"{number}-{name}")
            shutil.rmtree(left, ignore_errors=True)
    sys.exit(1 if wrong else 0)


main()
