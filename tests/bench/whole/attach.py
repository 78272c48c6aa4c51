"""What looking at a server from outside costs it: requests a second of redis alone, attached at 99 and 997 Hz, and with the library
inside at 997 Hz, in turns; medians and quartiles.

    python3 tests/bench/whole/attach.py [ROUNDS] [REQUESTS]

To be run on a machine that does nothing else. BUILD is `build`, or FLAMEPROBE_BUILD."""

import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "integration"))
from harness import COMMAND, clean_environment, profiled, started, wait_until  # noqa: E402  (the path above is where it lies)
from programs import free_port, listening  # noqa: E402

WAYS = {"alone": (None, None), "attached, 99 Hz": (99, None), "attached, 997 Hz": (997, None), "in-process, 997 Hz": (None, 997)}


def requests_a_second(port, requests):
    told = subprocess.run(["redis-benchmark", "-p", str(port), "-n", str(requests), "-c", "20", "-t", "set,get", "-q"], text=True,
                          capture_output=True, check=True).stdout
    return statistics.harmonic_mean([float(rate) for rate in re.findall(r"([\d.]+) requests per second", told)])


def measured(way, requests):
    """The first tenth of the requests is before the recorder is there, and is not counted."""
    outside, inside = WAYS[way]
    with tempfile.TemporaryDirectory(prefix="flameprobe-attach-") as place:
        directory, port = Path(place), free_port()
        env = profiled(OUT=directory / "inside", FREQ=inside) if inside else clean_environment()
        with started(["redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", place], directory, env) as server:
            wait_until(lambda: listening(port), what="redis listens")
            requests_a_second(port, requests // 10)
            if not outside:
                return requests_a_second(port, requests)
            attached = subprocess.Popen([COMMAND, "attach", "-F", str(outside), "-f", "none", "-o", directory / "outside", str(server.pid)],
                                        stderr=subprocess.PIPE, text=True, env=clean_environment())
            if "attached to process" not in (said := attached.stderr.readline()):
                raise SystemExit(said)
            rate = requests_a_second(port, requests)
            attached.terminate()
            attached.communicate(timeout=60)
            return rate


def main():
    rounds, requests = (int(word) for word in [*sys.argv[1:], *["7", "200000"][len(sys.argv) - 1:]])
    if not shutil.which("redis-benchmark"):
        raise SystemExit("redis-benchmark is not installed (Debian: redis-tools)")
    rates = {way: [] for way in WAYS}
    for turn in range(rounds):
        order = list(WAYS)
        for way in order[turn % len(order):] + order[:turn % len(order)]:
            rates[way].append(measured(way, requests))
    print(f"| redis, {requests} requests, {rounds} rounds | requests a second, median (quartiles) | beside alone, median of the rounds |\n|-|-|-|")
    for way, found in rates.items():
        low, middle, high = statistics.quantiles(found, n=4, method="inclusive") if rounds > 1 else found * 3
        beside = statistics.median(rate / alone for rate, alone in zip(found, rates["alone"]))
        print(f"| {way} | {middle:.0f} ({low:.0f}–{high:.0f}) | {100 * (beside - 1):+.1f} % |")


if __name__ == "__main__":
    main()
