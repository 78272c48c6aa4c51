"""What it costs to sample allocations, beside other heap profilers where they are installed:
allocations.py [--rounds 9] [--seconds 0.5] [--small] [PROGRAM...]: about a minute a round.

Programs that do nothing but allocate (whole/allocate.c), redis-server under redis-benchmark, and a server in C++
(tests/targets/demo). Each run lasts --seconds, however slow a tool makes it: gperftools walks the stack at every call,
so that a number of calls which is right for one tool takes minutes with another. In every round each tool runs once,
one after the other, so that what the machine does meanwhile falls on all alike. Printed are medians, of the time by the
clock and of CPU time: of the thread that allocates, of redis without its helpers. To be run on a machine that does
nothing else.

  alone, cpu only   without FlameProbe; with it, as without any event of allocations
  no sample         allocations are counted, and none is sampled
  alloc, heap       as by default: a sample every 512 KiB
  jemalloc's prof   Debian's jemalloc samples every 512 KiB and writes its profile at the end
  async-profiler    nativemem, every 512 KiB, without and with frees; from where tests/bench/peers has installed it"""

import argparse
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from contenders import BUILD, LIBRARY, clean_environment, machine

from harness import started, wait_until  # noqa: E402  (contenders has put its place in the path)
from programs import free_port, listening  # noqa: E402

ALLOC = BUILD / "preload" / "alloc" / "libflameprobe-alloc.so"
ALLOCATE = BUILD / "tests" / "bench" / "whole" / "allocate"
DEMO = BUILD / "tests" / "targets"
TCMALLOC, JEMALLOC = (Path("/usr/lib") / f"{os.uname().machine}-linux-gnu" / name for name in ("libtcmalloc.so.4", "libjemalloc.so.2"))
ASYNC_PROFILER = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "flameprobe-peers/async-profiler/linux-x64/libasyncProfiler.so"
PROGRAMS = {"pair of 64 bytes": ("pairs", 64), "pair of 20,000 bytes": ("pairs", 20000), "1,000 alive, 500 bytes": ("grow", 500),
            "the same, 50 KiB deep": ("grow", 500, 50), "pair of 20,000 bytes, no thread": ("pairs", 20000, 0, "single"),
            "1,000 alive, written": ("fill", 32768)}


def ours(event, **settings):
    return clean_environment(LD_PRELOAD=f"{LIBRARY}:{ALLOC}", FLAMEPROBE_EVENT=event, FLAMEPROBE_FORMAT="none",
                             FLAMEPROBE_LOG="quiet", **settings)


def tools():
    """By name: what comes before the command, and its environment."""
    known = {"alone": ([], clean_environment()),
             "cpu only": ([], clean_environment(LD_PRELOAD=LIBRARY, FLAMEPROBE_FORMAT="none", FLAMEPROBE_LOG="quiet")),
             "no sample": ([], ours("alloc", FLAMEPROBE_ALLOC_BYTES="1024G")),
             "alloc": ([], ours("alloc")), "heap": ([], ours("heap"))}
    if shutil.which("heaptrack"):
        known["heaptrack"] = (["heaptrack", "-o", "heaptrack.out"], clean_environment())
    if TCMALLOC.exists():
        known["tcmalloc alone"] = ([], clean_environment(LD_PRELOAD=TCMALLOC))
        known["gperftools"] = ([], clean_environment(LD_PRELOAD=TCMALLOC, HEAPPROFILE="heap.prof"))
    if JEMALLOC.exists():
        known["jemalloc alone"] = ([], clean_environment(LD_PRELOAD=JEMALLOC))
        known["jemalloc's prof"] = ([], clean_environment(LD_PRELOAD=JEMALLOC, MALLOC_CONF="prof:true,lg_prof_sample:19,prof_final:true"))
    if ASYNC_PROFILER.exists():
        # Only its JFR has all samples of a native program: the other formats have what the libraries allocate as they begin.
        for name, frees in (("async-profiler", ",nofree"), ("async-profiler, frees", "")):
            known[name] = ([], clean_environment(LD_PRELOAD=ASYNC_PROFILER, ASPROF_COMMAND=f"start,nativemem=512k{frees},file=async.jfr"))
    return known


def allocate_ns(before, env, directory, seconds, what, size, *more):
    done = subprocess.run([*before, ALLOCATE, what, str(size), str(seconds), *map(str, more)], env=env, cwd=directory,
                          capture_output=True, text=True, timeout=60 + 10 * seconds, check=True)
    return tuple(map(float, re.search(r"^([\d.]+) ([\d.]+)$", done.stdout, re.MULTILINE).groups()))


def redis_cpu_s(port):
    told = subprocess.run(["redis-cli", "-p", str(port), "info", "cpu"], capture_output=True, text=True, check=True, timeout=20).stdout
    return sum(float(re.search(rf"used_cpu_{part}:([\d.]+)", told)[1]) for part in ("user", "sys"))


def redis_ns(before, env, directory, seconds):
    port, requests = free_port(), int(100_000 * seconds)
    with started([*before, "redis-server", "--port", port, "--save", "", "--daemonize", "no"], directory, env) as server:
        wait_until(lambda: listening(port), what="redis listens")
        begin = redis_cpu_s(port)
        told = subprocess.run(["redis-benchmark", "-p", str(port), "-t", "set", "-r", "100000", "-n", str(requests), "-P", "16", "-d",
                               "200", "-q"], capture_output=True, text=True, check=True, timeout=300).stdout
        used = redis_cpu_s(port) - begin
        subprocess.run(["redis-cli", "-p", str(port), "shutdown", "nosave"], capture_output=True, timeout=20)
        server.wait(timeout=60)
    return 1e9 / float(re.findall(r"SET: ([\d.]+) requests per second", told)[-1]), used * 1e9 / requests


def pid_of(program, pid):
    """That process, or its child: heaptrack is a shell around the program."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return next(each for each in (pid, *map(int, children)) if Path(f"/proc/{each}/comm").read_text() == program + "\n")


def demo_ns(before, env, directory, seconds):
    with started([*before, DEMO / "demo-server", "600"], directory, env, stdout=subprocess.PIPE) as server:
        port = next(line for line in server.stdout if line.strip().isdigit()).strip()
        whole = max(1, round(2 * seconds))
        told = subprocess.run([DEMO / "demo-load", port, str(whole)], capture_output=True, text=True, check=True, timeout=60 + 10 * seconds)
        os.kill(pid_of("demo-server", server.pid), signal.SIGTERM)
        server.stdout.read()
        server.wait(timeout=60)
    return whole * 1e9 / int(re.search(r"\d+", told.stdout)[0]), None


def loads(seconds):
    known = {name: lambda *tool, given=given: allocate_ns(*tool, seconds, *given) for name, given in PROGRAMS.items()}
    if shutil.which("redis-server") and shutil.which("redis-benchmark"):
        known["redis, SET of 200 bytes"] = lambda *tool: redis_ns(*tool, seconds)
    if (DEMO / "demo-server").exists():
        known["C++ server, a request"] = lambda *tool: demo_ns(*tool, seconds)
    return known


def row(load, name, taken, alone):
    def told(values, base):
        if None in values:
            return "– | –"
        ns, before = statistics.median(values), statistics.median(base)
        return f"{ns:,.2f} | {ns - before:+,.2f} | {ns / before:.3f}"

    clock, cpu = (told(*sides) for sides in zip(zip(*taken), zip(*alone)))
    return f"| {load} | {name} | {clock} | {cpu} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each run")
    parser.add_argument("--small", action="store_true", help="only to see that it works")
    parser.add_argument("programs", nargs="*", help="those whose names begin like this")
    options = parser.parse_args()
    rounds, seconds = (1, 0.05) if options.small else (options.rounds, options.seconds)
    print(f"{machine()}, load {os.getloadavg()[0]:.1f}, {rounds} rounds of {seconds} s, medians\n")
    print("| program | tool | ns | more | ratio | CPU ns | more | ratio |\n|-|-|-|-|-|-|-|-|")
    for load, measure in loads(seconds).items():
        if options.programs and not load.startswith(tuple(options.programs)):
            continue
        taken = {name: [] for name in tools()}
        for _ in range(rounds):
            for name, (before, env) in tools().items():
                with tempfile.TemporaryDirectory(prefix="flameprobe-bench-") as directory:
                    taken[name].append(measure(before, env, directory))
        for name, values in taken.items():
            print(row(load, name, values, taken["alone"]), flush=True)


if __name__ == "__main__":
    sys.exit(main())
