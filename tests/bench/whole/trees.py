"""What is left of trees of processes, and whether it is all of them: trees.py [--freq 499] [--small] [NAME...]

Each tree is run once, preloaded, in a folder of its own. A row tells how its first process ended, the files that are
left, the processes in the picture, and seconds of CPU time: what its workers were told to use, what the processes'
clocks counted, what the picture shows, and how much of that is not [not sampled]. NAME: trees whose name has it."""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from contenders import LIBRARY, clean_environment, machine
from harness import render, run, wait_until
from one_result import FORKS, PYTHON
from programs import COMPILER, PROGRAMS, Missing, ended, find, nginx_masters, postgres_server

WORK = """import os, sys, time
end = time.process_time() + float(sys.argv[1])
while time.process_time() < end: sum(range(1000))
images = int(sys.argv[2]) if len(sys.argv) > 2 else 1
if images > 1: os.execv(sys.executable, [sys.executable, sys.argv[0], sys.argv[1], str(images - 1)])
"""


def shells(work):
    """{name: (argv, seconds of its workers)}"""
    one = f"{work} 0.3"
    rules = "all: a b c d e f\na b c d e f:\n\t@" + one
    return {
        "forks": ([PYTHON, "-c", FORKS, "30"], 6),
        "a shell": (["sh", "-c", f"{one}; {one}"], 0.6),
        "a pipe": (["sh", "-c", f"{one} | {one}"], 0.6),
        "make -j4": (["make", "-s", "-j4", f"--eval={rules}"], 1.8),
        "env": (["env", "A=1", *one.split()], 0.3),
        "timeout": (["timeout", "60", *one.split()], 0.3),
        "sudo -E": (["sudo", "-E", "env", f"LD_PRELOAD={LIBRARY}", *one.split()], 0.3),
        "script": (["script", "-qec", one, "/dev/null"], 0.3),
        "setsid": (["sh", "-c", f"setsid {one} & {one}; wait"], 0.6),
        "exec of itself, twice": ([*one.split(), "3"], 0.9),
        "a daemon": (["sh", "-c", f"({one}; {one}) & exit 0"], 0.6),
        "a child that outlives the run": (["sh", "-c", f"(sleep 3; {one}) & {one}"], 0.6),
        "kill -9 of the first": (["sh", "-c", f"{one} & {one} & kill -9 $$"], 0.6),
        "kill -9 of a child": (["sh", "-c", f"{work} 60 & sleep 1; kill -9 $!; wait; {one}"], None),
        "kill -9 of all": (["sh", "-c", f"{work} 60 & {work} 60 & sleep 1; kill -9 0"], None),
    }


def settings(place, frequency, **more):
    return clean_environment(LD_PRELOAD=LIBRARY, FLAMEPROBE_FREQ=frequency, FLAMEPROBE_OUT=f"{place}/out", **more)


def row(name, place, status, asked=None, said=""):
    if name not in ("kill -9 of all", "a full disk"):  # these leave the folder
        wait_until(lambda: not list(place.glob("*.run")), 120, "the end of the run's folder")
    profiles = sorted(place.glob("*.fprobe")) or sorted(place.glob("*.run"))
    files, on_stacks, shown, clocks, processes = len(list(place.iterdir())), 0, 0, 0, 0
    for profile in profiles:
        told = json.loads(render(profile, "--format", "json", "-o", "-").stdout)
        on_stacks += told["cpu_time"]["sampled_ns"] / 1e9
        clocks += (told["cpu_time"]["process_ns"] or 0) / 1e9
        shown += told["stack_ns"] / 1e9
        # A run of one process has no table of them.
        processes += sum(" %   " in line for line in render(profile, "--tree", "--top", "1").stdout.splitlines()) or 1
    share = f"{shown / clocks:.1%}" if clocks else "-"
    print(f"| {name} | {status} | {files} | {processes} | {asked or '-'} | {clocks:.2f} | {shown:.2f} | {share} | "
          f"{on_stacks:.2f} | {said} |", flush=True)


def said_of(ran):
    """What the profiler said, without the path of the bench's folder."""
    lines = [line for line in ran.stderr.splitlines() if line.startswith("flameprobe: ")]
    return "; ".join(lines).replace("|", "/").replace(str(ran.directory) + "/", "")


def of_shells(options, directory, work):
    for name, (argv, asked) in shells(work).items():
        if not options.wants(name):
            continue
        place = fresh(directory)
        try:
            find(argv[0])
        except Missing as what:
            print(f"| {name} | {what} is not installed |")
            continue
        # Rings' collectors are processes, which outlive a kill of all others; here they are threads.
        more = {"FLAMEPROBE_ENGINE": "timer"} if "of all" in name else {}
        ran = run(argv, place, settings(place, options.freq, **more), timeout=120)
        row(name, place, ran.returncode, asked, said_of(ran))


def two_runs(options, directory, work):
    place = fresh(directory)
    env = settings(place, options.freq)
    both = [subprocess.Popen([*work.split(), "0.5"], cwd=place, env=env) for _ in range(2)]
    row("two runs of one name at once", place, [one.wait(60) for one in both], 1)


def no_place(options, directory, work):
    place = fresh(directory)
    ran = run([*work.split(), "0.3"], place, settings("/proc/nothing", options.freq), timeout=60)
    row("a folder that is not writable", place, ran.returncode, 0.3, said_of(ran))


def full_disk(options, directory, work):
    """In a mount namespace of its own, whose small file system is copied out at the end."""
    if os.geteuid() != 0:
        raise Missing("the right to mount")
    small, place = fresh(directory), fresh(directory)
    script = f"mount -t tmpfs -o size=64k none {small} || exit 99; {work} 3; status=$?; cp -r {small}/* {place}; exit $status"
    env = settings(small, 4999)
    preload = env.pop("LD_PRELOAD")
    ran = run(["unshare", "-m", "sh", "-c", script.replace(work, f"env LD_PRELOAD={preload} {work}")], place, env, timeout=120)
    if ran.returncode == 99:
        raise Missing("the right to mount")
    row("a full disk", place, ran.returncode, 3, said_of(ran))


def nginx_anew(options, directory, work):
    """nginx's upgrade of its binary: the master, a daemon, starts the next one, whose environment is cleared."""
    place = fresh(directory)
    with nginx_masters(fresh(directory), settings(place, options.freq)) as upgrade:
        upgrade.serve()
        upgrade.begin()
        upgrade.serve()
        upgrade.retire_workers()
        upgrade.serve()
        status = [upgrade.end(pid) for pid in upgrade.masters]
    row("nginx, its binary upgraded", place, status)


def connections(options, directory, work):
    place, home = fresh(directory), fresh(directory)
    (home / "server").mkdir()
    with postgres_server(home / "server", settings(place, options.freq)) as (process, pgbench, _):
        pgbench("-n", "-C", "-S", "-c", "2", "-T", "3")
        process.send_signal(signal.SIGINT)
        row("postgres, pgbench -C", place, ended(process, home, time.monotonic(), "postgres").returncode)


def fresh(directory):
    place = Path(tempfile.mkdtemp(dir=directory))
    place.chmod(0o777)
    return place


def of_program(program):
    def start(options, directory, work):
        home, place = fresh(directory) / "run", fresh(directory)
        home.mkdir()
        ran, _ = program.start(home, settings(place, options.freq), 2)
        row(program.name, place, ran.returncode)
    return start


OTHERS = {"two runs of one name at once": two_runs, "a folder that is not writable": no_place, "a full disk": full_disk}
SERVERS = {program.name: of_program(program) for program in (COMPILER, *PROGRAMS)
           if program.name in ("redis-server", "nginx", "postgres", COMPILER.name)} | {
    "nginx, its binary upgraded": nginx_anew, "postgres, pgbench -C": connections}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--freq", default="499")
    parser.add_argument("--small", action="store_true", help="only to see that it works")
    options = parser.parse_args()
    options.wants = lambda name: not options.names or any(part in name for part in options.names)
    print(machine() + f", load {os.getloadavg()[0]:.1f}, uid {os.geteuid()}\n")
    print("| tree | ended | files | processes | asked, s | clocks, s | shown, s | of the clocks | on stacks, s "
          "| what was said |\n" + "|-" * 10 + "|")
    with tempfile.TemporaryDirectory(prefix="flameprobe-bench-") as directory:
        os.chmod(directory, 0o755)
        script = Path(directory) / "work.py"
        script.write_text(WORK)
        work = f"{PYTHON} {script}"
        of_shells(options, directory, work)
        for name, tree in (OTHERS if options.small else OTHERS | SERVERS).items():
            try:
                if options.wants(name):
                    tree(options, directory, work)
            except Missing as what:
                print(f"| {name} | {what} is missing |")


if __name__ == "__main__":
    sys.exit(main())
