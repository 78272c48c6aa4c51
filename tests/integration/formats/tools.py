"""The programs that read our formats, and how they are had: go from Debian, the others from npm at pinned versions."""

import fcntl
import functools
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ["FLAMEPROBE_BUILD"]).resolve()


class Missing(Exception):
    """A tool that cannot be had here, and why."""


def output_of(argv, timeout=300, **options):
    ran = subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=timeout, **options)
    if ran.returncode != 0:
        raise AssertionError(f"{argv[:4]} ended with {ran.returncode}: {ran.stderr[-2000:]}")
    return ran.stdout


@functools.cache
def go():
    found = shutil.which("go") or shutil.which("go", path="/usr/lib/go/bin")
    if not found:
        raise Missing("go is not installed (Debian: golang-go)")
    return found


@functools.cache
def node_modules():
    """Installed once a build directory, from the lock file, without running anything of theirs. Tests that run side by side
    wait for the one that installs."""
    for program in ("node", "npm"):
        if not shutil.which(program):
            raise Missing(f"{program} is not installed (Debian: nodejs npm)")
    place = BUILD / "tests" / "integration" / "formats" / "npm"
    place.mkdir(parents=True, exist_ok=True)
    wanted = (HERE / "package-lock.json").read_text()
    done = place / "installed.json"
    with open(place / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists() or done.read_text() != wanted:
            for name in ("package.json", "package-lock.json"):
                shutil.copy(HERE / name, place / name)
            ran = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=place,
                                 capture_output=True, text=True, timeout=300)
            if ran.returncode != 0:
                raise Missing(f"npm ci cannot get the tools: {ran.stderr.strip()[-500:]}")
            done.write_text(wanted)
    return place / "node_modules"


def pprof(*argv, directory):
    """go tool pprof, without network, browser or files of its user."""
    env = dict(os.environ, PPROF_TMPDIR=str(directory), PPROF_BINARY_PATH=str(directory), GOTOOLCHAIN="local",
               GOPROXY="off", HOME=os.environ.get("HOME", str(directory)))
    return output_of([go(), "tool", "pprof", "-symbolize=none", *argv], env=env, cwd=directory)


def pprof_top(path, directory, sample="samples", granularity="functions"):
    """{name: [flat, cumulative]}"""
    text = pprof("-top", f"-{granularity}", "-nodecount=0", "-nodefraction=0", "-edgefraction=0", "-unit=ns" if
                 sample == "cpu" else "-unit=count", f"-sample_index={sample}", path, directory=directory)
    rows = {}
    for line in text[text.index("flat%"):].splitlines()[1:]:
        match = re.match(r"\s*(\d+)(?:ns)?\s+\S+%\s+\S+%\s+(\d+)(?:ns)?\s+\S+%  (.*)$", line)
        if not match:
            raise AssertionError(f"not understood: {line!r}")
        name = re.sub(r" \((?:partial-)?inline\)$", "", match[3])
        rows[name] = [int(match[1]), int(match[2])]
    return rows


def speedscope(path):
    return json.loads(output_of(["node", HERE / "speedscope_import.js", node_modules(), path]))


class FirefoxProfiler:
    """A session of the Firefox Profiler's own command line, which loads a file with the profiler's importers, version
    upgraders and checks, and answers from the profiler's own selectors. Its server is started here rather than by its
    `load`, which waits half a second for it and then leaves it behind."""

    SECONDS = 120  # until a profile is loaded: machines may be busy

    def __init__(self, path, directory):
        self.program = ["node", str(node_modules() / "@firefox-devtools" / "profiler-cli" / "dist" / "profiler-cli.js")]
        self.env = dict(os.environ, PROFILER_CLI_SESSION_DIR=str(directory / "sessions"), HOME=str(directory),
                        PROFILER_CLI_NO_SYMBOLICATE="1")
        self.path = str(path)
        self.log = directory / "sessions" / "test.log"

    def __enter__(self):
        self.server = subprocess.Popen([*self.program, "--daemon", self.path, "--session", "test"], env=self.env,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.wait_until_loaded()
        except BaseException:
            self.__exit__()
            raise
        return self

    def wait_until_loaded(self):
        """By the server's log: a question that comes too early makes the asker take the server for dead and clean up."""
        end = time.monotonic() + self.SECONDS
        while True:
            log = self.log.read_text() if self.log.exists() else ""
            if "Profile loaded successfully" in log:
                return
            if "[ERROR]" in log or self.server.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"the Firefox Profiler does not load {self.path}: {log[-2000:]}")
            time.sleep(0.05)

    def __exit__(self, *_):
        self.server.terminate()
        self.server.wait()

    def run(self, *argv):
        return subprocess.run([*self.program, *argv, "--session", "test", "--json"], env=self.env, capture_output=True,
                              text=True, timeout=self.SECONDS)

    def ask(self, *argv):
        ran = self.run(*argv)
        if ran.returncode != 0:
            raise AssertionError(f"{argv} ended with {ran.returncode}: {ran.stderr[-2000:]}")
        return json.loads(ran.stdout)
