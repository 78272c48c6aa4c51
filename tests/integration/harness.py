"""Runs programs with FlameProbe preloaded, in a directory of their own, and reads what they leave.

Every program is the leader of a new session: at its timeout its process group is killed, and no other process ever is.

FLAMEPROBE_TESTS=quick|all, quick by default, chooses the size of the tests: see sized()."""

import contextlib
import ctypes
import functools
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from dataclasses import dataclass, field
from pathlib import Path

import pprof_rules

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("FLAMEPROBE_BUILD", ROOT / "build")).resolve()
LIBRARY = BUILD / "preload" / "libflameprobe.so"
RENDER = BUILD / "tools" / "render" / "flameprobe-render"
COMMAND = BUILD / "tools" / "flameprobe" / "flameprobe"
KERNEL = tuple(int(number) for number in re.findall(r"\d+", os.uname().release)[:2])
ENGINES = ("ring", "timer") if KERNEL >= (5, 13) else ("timer",)  # inherit_thread
SIZE = os.environ.get("FLAMEPROBE_TESTS", "quick")
GUEST = os.environ.get("FLAMEPROBE_GUEST")  # in a machine of tools/guest: a folder of files for tests outside of it
# Without a clock that counts instructions, an emulated CPU ages also while the machine outside does not run it: no tick
# comes in that time, and what ends in it was not sampled. tools/test-kernels shows that with the same kernel: with one CPU and
# such a clock every host is sampled, with 16 and none some are not.
MISSES_TICKS = os.environ.get("FLAMEPROBE_EMULATED") == "1"
EMULATED = "FLAMEPROBE_EMULATED" in os.environ  # the CPU is: the same work takes ten times as long, and is that much more samples


if not (BUILD / "build.ninja").exists():
    raise SystemExit(f"{BUILD} is no build directory: build first, or set FLAMEPROBE_BUILD to one")
if SIZE not in ("quick", "all"):
    raise SystemExit(f"FLAMEPROBE_TESTS={SIZE}: only quick and all are known")


def sized(quick, every, emulated=None):
    """The size of a repetitive test: `quick` while working and in CI, `every` in `tools/test all`, `emulated` on an emulated CPU,
    which takes ten times as long. A test asserts the same in all: only the number of repetitions, engines or hosts differs."""
    if EMULATED and emulated is not None:
        return emulated
    return every if SIZE == "all" else quick


def beside_others(seconds):
    """For -d: a program that others keep from its CPU has what it has in `seconds` alone in so many more."""
    return f"{round(1000 * seconds * min(max(os.getloadavg()[0] / os.cpu_count(), 1), 8))}ms"


def target(name):
    return BUILD / "tests" / "targets" / name


def host(name):
    return BUILD / "tests" / "hosts" / f"host-{name}"


def read_folded(text):
    """[(frames from the root, count)]; raises ValueError on a line that is not well-formed."""
    stacks = []
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        if not stack or not count.isdigit() or int(count) == 0:
            raise ValueError(f"not a folded line: {line!r}")
        stacks.append((stack.split(";"), int(count)))
    return stacks


@dataclass
class Result:
    """The results of one process: <stem>.fprobe, .svg, .folded, ..."""

    stem: Path

    def path(self, ending):
        return Path(f"{self.stem}.{ending}")

    @property
    def executable(self):
        name = self.stem.name.rsplit(".", 1)[0]
        return name if self.stem.parent.suffix == ".run" else name.split(".", 1)[1]

    @property
    def pid(self):
        return int(self.stem.name.rsplit(".", 1)[1])

    @property
    def endings(self):
        return {p.name[len(self.stem.name) + 1:] for p in self.stem.parent.glob(self.stem.name + ".*")}

    def stacks(self):
        """The stacks, from the folded text, or from the .fprobe if the process was killed before it wrote one."""
        if self.path("folded").exists():
            return read_folded(self.path("folded").read_text())
        return read_folded(render(self.path("fprobe"), "-o", "-", "--format", "folded").stdout)


@dataclass
class Run:
    returncode: int
    stdout: str
    stderr: str
    directory: Path
    seconds: float
    pid: int
    timed_out: bool = False
    samples: dict = field(default_factory=dict)

    def results(self):
        """Results by pid and executable, since an exec keeps the pid; only files with default names. Of a run that was killed they
        are in its folder still."""
        found = {}
        for path in sorted([*self.directory.glob("flameprobe.*.*.fprobe"), *self.directory.glob("flameprobe.*.run/*.fprobe")]):
            result = Result(path.with_suffix(""))
            found[result.pid, result.executable] = result
        return found

    def result(self, executable=None):
        """The only result (of that executable)."""
        every = [r for r in self.results().values() if executable in (None, r.executable)]
        if len(every) != 1:
            raise AssertionError(f"{len(every)} results instead of one in {sorted(p.name for p in self.directory.iterdir())}; "
                                 f"stderr: {self.stderr[-2000:]}")
        return every[0]


def clean_environment(**changes):
    """Our environment without variables for profiling or preloading, and with `changes`; None removes a variable."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("FLAMEPROBE_", "LD_", "DEBUGINFOD_", "MALLOC_"))}
    for name, value in changes.items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = str(value)
    return env


def profiled(**settings):
    """An environment with FlameProbe preloaded; settings are given without FLAMEPROBE_: FREQ=999, ENGINE="timer"."""
    return clean_environment(LD_PRELOAD=LIBRARY, **{f"FLAMEPROBE_{k}": v for k, v in settings.items()})


# Orphans of the programs become children of this process (prctl(2), PR_SET_CHILD_SUBREAPER), so that it can wait for them.
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


def end_group(pid):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def collectors():
    """Ids of the collectors that run: children of this process, the subreaper, from their start."""
    found = set()
    for children in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # of a thread that ends just now
            for pid in children.read_text().split():
                if Path(f"/proc/{pid}/comm").read_text() == "flameprobe\n":
                    found.add(int(pid))
    return found


def settle(pid, others, seconds=30):
    """Waits for processes that a program left running: orphaned children in its group, and the collector (in a session of its
    own) of a host that did not wait for it. `others`: collectors that ran before."""
    end = time.monotonic() + seconds
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < end:
            if os.waitpid(-pid, os.WNOHANG)[0] == 0:
                time.sleep(0.01)
    while time.monotonic() < end and (left := collectors() - others):
        for collector in left:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(collector, os.WNOHANG)
        time.sleep(0.01)


AS_ORDINARY_USER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
SAME_USER = ["env"]  # who is an ordinary one


def run(argv, directory, env=None, timeout=120, **popen):
    """Runs a program to its end. After `timeout` seconds its process group is killed and timed_out is set."""
    others = collectors()
    argv = [str(a) for a in argv]
    launcher = next((user for user in (AS_ORDINARY_USER, SAME_USER) if argv[:len(user)] == user), None)
    if launcher and env and "LD_PRELOAD" in env:  # the program's, not the launcher's
        env = dict(env)
        argv[len(launcher):len(launcher)] = ["env", f"LD_PRELOAD={env.pop('LD_PRELOAD')}"]
    start = time.monotonic()
    process = subprocess.Popen(argv, cwd=popen.pop("cwd", directory), env=env or clean_environment(),
                               stdin=popen.pop("stdin", subprocess.DEVNULL), stdout=popen.pop("stdout", subprocess.PIPE),
                               stderr=popen.pop("stderr", subprocess.PIPE), start_new_session=True, text=True,
                               errors="replace", **popen)
    timed_out = False
    try:
        out, err = process.communicate(timeout=timeout)
        seconds = time.monotonic() - start  # its user goes on here
        settle(process.pid, others)
    except subprocess.TimeoutExpired:
        timed_out, seconds = True, timeout
        end_group(process.pid)
        out, err = process.communicate()
    finally:
        end_group(process.pid)
    return Run(process.returncode, out or "", err or "", Path(directory), seconds, process.pid, timed_out)


def ordinary_user(case):
    """A command prefix that runs a program as an ordinary user, for whom perf may not sample the kernel; skips the test where that
    is not possible."""
    try:
        level = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    except OSError:
        level = 2
    if level < 2:
        case.skipTest(f"kernel.perf_event_paranoid is {level}: perf may sample the kernel")
    if os.geteuid() != 0:
        return SAME_USER
    user = AS_ORDINARY_USER
    if subprocess.run([*user, "cat", LIBRARY], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode:
        case.skipTest(f"an ordinary user cannot read {LIBRARY}")
    return user


@contextlib.contextmanager
def started(argv, directory, env, preexec_fn=lambda: None, **popen):
    """A server: runs in the background, killed with its group at the end unless it ended itself."""
    def prepare():
        # A test that is killed cannot end what it started: that ends by itself. Not by prlimit(2): of another user's process root
        # may not set it in a container.
        resource.setrlimit(resource.RLIMIT_CPU, (900, 900))
        preexec_fn()
    log = open(Path(directory) / f"{Path(str(argv[0])).name}.log", "w+")
    process = subprocess.Popen([str(a) for a in argv], cwd=directory, env=env, stdin=popen.pop("stdin", subprocess.DEVNULL),
                               stdout=popen.pop("stdout", log), stderr=popen.pop("stderr", log), start_new_session=True,
                               text=True, preexec_fn=prepare, **popen)
    try:
        yield process
    finally:
        end_group(process.pid)
        process.wait()
        log.close()


@functools.cache
def formats():
    """{name: ending without its dot} of every format."""
    usage = subprocess.run([RENDER, "--help"], capture_output=True, text=True, check=True).stdout
    names = re.search("--format FORMAT +(.*), png", usage)[1].split(", ")
    endings = re.search("--output FILE +(.*) .png", usage)[1].split()
    return {name: ending[1:] for name, ending in zip(names, endings, strict=True)}


def render(*argv, timeout=120, **popen):
    return run([RENDER, *argv], directory=tempfile.gettempdir(), timeout=timeout, **popen)


def wait_until(true, seconds=20, what="it"):
    """Waits until true() returns true; an AssertionError if it does not in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = true()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"{what} has not happened within {seconds} s")


def stolen_seconds():
    """The time that the hypervisor took from all CPUs since boot. Samples include it, a thread's CPU clock does not."""
    with open("/proc/stat") as stat:
        return int(stat.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


def stolen_ns(since):
    """The most of it that a program can have lost since stolen_seconds() gave `since`: the counter's unit is 10 ms. 0 on a
    real machine."""
    now = stolen_seconds()
    return 0 if now == 0 else (now - since + 0.01) * 1e9


def named(frames, function):
    """Whether a frame is this function, whatever its namespace, parameters and suffix."""
    return any(re.search(rf"(?<!\w){re.escape(function)}(?!\w)", re.sub(r"_\[[ik]\]$", "", frame)) for frame in frames if function in frame)


def without_holder(frames):
    """The thread's own frames: behind them is who holds the lock that it waits for."""
    return frames[:next((at for at, frame in enumerate(frames) if frame.startswith("[held by ")), len(frames))]


def shares(stacks, function, leaf=False):
    """(samples with the function on the stack (or at its end), all samples)."""
    hits = sum(count for frames, count in stacks if named(frames[-1:] if leaf else frames, function))
    return hits, sum(count for _, count in stacks)


class Case(unittest.TestCase):
    """A test with a directory of its own that goes away with it."""

    def setUp(self):
        self.directory = Path(tempfile.mkdtemp(prefix="flameprobe-test-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.addCleanup(self.check_every_pprof)

    def check_every_pprof(self):
        """Every pprof that a test makes must be one that engines accept."""
        # A folder may go meanwhile: what a collector that was left behind makes goes by itself.
        found = (Path(place) / name for place, _, names in os.walk(self.directory) for name in names)
        for path in sorted(path for path in found if path.name.endswith(".pb.gz")):
            problems = pprof_rules.problems(pprof_rules.read(path))
            self.assertEqual(problems, [], f"{path.name} breaks rules of profile.proto, Parca or Pyroscope")

    def fresh_directory(self, name):
        path = self.directory / name
        path.mkdir()
        return path

    def need_engine(self, engine):
        if engine not in ENGINES:
            self.skipTest(f"the {engine} engine needs Linux 5.13")

    def need(self, *programs):
        for program in programs:
            if shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin") is None:
                self.skipTest(f"{program} is not installed")

    def assert_function(self, stacks, function, at_least=1):
        if MISSES_TICKS:
            return
        hits, every = shares(stacks, function)
        self.assertGreaterEqual(hits, at_least, f"{function} is in {hits} of {every} samples")
