"""How long a server holds its port once it is told to end: port.py [--pairs 9] [--freq 999] [--small]

redis-server and Python's http.server work for a moment, get SIGTERM, and another process tries to listen on their port
until it may. Alone and under FlameProbe in turns (A B A B); medians, with the quartiles."""

import argparse
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from contenders import LIBRARY, clean_environment, machine, spread
from harness import started, wait_until
from programs import Missing, find, free_port, listening


def redis(directory):
    server, benchmark = find("redis-server"), find("redis-benchmark")

    def load(port):
        subprocess.run([benchmark, "-p", str(port), "-q", "-n", "20000", "-t", "set,get"], env=clean_environment(),
                       capture_output=True, check=True)
    return lambda port: [server, "--port", port, "--save", "", "--appendonly", "no", "--dir", directory], load


def python_server(directory):
    def load(port):
        for _ in range(200):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30).read()
    return lambda port: [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "--directory", directory, port], load


def held(command, load, directory, env):
    """Milliseconds from SIGTERM until another process may listen on the port."""
    port = free_port()
    with started(command(str(port)), directory, env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: listening(port), 60, "the server listens")
        load(port)
        begun = time.perf_counter()
        process.send_signal(signal.SIGTERM)
        while time.perf_counter() < begun + 30:
            with socket.socket() as successor:
                successor.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    successor.bind(("127.0.0.1", port))
                    successor.listen()
                    break
                except OSError:
                    time.sleep(0.0002)
        took = (time.perf_counter() - begun) * 1e3
        process.wait(60)
        return took


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--freq", default="999")
    parser.add_argument("--small", action="store_true", help="only to see that it works")
    options = parser.parse_args()
    if options.small:
        options.pairs = 1
    print(machine() + f", load {os.getloadavg()[0]:.1f}\n")
    print("| server | alone | under FlameProbe | later |\n|-|-|-|-|")
    with tempfile.TemporaryDirectory(prefix="flameprobe-bench-") as directory:
        served = Path(directory) / "served"
        served.mkdir()
        for name, program in (("redis-server", redis), ("python3 -m http.server", python_server)):
            try:
                command, load = program(str(served))
            except Missing as what:
                print(f"| {name} | {what} is not installed | | |")
                continue
            ours = clean_environment(LD_PRELOAD=LIBRARY, FLAMEPROBE_FREQ=options.freq, FLAMEPROBE_LOG="quiet",
                                     FLAMEPROBE_OUT=f"{directory}/%e.%p")
            alone, with_us = [], []
            for _ in range(options.pairs):
                alone.append(held(command, load, directory, clean_environment()))
                with_us.append(held(command, load, directory, ours))
                for path in Path(directory).glob("*.*"):
                    path.unlink()
            middle, low, high = spread([b - a for a, b in zip(alone, with_us)])
            print(f"| {name} | {spread(alone)[0]:.1f} ms | {spread(with_us)[0]:.1f} ms | {middle:.1f} ms ({low:.1f} to {high:.1f}) |",
                  flush=True)


main()
