"""From the program's end to a picture and to a table of functions; rendering; opening the picture in a browser."""

import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

import profilers
from harness import RENDER
from contenders import ENGINE
from profilers import NotHere, Profiler, output_of, tool

from cost import beyond, engine_rounds
from figures_of_runs import Row
from rounds import Task
from runs import execute, shell

MAKE_FOLDED = Path(__file__).resolve().parent.parent / "make_folded.py"
FREQUENCY = 4000


def version_of(*argv):
    return lambda: re.search(r"\d[\w.]*", output_of(tool(argv[0]), *argv[1:]))[0]


def inferno_version():
    """It does not tell; cargo knows what it has installed."""
    tool("inferno-flamegraph")
    found = re.search(r'"inferno (\S+) ', (profilers.TOOLS / "cargo" / ".crates.toml").read_text())
    return found[1] if found else "version not known"


# name -> (its version, how it is started)
OTHERS = {"inferno": (inferno_version, lambda: "inferno-flamegraph FOLDED"),
          "go tool pprof": (version_of("go", "version"), lambda: "go tool pprof -top PROGRAM PROFILE"),
          "chromium": (version_of("chromium", "--version"), lambda: "chromium --headless=new --screenshot PAGE")}


def profile_of_engine(profiler, samples, directory):
    """Seconds of the run beyond what the engine's own work took; it leaves its profile in the directory."""
    ran = execute(profiler.command([ENGINE, engine_rounds(samples / FREQUENCY)], FREQUENCY, directory), directory)
    return ran.seconds - int(ran.stdout.split()[-2]) / 1e9


def picture(samples):
    def run(profiler, directory):
        seconds = profile_of_engine(profiler, samples, directory)
        command = profiler.to_picture(str(ENGINE), directory)
        if command is not None:
            seconds += shell(command, directory, timeout=profilers.PATIENCE).seconds
        if not [path for path in directory.glob("*.svg") if path.stat().st_size > 1000]:
            raise NotHere("it makes no picture in a file")
        return [seconds], None, None
    return Task([Row("time", f"a run of {samples:,} samples: start, end and picture", "s")], run, rare=True)


def table(samples):
    """go tool pprof reads what gperftools writes."""
    ways = {
        "FlameProbe": (profilers.FlameProbe, lambda place: f"'{RENDER}' '{place}/flameprobe.fprobe' --top 30"),
        "perf dwarf": (profilers.PerfDwarf,
                       lambda place: f"'{tool('perf')}' report --force --stdio --no-children -i '{place}/perf.data' -g none"),
        "gperftools": (profilers.Gperftools, lambda place: f"'{tool('google-pprof')}' --text '{ENGINE}' '{place}/gperftools.prof'"),
        "go tool pprof": (profilers.Gperftools, lambda place: f"'{tool('go')}' tool pprof -top '{ENGINE}' '{place}/gperftools.prof'"),
    }

    def run(way, directory):
        profile_of_engine(way[0](), samples, directory)
        ran = shell(f"{way[1](directory)} > table.txt", directory, memory=True, timeout=profilers.PATIENCE)
        return [ran.seconds, ran.peak_bytes], None, None
    name = f"{samples:,} samples to a table of functions"
    return Task([Row("time", name, "s"), Row("time", f"{name}, memory", "MB")], run, of=ways, rare=True)


def folded(stacks):
    """The text is made once, in the output's directory."""
    path = profilers.OUTPUT / f"stacks-{stacks}.folded"
    if not path.exists():
        unfinished = path.with_suffix(".part")
        with open(unfinished, "w", encoding="utf-8") as file:
            subprocess.run([sys.executable, MAKE_FOLDED, str(stacks)], stdout=file, check=True, env={**os.environ, "PYTHONHASHSEED": "0"})
        unfinished.rename(path)
    return path


DRAWERS = {
    "FlameProbe": lambda source, to: f"'{RENDER}' '{source}' --min-width 0.01 -o '{to}'",
    "inferno": lambda source, to: f"'{tool('inferno-flamegraph')}' '{source}' > '{to}'",
}


def svg(stacks):
    def run(drawer, directory):
        source = folded(stacks)
        ran = execute(["bash", "-c", drawer(source, f"{directory}/picture.svg")], directory, memory=True)
        return [ran.seconds, ran.peak_bytes], None, None
    return Task([Row("time", f"{stacks:,} distinct stacks to SVG", "s"), Row("time", f"{stacks:,} distinct stacks to SVG, memory", "MB")],
                run, of=DRAWERS, rare=True)


def page(stacks, times):
    """Beyond an empty page, the median of some times: a browser's start varies more than a page takes."""
    pages = {"FlameProbe": (DRAWERS["FlameProbe"], "svg"), "FlameProbe, page": (DRAWERS["FlameProbe"], "html"),
             "inferno": (DRAWERS["inferno"], "svg")}

    def run(way, directory):
        if isinstance(way, Profiler):
            path = directory / "page.html"
            path.write_text("<p>nothing</p>")
        else:
            path = directory / f"page.{way[1]}"
            shell(way[0](folded(stacks), path), directory)
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        command = [tool("chromium"), "--headless=new", "--disable-gpu", "--disable-extensions", "--disable-background-networking",
                   *sandbox, f"--user-data-dir={directory}/home", f"--screenshot={directory}/page.png", path.as_uri()]
        execute(command, directory)  # makes the browser's own directory
        return [statistics.median(execute(command, directory).seconds for _ in range(times))], None, None
    return Task([Row("time", f"{stacks:,} distinct stacks: opened by chromium", "s")], run, [beyond], of=pages, rare=True)


def tasks(options):
    if options.small:
        return [picture(300), table(300), svg(2000)]
    few, many = (20_000, 1_000_000) if options.whole else (4000, 200_000)
    return [picture(few), table(few), svg(many), page(20_000, 5 if options.whole else 1)]
