"""Memory: a program whose sites of allocation are known, all of blocks of one size, so that who counts calls and who counts bytes is
measured alike. Distance as in truth.py, and how much longer the program took, with whatever is written at its end."""

import json
import re
from pathlib import Path

import readers
from profilers import BUILD, FlameProbe, NotHere, Profiler, output_of, tool

from cost import slower
from figures_of_runs import Row
from rounds import Task
from runs import execute
from truth import KNOWN, distance, has_name, told

BLOCK = 256  # bytes, as in known.cpp


ALLOC = BUILD / "preload" / "alloc" / "libflameprobe-alloc.so"


class FlameProbeAlloc(FlameProbe):
    def environment(self, frequency, directory):
        usual = super().environment(frequency, directory)
        return usual | {"LD_PRELOAD": f"{usual['LD_PRELOAD']}:{ALLOC}", "FLAMEPROBE_EVENT": "cpu,alloc"}

    def stacks(self, program, frequency, directory):
        found = Path(directory) / "flameprobe.alloc.folded"
        if not found.exists():
            raise NotHere("there is no result of the event alloc")
        return readers.folded(found.read_text(), 1)


class Heaptrack(Profiler):
    name = "heaptrack"
    in_process = False

    def version(self):
        return output_of(tool("heaptrack"), "--version").split()[-1]

    def before(self, frequency, directory):
        return [tool("heaptrack"), "-o", f"{directory}/heaptrack"]

    def stacks(self, program, frequency, directory):
        data = next(path for path in Path(directory).glob("heaptrack.*") if path.suffix in (".zst", ".gz"))
        output_of(tool("heaptrack_print"), "-f", data, "--flamegraph-cost-type", "allocations", "-F", f"{directory}/stacks.txt")
        return readers.folded((Path(directory) / "stacks.txt").read_text(), BLOCK)


class Dhat(Profiler):
    name = "valgrind dhat"
    in_process = False

    def version(self):
        return output_of(tool("valgrind"), "--version").split("-")[-1].strip()

    def before(self, frequency, directory):
        return [tool("valgrind"), "--tool=dhat", f"--dhat-out-file={directory}/dhat.json"]

    def stacks(self, program, frequency, directory):
        """Of each point the frames, innermost first, as numbers of "ADDRESS: FUNCTION (FILE:LINE)"."""
        told = json.loads((Path(directory) / "dhat.json").read_text())
        names = [re.sub(r"^0x\w+: | \([^()]*\)$", "", frame) for frame in told["ftbl"]]
        return [([names[frame] for frame in reversed(point["fs"])], point["tb"]) for point in told["pps"]]


WAYS = (FlameProbeAlloc, Heaptrack, Dhat)
OTHERS = {way.name: (way().version, way().shown) for way in (Heaptrack, Dhat)}  # name -> (its version, how it is started)


def shares_of(stacks, truth):
    """What libraries allocate at their start is none of the program's sites, and not counted."""
    sites = {site: has_name(site) for site in truth}
    found = {}
    for frames, amount in stacks:
        site = next((name for name, matches in sites.items() if any(map(matches, frames))), None)
        if site:
            found[site] = found.get(site, 0) + amount
    return found


def task(rounds, user):
    argv = [KNOWN, "allocs", rounds]

    def run(way, directory):
        ran = execute(way.command(argv, 99, directory), directory)
        truth = told(ran.stdout)
        wall = truth.pop("wall")
        if way.name == "alone":
            return [0, wall], None, None
        stacks = way.stacks(str(KNOWN), 99, directory)
        return [distance(shares_of(stacks, truth), truth), wall], stacks, way.says(directory, ran.stderr)
    return Task([Row("memory", "distance to the known sites", "%"), Row("memory", "a program that only allocates, by its clock", "%")], run,
                [lambda found, _: found, slower], of={way.name: way(user) for way in WAYS})


def tasks(options, user):
    return [task(1000 if options.small else 100_000 if options.whole else 10_000, user)]
