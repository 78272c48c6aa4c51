"""What it costs to sample allocations, beside other heap profilers where they are installed:
allocations.py [--rounds 7] [--seconds 0.5] [--tools NAME,...] [--small] [PROGRAM...]: some 80 s a round.

Programs that do nothing but allocate (whole/allocate.c), redis-server under redis-benchmark, a server in C++
(tests/targets/demo) and one in Rust (examples/workflows/key_server.rs). Each run lasts --seconds, however slow a tool makes it: gperftools walks the stack at every call,
so that a number of calls which is right for one tool takes minutes with another. In every round each tool runs once,
one after the other, so that what the machine does meanwhile falls on all alike. Printed are medians, of the time by the
clock and of CPU time: of the thread that allocates, of all threads of a server but FlameProbe's. Ratios are of a run and the
one alone in the same round, with their quartiles. To be run on a machine that does nothing else. The servers alone, more exactly:
allocations.py --rounds 15 --seconds 1 --tools cpu,alloc,heap redis C++ Rust (about five minutes).

With --memory instead: how much memory the profiler takes beside heaps of known size, which no other load changes (half a
minute). With --errors N: how far the sites of a program are from what it counts itself, in standard errors, of N runs.

  alone, cpu only   without FlameProbe; with it, as without any event of allocations
  no sample         allocations are counted, and none is sampled
  alloc, heap       as by default: a sample every 512 KiB
  alloc by timers   without perf's events, which the kernel starts and stops at each switch
  jemalloc's prof   Debian's jemalloc samples every 512 KiB and writes its profile at the end
  async-profiler    nativemem, every 512 KiB, without and with frees; from where tests/bench/peers has installed it"""

import argparse
import math
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from contenders import BUILD, LIBRARY, clean_environment, machine, spread
from kernel_heavy import cpu_ns

from harness import ROOT, host, named, read_folded, render, started, wait_until  # noqa: E402  (contenders has put its place in the path)
from programs import Missing, free_port, listening, rust_tools  # noqa: E402
from test_allocations import expected, standard_error  # noqa: E402

ALLOC = BUILD / "preload" / "alloc" / "libflameprobe-alloc.so"
ALLOCATE = BUILD / "tests" / "bench" / "whole" / "allocate"
DEMO = BUILD / "tests" / "targets" / "demo"
TCMALLOC, JEMALLOC = (Path("/usr/lib") / f"{os.uname().machine}-linux-gnu" / name for name in ("libtcmalloc.so.4", "libjemalloc.so.2"))
ASYNC_PROFILER = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "flameprobe-peers/async-profiler/linux-x64/libasyncProfiler.so"
PROGRAMS = {"pair of 64 bytes": ("pairs", 64), "pair of 20,000 bytes": ("pairs", 20000), "1,000 alive, 500 bytes": ("grow", 500),
            "the same, 50 KiB deep": ("grow", 500, 50), "pair of 20,000 bytes, no thread": ("pairs", 20000, 0, "single"),
            "1,000 alive, written": ("fill", 32768)}
# Bytes, seconds, MiB.
HELD = {"1 GiB in pieces of 200 bytes": (200, 2, 1024), "1 GiB in pieces of 20,000 bytes": (20000, 2, 1024),
        "100 MiB in pieces of 200 bytes": (200, 2, 100), "10 MiB in pieces of 200 bytes": (200, 2, 10),
        "100 MiB, pieces of 500 bytes replaced": (500, 3, 100, 0, "churn"), "1 GiB, pieces of 5,000 bytes replaced": (5000, 3, 1024, 0, "churn"),
        "100 MiB in pieces of 500 bytes, 50 KiB deep": (500, 2, 100, 50), "the same, replaced": (500, 3, 100, 50, "churn")}


def ours(event, **settings):
    return clean_environment(LD_PRELOAD=f"{LIBRARY}:{ALLOC}", FLAMEPROBE_EVENT=event, FLAMEPROBE_FORMAT="none",
                             FLAMEPROBE_LOG="quiet", **settings)


def tools():
    """By name: what comes before the command, and its environment."""
    known = {"alone": ([], clean_environment()),
             "cpu only": ([], clean_environment(LD_PRELOAD=LIBRARY, FLAMEPROBE_FORMAT="none", FLAMEPROBE_LOG="quiet")),
             "no sample": ([], ours("alloc", FLAMEPROBE_ALLOC_BYTES="1024G")),
             "alloc": ([], ours("alloc")), "heap": ([], ours("heap")),
             "alloc by timers": ([], ours("alloc", FLAMEPROBE_ENGINE="timer"))}
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


def pid_of(program, pid):
    """That process, or its child: heaptrack is a shell around the program."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return next(each for each in (pid, *map(int, children)) if Path(f"/proc/{each}/comm").read_text() == program + "\n")


def of_server(before, env, directory, argv, ready, ask):
    """`ready` waits until the server answers and gives its port; `ask` puts the load on it and gives how many requests were
    answered, and in how many seconds."""
    with started([*before, *argv], directory, env, stdout=subprocess.PIPE) as server:
        port = ready(server.stdout)
        pid = pid_of(Path(argv[0]).name, server.pid)
        begin = cpu_ns(pid)
        requests, took = ask(port)
        used = cpu_ns(pid) - begin
        os.kill(pid, signal.SIGTERM)
        server.stdout.read()
        server.wait(timeout=60)
    return took * 1e9 / requests, used / requests


def said(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True, timeout=300).stdout


def redis_ns(before, env, directory, seconds):
    port, requests = free_port(), int(100_000 * seconds)

    def ready(_):
        wait_until(lambda: listening(port), what="redis listens")
        return port

    def ask(_):
        told = said("redis-benchmark", "-p", port, "-t", "set", "-r", 100000, "-n", requests, "-P", 16, "-d", 200, "-q")
        return requests, requests / float(re.findall(r"SET: ([\d.]+) requests per second", told)[-1])
    return of_server(before, env, directory, ["redis-server", "--port", port, "--save", "", "--daemonize", "no"], ready, ask)


def demo_ns(before, env, directory, seconds):
    def ask(port):
        whole = max(1, round(2 * seconds))
        return int(re.search(r"\d+", said(DEMO / "demo-load", port, whole))[0]), whole
    return of_server(before, env, directory, [DEMO / "demo-server", 600],
                     lambda lines: next(line for line in lines if line.strip().isdigit()).strip(), ask)


def key_server():
    """examples/workflows' server in Rust and its load: keys by OpenSSL, which it and the server make of some 100 allocations."""
    place, source = DEMO / "key-server", ROOT / "examples" / "workflows"
    place.mkdir(exist_ok=True)
    for command in (["rustc", "-O", "-l", "crypto", source / "key_server.rs"], ["c++", "-std=c++17", "-O2", source / "key_load.cpp", "-o", "key_load"]):
        done = subprocess.run(list(map(str, command)), cwd=place, env=rust_tools("rustc"), capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise Missing(f"what compiles {command[-1]}: {done.stderr[-300:]}")
    return place / "key_server", place / "key_load"


def key_ns(programs, before, env, directory, seconds):
    (server, load), port, keys = programs, free_port(), int(20_000 * seconds)

    def ready(lines):
        next(line for line in lines if line == "ready\n")
        return port

    def ask(_):
        return keys, keys / float(re.search(r"([\d.]+) keys per second", said(load, port, keys))[1])
    return of_server(before, env, directory, [server, port, 1], ready, ask)


def loads(seconds):
    known = {name: lambda *tool, given=given: allocate_ns(*tool, seconds, *given) for name, given in PROGRAMS.items()}
    if shutil.which("redis-server") and shutil.which("redis-benchmark"):
        known["redis, SET of 200 bytes"] = lambda *tool: redis_ns(*tool, seconds)
    if (DEMO / "demo-server").exists():
        known["C++ server, a request"] = lambda *tool: demo_ns(*tool, seconds)
    try:
        programs = key_server()
        known["Rust server, a key"] = lambda *tool: key_ns(programs, *tool, seconds)
    except Missing as what:
        print(f"(the server in Rust is left out: there is no {what})\n")
    return known


def memory_table():
    """Resident at most, and rings, beyond the program alone. Asked is 1 % of what is alive, and 4 MiB."""
    kinds = {"cpu only": tools()["cpu only"][1], "alloc": ours("alloc"), "heap": ours("heap"), "cpu,alloc,heap": ours("cpu,alloc,heap")}
    print("| alive | asked | " + " | ".join(kinds) + " |\n|-|-|" + "-|" * len(kinds))
    for text, given in HELD.items():
        mib = given[2]
        alone = sum(held_kib(clean_environment(), given))
        more = [sum(held_kib(env, given)) - alone for env in kinds.values()]
        print(f"| {text} | {mib / 100 + 4:.1f} MiB | " + " | ".join(f"{kib / 1024:.1f}" for kib in more) + " |", flush=True)


def error_table(runs):
    """Of each site of tests/hosts/allocations.c whose allocations are alike, and of each run."""
    errors, thinned = {}, 0
    for _ in range(runs):
        with tempfile.TemporaryDirectory(prefix="flameprobe-bench-") as directory:
            told = subprocess.run([host("allocations"), "c", "others", "map"], env=ours("alloc", FLAMEPROBE_OUT="out"), cwd=directory,
                                  capture_output=True, text=True, timeout=120, check=True).stdout
            profile = Path(directory) / "out.fprobe"
            stacks = read_folded(render("--event", "alloc", "--format", "folded", "-o", "-", profile).stdout)
            thinned += "some stand for several" in render("--info", profile).stdout
        for site, (size, calls) in expected(told).items():
            if site != "grow_site":  # its sizes differ
                got = sum(count for frames, count in stacks if named(frames, site))
                errors.setdefault(site, []).append((got - size) / standard_error(size, calls))
    print(f"{runs} runs, of which {thinned} took fewer samples for a while, which makes their errors larger\n")
    print("| site | root mean square | largest | beyond 4 |\n|-|-|-|-|")
    for site, values in [*errors.items(), ("all", [one for of_site in errors.values() for one in of_site])]:
        spread_of = math.sqrt(statistics.fmean(value * value for value in values))
        print(f"| {site} | {spread_of:.2f} | {max(map(abs, values)):.2f} | {sum(abs(value) > 4 for value in values)} of {len(values)} |")


def held_kib(env, given):
    with tempfile.TemporaryDirectory(prefix="flameprobe-bench-") as directory:
        told = subprocess.run([ALLOCATE, "hold", *map(str, given)], env=env, cwd=directory,
                              capture_output=True, text=True, timeout=300, check=True).stdout
    return [int(number) for number in told.split()]


def those_of(known, wanted):
    """Of the tools the one of that name, else those whose names begin like this; "alone" always."""
    return {name: tool for name, tool in known.items()
            if name == "alone" or any(name == each or (each not in known and name.startswith(each)) for each in wanted)}


def row(load, name, taken, alone):
    """Of each kind of time the median, and of the ratio to the run alone of the same round the median and quartiles."""
    def told(values, base):
        ns = statistics.median(values)
        ratio, low, high = spread([value / before for value, before in zip(values, base)])
        return f"{ns:,.2f} | {ns - statistics.median(base):+,.2f} | {ratio:.3f} ({low:.3f} to {high:.3f})"

    clock, cpu = (told(*sides) for sides in zip(zip(*taken), zip(*alone)))
    return f"| {load} | {name} | {clock} | {cpu} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each run")
    parser.add_argument("--tools", default="", help="beside alone, with commas between them: names, or how they begin")
    parser.add_argument("--memory", action="store_true", help="of the profiler, rather than times")
    parser.add_argument("--errors", type=int, default=0, metavar="RUNS", help="of estimates, rather than times")
    parser.add_argument("--small", action="store_true", help="only to see that it works")
    parser.add_argument("programs", nargs="*", help="those whose names begin like this")
    options = parser.parse_args()
    if options.memory:
        return memory_table()
    if options.errors:
        return error_table(options.errors)
    rounds, seconds = (1, 0.05) if options.small else (options.rounds, options.seconds)
    print(f"{machine()}, load {os.getloadavg()[0]:.1f}, {rounds} rounds of {seconds} s, medians\n")
    chosen = those_of(tools(), options.tools.split(","))
    print("| program | tool | ns | more | ratio | CPU ns | more | ratio |\n|-|-|-|-|-|-|-|-|")
    for load, measure in loads(seconds).items():
        if options.programs and not load.startswith(tuple(options.programs)):
            continue
        taken = {name: [] for name in chosen}
        for _ in range(rounds):
            for name, (before, env) in chosen.items():
                with tempfile.TemporaryDirectory(prefix="flameprobe-bench-") as directory:
                    taken[name].append(measure(before, env, directory))
        for name, values in taken.items():
            print(row(load, name, values, taken["alone"]), flush=True)


if __name__ == "__main__":
    sys.exit(main())
