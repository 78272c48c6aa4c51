"""What it costs a program that somebody looks on while it runs: watching.py [--pairs 5] [--rounds 2500] [--small]

A Python program of fixed work under the preload at 999 Hz: alone, with `flameprobe top`, and with `flameprobe live` asked every two
seconds, as the page does. Printed are the program's own CPU time, in turns, and what it is more than alone (median of pairs);
and the CPU time of the program that looks on."""

import argparse
import contextlib
import os
import pty
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

from contenders import BUILD, LIBRARY, clean_environment, machine

COMMAND = str(BUILD / "tools" / "flameprobe" / "flameprobe")
WORK = """import json, re, sys, zlib
data = {str(i): list(range(i % 40)) for i in range(300)}
for n in range(int(sys.argv[1])):
    text = json.dumps(data); json.loads(text); re.findall(r'[0-9]+', text); zlib.compress(text.encode())
"""


def cpu(usage):
    return usage.ru_utime + usage.ru_stime


@contextlib.contextmanager
def unwatched(_pid, _into):
    yield


@contextlib.contextmanager
def top(pid, into):
    child, terminal = pty.fork()
    if child == 0:
        os.execve(COMMAND, [COMMAND, "top", str(pid)], clean_environment(TERM="xterm"))

    def read():
        with contextlib.suppress(OSError):
            while os.read(terminal, 65536):
                pass
    reader = threading.Thread(target=read)
    reader.start()
    yield
    os.write(terminal, b"q")
    into.append(cpu(os.wait4(child, 0)[2]))
    reader.join()
    os.close(terminal)


@contextlib.contextmanager
def live(pid, into):
    with subprocess.Popen([COMMAND, "live", str(pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        url, over = server.stdout.readline().strip(), threading.Event()
        if not url:
            raise SystemExit(f"flameprobe live {pid}: {server.stderr.read()}")

        def ask():
            while not over.wait(2):
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(url + "data", timeout=20).read()
        reader = threading.Thread(target=ask)
        reader.start()
        yield
        over.set()
        reader.join()
        server.terminate()
        _, status, usage = os.wait4(server.pid, 0)
        server.returncode = os.waitstatus_to_exitcode(status)
        into.append(cpu(usage))


def run(watch, rounds, into):
    with tempfile.TemporaryDirectory(prefix="flameprobe-watching-") as directory:
        env = clean_environment(LD_PRELOAD=LIBRARY, FLAMEPROBE_FREQ=999, FLAMEPROBE_FORMAT="none", FLAMEPROBE_LOG="quiet",
                                FLAMEPROBE_OUT=f"{directory}/out")
        program = subprocess.Popen([sys.executable, "-c", WORK, str(rounds)], env=env)
        while program.poll() is None and not os.path.exists(f"{directory}/out.fprobe"):
            time.sleep(0.05)
        time.sleep(0.5)
        with watch(program.pid, into):
            _, status, usage = os.wait4(program.pid, 0)
            program.returncode = os.waitstatus_to_exitcode(status)
        return cpu(usage)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=2500)
    parser.add_argument("--small", action="store_true", help="only to see that it works")
    options = parser.parse_args()
    if options.small:
        options.pairs, options.rounds = 1, 1500
    ways = {"alone": unwatched, "flameprobe top": top, "flameprobe live": live}
    took, own = {name: [] for name in ways}, {name: [] for name in ways}
    for _ in range(options.pairs):
        for name, watch in ways.items():
            took[name].append(run(watch, options.rounds, own[name]))
    print(machine() + f", load {os.getloadavg()[0]:.1f}\n")
    print("| looked on by | the program's CPU time | lowest to highest | more than alone | CPU time of what looks on |\n|---|---|---|---|---|")
    for name, times in took.items():
        more = statistics.median(a / b - 1 for a, b in zip(times, took["alone"]))
        looks = f"{statistics.median(own[name]):.2f} s" if own[name] else ""
        print(f"| {name} | {statistics.median(times):.2f} s | {min(times):.2f} to {max(times):.2f} s | "
              f"{'' if name == 'alone' else f'{100 * more:+.1f} %'} | {looks} |")


if __name__ == "__main__":
    main()
