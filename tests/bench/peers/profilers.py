"""The profilers, each as its own documentation says that a program is to be profiled."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[n] / part) for n, part in ((1, "whole"), (2, "integration"))]
from harness import BUILD, LIBRARY, RENDER, clean_environment, run  # noqa: E402  (the path above is where it lies)
from contenders import gperftools, machine  # noqa: E402, F401

import readers
import samply

OUTPUT = BUILD / "peers"
TOOLS = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "flameprobe-peers"  # compiled once for all builds
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
PATIENCE = 60  # seconds that a profiler may take to make text of a profile
MISSED = re.compile(r"lost|drop|miss|skip|overflow|throttl|WARN|truncat|fail|not permitted", re.IGNORECASE)


class NotHere(Exception):
    """Why a profiler cannot be used on this machine."""


def tool(name):
    path = TOOLS / "cargo" / "bin" / name
    found = str(path) if path.exists() else shutil.which(name)
    if found is None:
        raise NotHere(f"{name} is not installed")
    return found


def last_words(stderr):
    """Why a command failed: its error rather than what came with it, such as a trace of the program itself."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return next((line for line in lines if re.match("error", line, re.IGNORECASE)), " ".join(lines)[-200:])[:200]


def output_of(*argv, directory=None):
    """Standard output; NotHere with the reason where the command fails."""
    timeout = PATIENCE
    done = run(argv, directory or "/tmp", clean_environment(), timeout=timeout)
    if done.timed_out or done.returncode != 0:
        raise NotHere(f"{Path(str(argv[0])).name}: {'took more than %d s' % timeout if done.timed_out else last_words(done.stderr)}")
    return done.stdout


class Profiler:
    """Nothing: the program alone."""

    name = "alone"
    in_process = True  # whether it is a library in the program; else it is the command that starts it

    def __init__(self, user=()):
        self.user = list(user)  # a command that becomes another user

    def version(self):
        return ""

    def before(self, frequency, directory):
        return []

    def environment(self, frequency, directory):
        return {}

    def command(self, argv, frequency, directory):
        """As another user, then the profiler, then the environment, so that only the program has it."""
        variables = [f"{name}={value}" for name, value in self.environment(frequency, directory).items()]
        return [*self.user, *self.before(frequency, directory), *(["env", *variables] if self.in_process else []), *argv]

    def shown(self):
        """How it is started, for a reader: without paths."""
        with tempfile.TemporaryDirectory() as directory:
            words = [re.sub(r"(?<![\w./])/\S*/", "", str(word)) for word in self.command(["PROGRAM"], 99, directory)]
        return shlex.join(word for word in words if word not in ("env", *self.user))

    def stacks(self, program, frequency, directory):
        raise NotImplementedError

    def to_picture(self, program, directory):
        """A shell command that makes picture.svg or picture.html, or None where the run itself made one."""
        return None

    def says(self, directory, stderr):
        """What it says of time that it missed."""
        return "; ".join(dict.fromkeys(line.strip() for line in stderr.splitlines() if MISSED.search(line)
                                       and not line.strip().endswith(":")))


class FlameProbe(Profiler):
    name = "FlameProbe"

    def version(self):
        return re.search(r"[\d.]+", output_of(RENDER, "--version"))[0]

    def environment(self, frequency, directory):
        return {"LD_PRELOAD": LIBRARY, "FLAMEPROBE_FREQ": frequency, "FLAMEPROBE_OUT": f"{directory}/flameprobe",
                "FLAMEPROBE_LOG": f"{directory}/flameprobe.log"}

    def facts(self, directory):
        lines = (Path(directory) / "flameprobe.txt").read_text().splitlines()
        return dict(line.split(": ", 1) for line in lines if ": " in line)

    def stacks(self, program, frequency, directory):
        period = 1e9 / float(self.facts(directory)["frequency set"].split()[0])
        return readers.folded((Path(directory) / "flameprobe.folded").read_text(), period)

    def says(self, directory, stderr):
        facts = self.facts(directory)
        told = [f"{what} {facts[what]}" for what in ("truncated", "lost", "throttled") if facts.get(what, "0") != "0"]
        stacks = readers.folded((Path(directory) / "flameprobe.folded").read_text(), 1)
        named = {frame for frames, _ in stacks for frame in frames[-1:] if re.match(r"\[(not sampled|kernel, not)", frame)}
        every = sum(count for _, count in stacks)
        for frame in sorted(named):
            told.append(f"{100 * sum(count for frames, count in stacks if frames[-1] == frame) / every:.0f} % {frame}")
        return ", ".join(told)


class Perf(Profiler):
    in_process = False
    options = []

    def version(self):
        return output_of(tool("perf"), "--version").split()[-1]

    def before(self, frequency, directory):
        return [tool("perf"), "record", "-o", f"{directory}/perf.data", "-e", "cpu-clock", "-F", frequency, *self.options, "--"]

    def stacks(self, program, frequency, directory):
        return readers.perf_script(output_of(tool("perf"), "script", "--force", "-i", f"{directory}/perf.data", "-F",
                                             "comm,tid,period,ip,sym", directory=directory))

    def says(self, directory, stderr):
        """The recorder's warnings, and the records that `perf report --stats` counts."""
        counted = output_of(tool("perf"), "report", "--stats", "--force", "-i", f"{directory}/perf.data")
        lost = re.findall(r"^\s*((?:LOST|THROTTLE)\w*) events:\s+([1-9]\d*)", counted, re.MULTILINE)
        return "; ".join(filter(None, [super().says(directory, stderr), *(f"{number} {kind}" for kind, number in lost)]))

    def to_picture(self, program, directory):
        return (f"'{tool('perf')}' script --force -i '{directory}/perf.data' 2>/dev/null | '{tool('inferno-collapse-perf')}' "
                f"2>/dev/null | '{tool('inferno-flamegraph')}' > '{directory}/picture.svg'")


class PerfFramePointers(Perf):
    name = "perf -g"
    options = ["-g"]


class PerfDwarf(Perf):
    name = "perf dwarf"
    options = ["--call-graph", "dwarf"]


class CargoFlamegraph(Profiler):
    """What `cargo flamegraph` starts: perf with 64,000 bytes of each stack, which it draws itself at the end. The command for perf is its
    own but for the event, which is the others' also where the machine has counters. It leaves perf.data where it was started."""

    name = "cargo flamegraph"
    in_process = False

    def version(self):
        return output_of(tool("flamegraph"), "--version").split()[-1]

    def before(self, frequency, directory):
        return [tool("flamegraph"), "-c", f"record -e cpu-clock -F {frequency} --call-graph dwarf,64000 -g", "-o",
                f"{directory}/flamegraph.svg", "--post-process", f"tee {directory}/flamegraph.folded", "--"]

    def stacks(self, program, frequency, directory):
        """It counts the event, which is nanoseconds."""
        return readers.folded((Path(directory) / "flamegraph.folded").read_text(), 1)


class Gperftools(Profiler):
    name = "gperftools"

    def version(self):
        found = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "libgoogle-perftools4"], capture_output=True, text=True)
        return found.stdout or "version not known"

    def environment(self, frequency, directory):
        library = gperftools()
        if library is None:
            raise NotHere("libprofiler.so is not installed")
        return {"LD_PRELOAD": library, "CPUPROFILE": f"{directory}/gperftools.prof", "CPUPROFILE_FREQUENCY": frequency}

    def stacks(self, program, frequency, directory):
        """Its own folded text has no frames that all stacks have, such as start_thread."""
        named = output_of(tool("google-pprof"), "--raw", program, f"{directory}/gperftools.prof", directory=directory)
        return readers.gperftools((Path(directory) / "gperftools.prof").read_bytes(), named)

    def to_picture(self, program, directory):
        return (f"'{tool('google-pprof')}' --collapsed '{program}' '{directory}/gperftools.prof' 2>/dev/null | "
                f"'{tool('inferno-flamegraph')}' > '{directory}/picture.svg'")


class AsyncProfiler(Profiler):
    name = "async-profiler"
    options = "collapsed,file={}/async.folded"

    def library(self):
        found = sorted((TOOLS / "async-profiler").glob("**/linux-x64/libasyncProfiler.so"))
        if not found:
            raise NotHere("libasyncProfiler.so is not installed")
        return found[-1]

    def version(self):
        found = next((TOOLS / "async-profiler").glob("*.jar"), None)
        if found is None:
            raise NotHere("async-profiler is not installed")
        return re.search(r"async-profiler-([\d.]+)\.jar", str(found))[1]

    def arguments(self, frequency, directory):
        return f"start,event=cpu,interval={round(1e9 / frequency)},threads,total,log=stderr,loglevel=warn,{self.options.format(directory)}"

    def environment(self, frequency, directory):
        return {"LD_PRELOAD": self.library(), "ASPROF_COMMAND": self.arguments(frequency, directory)}

    def command(self, argv, frequency, directory):
        if not argv or Path(str(argv[0])).name != "java":
            return super().command(argv, frequency, directory)
        return [*self.user, argv[0], f"-agentpath:{self.library()}={self.arguments(frequency, directory)}", *argv[1:]]

    def stacks(self, program, frequency, directory):
        return readers.folded((Path(directory) / "async.folded").read_text(), 1)  # `total`: nanoseconds

    def to_picture(self, program, directory):
        return f"'{tool('inferno-flamegraph')}' '{directory}/async.folded' > '{directory}/picture.svg'"


class AsyncProfilerDwarf(AsyncProfiler):
    name = "async-profiler dwarf"
    options = "cstack=dwarf,collapsed,file={}/async.folded"


class Samply(Profiler):
    name = "samply"
    in_process = False

    def version(self):
        return output_of(tool("samply"), "--version").split()[-1]

    def before(self, frequency, directory):
        """It asks the kernel for a hardware counter first and, where there is none, as in most virtual machines, believes what
        perf_event_paranoid says rather than that root may do everything: root shows it another value."""
        seen = []
        if os.geteuid() == 0 and not self.user and int(PARANOID.read_text()) > 1:
            one = f"{directory}/paranoid"
            Path(one).write_text("1\n")
            seen = ["unshare", "-m", "sh", "-c", f'mount --bind {one} {PARANOID} && exec "$@"', "sh"]
        return [*seen, tool("samply"), "record", "--save-only", "-r", frequency, "-o", f"{directory}/samply.json",
                "--"]

    def stacks(self, program, frequency, directory):
        return samply.stacks(tool("samply"), Path(directory) / "samply.json", 1e9 / frequency)


class PprofRs(Profiler):
    name = "pprof-rs"

    def library(self):
        found = TOOLS / "pprof_rs" / "target" / "release" / "libpprof_preload.so"
        if not found.exists():
            raise NotHere("its host was not built")
        return found

    def version(self):
        if not (TOOLS / "pprof_rs" / "Cargo.lock").exists():
            raise NotHere("pprof-rs is not installed")
        return re.search(r'name = "pprof"\nversion = "([\d.]+)"', (TOOLS / "pprof_rs" / "Cargo.lock").read_text())[1]

    def environment(self, frequency, directory):
        return {"LD_PRELOAD": self.library(), "PPROF_RS_FREQUENCY": frequency, "PPROF_RS_OUT": f"{directory}/pprof_rs.folded"}

    def stacks(self, program, frequency, directory):
        return readers.folded((Path(directory) / "pprof_rs.folded").read_text(), 1e9 / frequency)

    def to_picture(self, program, directory):
        return f"'{tool('inferno-flamegraph')}' '{directory}/pprof_rs.folded' > '{directory}/picture.svg'"


EVERY = (FlameProbe, PerfFramePointers, PerfDwarf, CargoFlamegraph, Gperftools, AsyncProfiler, AsyncProfilerDwarf, Samply, PprofRs)
