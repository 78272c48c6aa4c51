"""CPython's own regression tests with and without FlameProbe, in every engine: the same verdict for each test.

    FLAMEPROBE_BUILD=build python3 tests/suites/cpython.py [--engines ring,timer,signal] [MODULE...]

Needs Debian's libpython3.11-testsuite. A test whose verdict differs is run again, thrice each way: only one that differs
every time counts. Prints a table; exit status 1 if a verdict differs."""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))
from harness import ENGINES, clean_environment, profiled, run  # noqa: E402

MODULES = ["test_threading", "test_subprocess", "test_signal", "test_os", "test_fork1", "test_socket", "test_select",
           "test_selectors", "test_asyncio", "test_multiprocessing_fork", "test_mmap", "test_faulthandler"]
PYTHON = "/usr/bin/python3.11"
VERDICT = re.compile(r"^(test\w*) \(([\w.]+)\)(?:\n.*)?? \.\.\. (?:.*?)(ok|FAIL|ERROR|skipped|expected failure)\b", re.M)


def verdicts(module, env, timeout, only=()):
    """{test: verdict}, with the module's own under its name."""
    with tempfile.TemporaryDirectory(prefix="flameprobe-suite-") as directory:
        chosen = [word for name in only for word in ("-m", name)]
        # Virtual machines' sockets wait for ever without a listener on the other side, profiled or not.
        ran = run([PYTHON, "-m", "test", "-v", "-i", "*VSOCK*", "--timeout", str(timeout - 30), *chosen, module], directory, env, timeout)
    found = {f"{name} ({where})": verdict for name, where, verdict in VERDICT.findall(ran.stdout + ran.stderr)}
    found[module] = "timeout" if ran.timed_out else f"exit {ran.returncode}"
    return found


def differing(plain, mine):
    return sorted(t for t in plain.keys() | mine.keys() if plain.get(t) != mine.get(t))


def still_differs(module, test, env, timeout):
    only = () if test == module else (test.split(" ")[0],)
    for _ in range(3):
        if not {test, module} & set(differing(verdicts(module, clean_environment(), timeout, only),
                                              verdicts(module, env, timeout, only))):
            return False
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--timeout", type=int, default=400)
    parser.add_argument("modules", nargs="*", default=MODULES)
    options = parser.parse_args()
    if subprocess.run([PYTHON, "-c", "import test.test_os"], capture_output=True, check=False).returncode != 0:
        sys.exit("libpython3.11-testsuite is not installed")
    wrong = 0
    print(f"{'module':28}{'tests':>6}  " + "  ".join(f"{engine:>12}" for engine in options.engines.split(",")))
    for module in options.modules:
        plain = verdicts(module, clean_environment(), options.timeout)
        cells = []
        for engine in options.engines.split(","):
            env = profiled(ENGINE=engine, FREQ=999, FORMAT="none", LOG="quiet", OUT=f"{tempfile.gettempdir()}/flameprobe-suite-%e.%p")
            different = differing(plain, verdicts(module, env, options.timeout))
            real = [test for test in different[:5] if still_differs(module, test, env, options.timeout)]
            wrong += len(real)
            cells.append("same" if not different else f"{len(real)} of {len(different)}")
            for test in real:
                print(f"  {engine}: {test} differs", file=sys.stderr, flush=True)
            for left in Path(tempfile.gettempdir()).glob("flameprobe-suite-*.fprobe"):
                left.unlink(missing_ok=True)
        print(f"{module:28}{len(plain) - 1:>6}  " + "  ".join(f"{cell:>12}" for cell in cells), flush=True)
    sys.exit(1 if wrong else 0)


main()
