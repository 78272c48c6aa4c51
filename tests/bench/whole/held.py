"""How long a host's end takes while another user locks and opens all that he can in the directory of the results (root only):
held.py [--pairs 24] [--small]

In turn, A B B A: he does so there, and in another directory, so that he uses as much of the CPUs. Printed are both means, and the
mean of the differences in a pair with its 95 % interval (1.96 standard errors). A run is python3, .3 s of CPU time, rings."""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from contenders import machine

from harness import profiled  # noqa: E402  (contenders has added the path)
from test_run_folder import as_nobody, end, hold  # noqa: E402

HOST = "import os, time\nwhile time.process_time() < .3: pass\nos.write(1, b'e')"


def seconds_of_end(held):
    with tempfile.TemporaryDirectory(prefix="flameprobe-bench-") as results, tempfile.TemporaryDirectory() as other:
        for place in (results, other):
            os.chmod(place, 0o1777)
        enemy = as_nobody(hold(Path(results if held else other)))
        try:
            host = subprocess.Popen([sys.executable, "-c", HOST], stdout=subprocess.PIPE, cwd=results,
                                    env=profiled(OUT=f"{results}/x", ENGINE="ring", LOG="quiet"))
            with host:
                host.stdout.read(1)
                begin = time.monotonic()
                if host.wait() != 0 or not Path(results, "x.svg").exists():
                    sys.exit("a run has no result")
                return time.monotonic() - begin
        finally:
            end(enemy)


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--pairs", type=int, default=24)
parser.add_argument("--small", action="store_true", help="only to see that it works")
given = parser.parse_args()
if os.geteuid() != 0:
    print("skipped: only root can take another user's place")
    sys.exit(77)
alone, beside = [], []
for pair in range(2 if given.small else given.pairs):
    for held in ((False, True), (True, False))[pair % 2]:
        (beside if held else alone).append(seconds_of_end(held))
more = [b - a for a, b in zip(alone, beside, strict=True)]
spread = 1.96 * statistics.stdev(more) / len(more) ** .5
print(machine() + f", load {os.getloadavg()[0]:.1f}")
print(f"{len(more)} pairs: alone {statistics.mean(alone):.3f} s, beside him {statistics.mean(beside):.3f} s (at most {max(beside):.3f}); "
      f"{statistics.mean(more):+.3f} s, from {statistics.mean(more) - spread:+.3f} to {statistics.mean(more) + spread:+.3f}")
