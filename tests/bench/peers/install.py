"""Installs the peers that the registries have, with their ordinary clients, into ~/.cache/flameprobe-peers (Debian's packages as usual).
What is there is not installed again. Compiling samply takes minutes; this time is not part of the measured one."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from harness import ROOT
from profilers import BUILD, TOOLS

HERE = Path(__file__).resolve().parent
ASYNC_PROFILER = "tools.profiler:async-profiler:4.1"
CRATES = {"samply": "samply", "inferno-flamegraph": "inferno", "flamegraph": "flamegraph"}  # program -> crate


def command(argv, minutes=30, **popen):
    """None, or why it failed."""
    print("installing: " + " ".join(map(str, argv)), file=sys.stderr, flush=True)
    try:
        done = subprocess.run([str(word) for word in argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", timeout=60 * minutes, **popen)
    except (OSError, subprocess.TimeoutExpired) as why:
        return f"installing it failed: {why}"
    last = (done.stdout.strip().splitlines() or ["no output"])[-1]
    return None if done.returncode == 0 else f"installing it failed: {last[:200]}"


def built():
    """FlameProbe itself and the programs that are measured."""
    return command(["ninja", "-C", BUILD, "all", *(f"tests/bench/{program}" for program in ("peers/known", "whole/engine", "whole/floor",
                                                                                             "whole/threads"))])


def go_pprof():
    """A newer go compiles its tools when they are first used."""
    return command(["go", "tool", "pprof", "-h"]) if shutil.which("go") else None


def debian():
    return command([ROOT / "tools" / "packages" / "install", "peers"])


def cargo_program(program):
    if (TOOLS / "cargo" / "bin" / program).exists() or shutil.which(program):
        return None
    install = ["cargo", "install", "--root", TOOLS / "cargo", CRATES[program]]
    # The versions that the crate was tried with, where the registry has all of them.
    return command([*install, "--locked"]) and command(install)


def async_profiler():
    place = TOOLS / "async-profiler"
    if list(place.glob("linux-x64/*.so")):
        return None
    place.mkdir(parents=True, exist_ok=True)
    if why := command(["mvn", "-q", "dependency:copy", f"-Dartifact={ASYNC_PROFILER}", f"-DoutputDirectory={place}"]):
        return why
    with zipfile.ZipFile(next(place.glob("*.jar"))) as jar:
        jar.extract("linux-x64/libasyncProfiler.so", place)
    return None


def pprof_rs():
    place = TOOLS / "pprof_rs"
    if (place / "target" / "release" / "libpprof_preload.so").exists():
        return None
    shutil.copytree(HERE / "pprof_rs", place, dirs_exist_ok=True)  # cargo writes its lock and its target beside the manifest
    return command(["cargo", "build", "--release", "--manifest-path", place / "Cargo.toml"])


def all_of(wanted):
    """{what could not be installed: why}. Without `wanted` everything."""
    steps = {"Debian's packages": debian, "the build": built, "go tool pprof": go_pprof, "inferno": lambda: cargo_program("inferno-flamegraph"),
             "cargo flamegraph": lambda: cargo_program("flamegraph"), "async-profiler": async_profiler, "pprof-rs": pprof_rs,
             "samply": lambda: cargo_program("samply")}
    TOOLS.mkdir(parents=True, exist_ok=True)
    refused = {}
    for name, step in steps.items():
        if wanted and name not in (*wanted, "Debian's packages", "the build"):
            continue
        if why := step():
            refused[name] = why
    return refused
