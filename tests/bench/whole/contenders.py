"""What is measured beside FlameProbe, and how each is started: (name, command before the program, environment)."""

import os
import platform
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "integration"))
from harness import BUILD, LIBRARY, clean_environment  # noqa: E402  (the path above is where it lies)

ENGINE = BUILD / "tests" / "bench" / "whole" / "engine"
FLOOR = BUILD / "tests" / "bench" / "whole" / "floor"
# The default is another way for an ordinary user: rings, and CPU timers for the kernel's time.
EVERY_ENGINE = (*(["auto"] if os.geteuid() != 0 else []), "ring", "timer", "signal")


def gperftools():
    for place in ("/usr/lib/x86_64-linux-gnu/libprofiler.so", "/usr/lib/x86_64-linux-gnu/libprofiler.so.0"):
        if Path(place).exists():
            return place
    return None


def works(argv, env, directory):
    try:
        done = subprocess.run([str(a) for a in argv], env=env, cwd=directory, capture_output=True, timeout=60, check=False)
    except OSError:
        return False
    return done.returncode == 0


def contenders(frequency, directory, engines=("ring",)):
    """name -> (command before the program, environment); only what works here. "alone" comes first."""
    perf = shutil.which("perf") or "perf"
    record = [perf, "record", "-q", "--no-buildid", "--no-buildid-cache", "-o", f"{directory}/perf.data", "-e", "cpu-clock",
              "-F", str(frequency)]
    out = {"FLAMEPROBE_OUT": f"{directory}/%p", "FLAMEPROBE_FREQ": str(frequency), "FLAMEPROBE_LOG": "quiet"}
    every = {
        "alone": ([], {}),
        "floor": ([FLOOR, str(frequency)], {}),
        "perf, frame pointers": ([*record, "--call-graph", "fp", "--"], {}),
        "perf, dwarf 16 KiB": ([*record, "--call-graph", "dwarf,16384", "--"], {}),
    }
    for engine in engines:
        every[f"FlameProbe ({engine})"] = ([], {"LD_PRELOAD": LIBRARY, "FLAMEPROBE_ENGINE": engine, **out})
    if gperftools():
        every["gperftools"] = ([], {"LD_PRELOAD": gperftools(), "CPUPROFILE": f"{directory}/gperf.prof",
                                    "CPUPROFILE_FREQUENCY": str(min(frequency, 4000))})
    found = {}
    for name, (before, changes) in every.items():
        env = clean_environment(**changes)
        if works([*before, ENGINE, "5"], env, directory):
            found[name] = (before, env)
        else:
            print(f"({name} does not work here and is left out)", file=sys.stderr)
    return found


def empty(directory):
    for path in Path(directory).iterdir():
        path.unlink()


def spread(values):
    """Median and quartiles."""
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4)
    return middle, low, high


def machine():
    model = next((line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), "unknown CPU")
    virtual = " (a virtual machine)" if "hypervisor" in Path("/proc/cpuinfo").read_text() else ""
    return f"{os.cpu_count()} x {model}{virtual}, Linux {platform.release()}"
