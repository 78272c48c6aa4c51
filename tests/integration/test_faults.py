"""Fault injection: the n-th call of every system call that FlameProbe makes fails with each plausible errno, and the host
ends right in every case. tests/targets/inject makes them fail, in every thread; it begins to count where
libflameprobe.so opens its core, so that what fails is ours and not the dynamic linker's work for the host.

The quick set fails the first call of each kind with two errors, and the last; the full one every call with each."""

import unittest

from harness import SIZE, Case, host, profiled, read_folded, render, run, target

# Calls that the host (host-ends, which computes and prints one line) does not make itself once it runs; writes are
# told apart by the file they go to.
PLAUSIBLE = {
    "perf_event_open": ("EPERM", "EACCES", "EMFILE", "ENOSYS", "EINVAL", "EBUSY", "ENODEV"),
    "mmap": ("ENOMEM", "EPERM", "EAGAIN"),
    "mprotect": ("ENOMEM",),
    "openat": ("EMFILE", "ENOENT", "EACCES"),
    "write": ("ENOSPC", "EIO", "EINTR", "EFBIG"),
    "rename,renameat": ("EACCES", "ENOSPC"),
    "ftruncate": ("EIO",),
    "newfstatat": ("EACCES",),
    "ioctl": ("EINVAL", "ENOMEM"),
    "prctl": ("EINVAL", "EPERM"),
    "unshare": ("EPERM", "ENOMEM"),
    "close_range": ("EPERM", "ENOSYS"),
    "pipe2": ("EMFILE",),
    "lseek": ("EINVAL",),
    "rt_sigaction": ("EINVAL",),
    "timer_create": ("EAGAIN", "ENOMEM", "EINVAL"),
    "timer_settime": ("EINVAL",),
    "clone,clone3": ("EAGAIN", "ENOMEM", "EPERM", "ENOSYS"),
    "vfork": ("EAGAIN",),
    "getdents64": ("EIO",),
    "readlink": ("ENOENT",),
    "read": ("EIO", "EINTR"),
    "process_vm_readv": ("EPERM",),
}


class Faults(Case):
    number = 0

    def inject(self, calls, nth, error, engine, *options, log="quiet"):
        Faults.number += 1
        directory = self.fresh_directory(f"run-{Faults.number}")
        paths = ("--path", "/flameprobe.") if calls == "write" else ()
        ran = run([target("inject"), calls, nth, error, "--after", "libflameprobe-core.so", *paths, *options,
                   "--report", directory / "report", "--", host("ends"), "return", "60"], directory,
                  profiled(ENGINE=engine, FREQ=997, LOG=log), timeout=60)
        self.assertFalse(ran.timed_out, "the host hangs")
        if ran.returncode == 125:
            self.skipTest(f"no tracing here: {ran.stderr.strip()}")
        self.assertEqual((ran.returncode, ran.stdout), (6, "ending by return\n"), ran.stderr)
        self.said = ran.stderr
        for path in directory.glob("*.folded"):
            read_folded(path.read_text())
        for path in directory.glob("*.svg"):
            self.assertTrue(path.read_text().rstrip().endswith("</svg>"))
        for path in [*directory.glob("*.fprobe"), *directory.glob("*.run/*.fprobe")]:
            self.assertIn(render(path, "--info").returncode, (0, 1))
        counted, failed = map(int, (directory / "report").read_text().split())
        return counted, failed

    def faults(self, counted, errors):
        """[(nth, error)] after the first run, for a call that is made `counted` times: 3 is the third call alone, 3+ that and
        all later ones."""
        if SIZE == "quick":
            return [*(("1+", error) for error in errors[:2]), *([(str(counted), errors[0])] if counted > 1 else [])]
        return [(nth, error) for n in range(1, counted + 1) for error in (errors if n == 1 or counted < 5 else errors[:1])
                for nth in (str(n), f"{n}+")]

    def check(self, engine, of=PLAUSIBLE):
        injected = 0
        for calls, errors in PLAUSIBLE.items():
            if calls not in of:
                continue
            counted, first = 0, "1" if SIZE == "quick" else "0"  # 0: none fails
            with self.subTest(engine=engine, calls=calls, nth=first, error=errors[0]):
                counted, failed = self.inject(calls, first, errors[0], engine)
                injected += failed > 0
            for nth, error in self.faults(counted, errors) if counted > 0 else ():
                with self.subTest(engine=engine, calls=calls, nth=nth, error=error):
                    injected += self.inject(calls, nth, error, engine)[1] > 0
        self.assertGreater(injected, 0, "nothing was injected: the test tests nothing")

    def test_no_memory_in_later_threads(self):
        """libc's allocator maps an arena for each thread, and glibc ends the process where a library's thread-local storage
        finds no memory. The third mapping is not needed: what it would have told is in the process's clock too."""
        for nth in ("1+", "2+"):
            with self.subTest(nth=nth):
                self.assertGreater(self.inject("mmap", nth, "ENOMEM", "auto", "--threads", "later", log="stderr")[1], 0)
                self.assertIn("no memory", self.said)

    def test_auto(self):
        self.check("auto")

    def test_timer(self):
        self.check("timer", ("timer_create", "timer_settime", "mmap", "clone,clone3", "rt_sigaction"))


if __name__ == "__main__":
    unittest.main()
