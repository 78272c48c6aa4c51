"""Runs test modules of this folder and ends with one line that tests/count_cases.py adds up:
run.py MODULE[.CLASS[.TEST]]... Subtests count as tests of their own. Exit status 1 on a failure, 77 if all was skipped.
What a failed test had in its directory is in the build directory's `failed`, a folder for each test."""

import resource
import shutil
import sys
import time
import unittest
from pathlib import Path

from harness import BUILD


def cpu_seconds():
    """CPU seconds of this process and of the programs that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


MOST_KEPT = 64 << 20  # bytes


def keep(test):
    """Copies regular files only: tests also make fifos, devices and links. A test without such a directory has nothing to keep."""
    directory = getattr(test, "directory", None)
    if not isinstance(directory, Path):
        return
    files = [path for path in sorted(directory.rglob("*")) if path.is_file() and not path.is_symlink()]
    if sum(path.stat().st_size for path in files) > MOST_KEPT:
        return
    shutil.rmtree(BUILD / "failed" / test.id(), ignore_errors=True)  # an earlier run's
    for path in files:
        kept = BUILD / "failed" / test.id() / path.relative_to(directory)
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, kept)


class CountingResult(unittest.TextTestResult):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.passed = 0
        self.subtests = 0
        self.started = self.used = 0.0

    def startTest(self, test):
        super().startTest(test)
        self.subtests = 0
        self.started, self.used = time.monotonic(), cpu_seconds()

    def keep(self, test):
        try:
            keep(test)
        except OSError as error:  # another user's, a full disk
            self.stream.writeln(f"    not kept: {error}")

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.keep(test)

    def addError(self, test, error):
        super().addError(test, error)
        self.keep(test)

    def addSuccess(self, test):
        super().addSuccess(test)
        if self.subtests == 0:  # or its subtests have been counted
            self.passed += 1

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        self.subtests += 1
        if error is None:
            self.passed += 1
        else:
            self.keep(test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(f"skipped: {test.id()}: {reason}")

    def stopTest(self, test):
        super().stopTest(test)
        self.stream.writeln(f"    {time.monotonic() - self.started:.1f} s, {cpu_seconds() - self.used:.1f} s of CPU time")


def main():
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    suite = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:])
    result = unittest.TextTestRunner(stream=sys.stderr, resultclass=CountingResult, verbosity=2).run(suite)
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    print(f"{result.passed} passed, {failed} failed, {len(result.skipped)} skipped")
    if failed > 0:
        return 1
    return 77 if result.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
