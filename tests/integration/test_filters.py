"""Hosts that begin their lives in a filter that kills, as services of systemd do: they live and end as they do alone. Where the
filter kills for a call that there is no profile without, one sentence says so."""

import ctypes
import itertools
import re
import signal
import subprocess
import unittest
from functools import cache

from harness import ENGINES, SIZE, Case, clean_environment, host, ordinary_user, profiled, run, sized, target

# What FlameProbe calls, in its host's threads or the collector's, and a host of its own need not.
OWN_CALLS = ["setitimer", "ppoll", "prctl", "madvise", "getdents64", "ioctl", "clone3", "readlink", "mkdir", "renameat2", "flock",
             "unshare", "close_range", "process_vm_readv", "timer_create", "perf_event_open", "pidfd_open", "kill", "wait4",
             "sched_getaffinity", "getcwd", "uname", "sigaltstack", "getsockopt", "setpgid"]
MORE_CALLS = ["pidfd_getfd", "sched_getscheduler", "sched_setscheduler", "timer_settime", "timer_delete", "getitimer", "rt_sigaction",
              "rt_sigprocmask", "pipe2", "dup", "dup3", "socketpair", "umask", "tgkill", "nanosleep", "clock_nanosleep", "poll",
              "capget", "rt_sigtimedwait", "rt_sigpending", "rename", "unlink", "ftruncate", "fchmod", "lseek", "fcntl", "mremap",
              "sysinfo", "set_tid_address", "clock_getres", "geteuid", "getuid", "gettid", "statfs", "pwrite64",
              "readlinkat", "sched_yield", "rseq", "statx", "restart_syscall", "exit"]
# Debian's redis-server.service and systemd's own units, and what systemd-analyze security advises.
SERVICE = ["@system-service"]
STRICT_SERVICE = (SERVICE, ["@privileged", "@resources"])
ADVISED = ["@clock", "@cpu-emulation", "@debug", "@module", "@mount", "@obsolete", "@privileged", "@raw-io", "@reboot", "@resources",
           "@swap"]


@cache
def calls_of(name):
    """The system calls of systemd's set."""
    if not name.startswith("@"):
        return {name}
    listed = subprocess.run(["systemd-analyze", "syscall-filter", name], capture_output=True, text=True, check=True).stdout
    lines = [line.strip() for line in listed.splitlines() if line.startswith("    ") and "#" not in line]
    return set().union(*map(calls_of, lines))


def has_libseccomp():
    try:
        return bool(ctypes.CDLL("libseccomp.so.2"))
    except OSError:
        return False


@unittest.skipUnless(has_libseccomp(), "libseccomp2 is not installed")
class InFilter(Case):
    user = []
    alone = {}  # by what is run: how it ends without FlameProbe

    def in_filter(self, kind, calls, program, environment, where):
        directory = self.fresh_directory(where)
        directory.chmod(0o777)
        preload = [f"LD_PRELOAD={environment.pop('LD_PRELOAD')}"] if "LD_PRELOAD" in environment else []
        return run([*self.user, target("filtered"), kind, *sorted(calls), "--", *preload, *program], directory, environment)

    def check(self, kind, calls, program, engine, where):
        """Whether there is a result; where there is none one sentence says why."""
        key = (*self.user, kind, *sorted(calls), *map(str, program))
        if key not in self.alone:
            without = self.in_filter(kind, calls, program, clean_environment(), where + "-alone")
            self.alone[key] = without.returncode, without.stdout
        if self.alone[key][0] == -signal.SIGSYS:
            return None
        ran = self.in_filter(kind, calls, program, profiled(ENGINE=engine, FREQ=499, FORMAT="folded", LOG="stderr"), where)
        self.assertEqual((ran.returncode, ran.stdout), self.alone[key], ran.stderr)
        if ran.results():
            return ran.result()
        self.assertEqual(len(re.findall("would kill the process for", ran.stderr)), 1, ran.stderr)
        return None

    def every_call(self, engine, quick=OWN_CALLS):
        for call in sized(quick, OWN_CALLS + MORE_CALLS):
            with self.subTest(call=call, engine=engine):
                self.check("kill", [call], [host("ends"), "return", "60"], engine, f"{engine}-{call}")

    def every_service(self, programs, engines):
        """perf_event_open is not among the calls of a service: then there are timers."""
        self.need("systemd-analyze")
        service, removed = STRICT_SERVICE
        allowed = calls_of(*service)
        filters = {"service": ("allow", allowed), "strict service": ("allow", allowed - set().union(*map(calls_of, removed))),
                   "advised": ("kill", set().union(*map(calls_of, ADVISED)))}
        for (name, (kind, calls)), (what, program), engine in itertools.product(filters.items(), programs.items(), engines):
            with self.subTest(filter=name, program=what, engine=engine):
                result = self.check(kind, calls, program, engine, f"{name}-{what}-{engine}")
                self.assertIsNotNone(result)

    def every_set(self, engines):
        """Each of systemd's sets, killed: what a service's author takes away one by one."""
        self.need("systemd-analyze")
        listed = subprocess.run(["systemd-analyze", "syscall-filter"], capture_output=True, text=True, check=True).stdout
        sets = [line for line in listed.splitlines() if line.startswith("@") and line != "@known"]
        self.assertGreater(len(sets), 20)
        sets.remove("@process")  # has clone(2), which nobody can try: docs/signal-safety.md
        for name, engine in itertools.product(sets, engines):
            with self.subTest(killed=name, engine=engine):
                self.check("kill", calls_of(name), [host("ends"), "return", "60"], engine, f"{engine}-{name[1:]}")


ONE, THREADS, FORK = {"one": [host("ends"), "return", "150"]}, {"threads": [host("threads"), "living", "20"]}, {"fork": [host("family"), "fork"]}


class Filters(InFilter):
    def test_calls_ring(self):
        self.every_call("ring")

    def test_calls_timer(self):
        self.every_call("timer")

    def test_services(self):
        self.every_service(ONE | THREADS | FORK, sized(["auto"], ["auto", "timer"]))

    if SIZE == "all":  # in the quick set an ordinary user has them, as services do
        def test_sets(self):
            self.every_set(["auto", *ENGINES])


class OrdinaryUser(InFilter):
    """Who has rings and timers together."""

    def setUp(self):
        super().setUp()
        self.user = ordinary_user(self)
        self.directory.chmod(0o755)

    def test_calls(self):
        for engine in sized(["auto"], ["auto", *ENGINES]):
            self.every_call(engine)

    def test_services(self):
        self.every_service(sized(FORK, ONE | THREADS | FORK), sized(["auto"], ["auto", "timer"]))

    def test_sets(self):
        self.every_set(sized(["auto"], ["auto", *ENGINES]))
