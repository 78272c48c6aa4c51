"""The run's folder in a directory that others may write: nobody takes it, leads it elsewhere, or holds what uses it."""

import contextlib
import fcntl
import itertools
import os
import re
import shutil
import signal
import struct
import subprocess
import time

from harness import BUILD, COMMAND, Case, host, profiled, run, sized, started, wait_until
from test_plants import NOBODY, SECRET, fingerprint

WORK = [host("ends"), "return", "150"]


def as_nobody(work):
    """A process of another user that does `work` again and again, until it is told to end."""
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            for turn in itertools.count():
                work(turn)
        finally:
            os._exit(0)
    return pid


def end(pid):
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def hold(place):
    """Work for as_nobody(): opens and locks each file of a run that he can."""
    held = {}

    def work(_):
        for path in [*place.glob("*.run*/*"), *place.glob("x.*")]:
            with contextlib.suppress(OSError):
                file = held[path] if path in held else os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                held[path] = file
                with contextlib.suppress(OSError):
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                with contextlib.suppress(OSError):
                    fcntl.fcntl(file, 37, struct.pack("hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0))  # F_OFD_SETLK
    return work


class Folder(Case):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        self.directory.chmod(0o755)
        self.place = self.sticky("place")

    def sticky(self, name):
        place = self.fresh_directory(name)
        place.chmod(0o1777)
        return place

    def others(self, kind, path):
        """What another user has put there."""
        if kind == "folder":
            path.mkdir()
            path.chmod(0o777)
            for name in ("owner", "lock", "z.fprobe"):
                os.mkfifo(path / name, 0o666)
                os.chmod(path / name, 0o666)
        elif kind == "link":
            path.symlink_to(self.directory)
        else:
            os.mkfifo(path, 0o666)
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
        return fingerprint(path)

    def commands(self, place):
        """How a run begins: {name: (what is run, its environment)}."""
        quiet = {"FLAMEPROBE_KERNEL": "off", "FLAMEPROBE_FREQ": "499"}
        return {"preload": (WORK, profiled(OUT=place / "x", FREQ=499, KERNEL="off")),
                "run": ([COMMAND, "run", "-o", place / "x", "-f", "svg", "--", *WORK], quiet)}


class Taken(Folder):
    def check(self, ran, status, planted, taken, kind):
        """The results are beside what is taken, and the sentence says whose that is."""
        self.assertEqual((ran.returncode, ran.timed_out), (status, False), ran.stderr)
        self.assertEqual(fingerprint(taken), planted)
        whose = {"folder": "is a directory of user 65534", "link": "is a symbolic link of user 65534", "FIFO": "is no regular file but one of user 65534"}
        self.assertRegex(ran.stderr, rf"{re.escape(str(taken))} {whose[kind]}.*: the results are {taken.parent}/x\.2\.\*")
        names = {path.name for path in taken.parent.iterdir()}
        self.assertIn("x.2.svg", names, ran.stderr)
        self.assertLessEqual(names, {taken.name, "x.2.svg", "x.2.fprobe", "x.2.folded", "x.2.txt"}, ran.stderr)
        self.assertEqual((taken.parent / "x.2.fprobe").stat().st_uid, 0)

    def test_made_beforehand(self):
        for turn in range(sized(1, 30)):
            for kind in ("folder", "link", "FIFO"):
                for how in ("preload", "run"):
                    with self.subTest(turn=turn, kind=kind, how=how):
                        place = self.sticky(f"{turn}-{kind}-{how}")
                        taken = place / "x.run"
                        planted = self.others(kind, taken)
                        command, env = self.commands(place)[how]
                        self.check(run(command, place, env, timeout=60), 6, planted, taken, kind)

    def test_made_beforehand_where_it_is_attached(self):
        for turn in range(sized(1, 30)):
            for kind in ("folder", "link", "FIFO"):
                with self.subTest(turn=turn, kind=kind):
                    place = self.sticky(f"{turn}-{kind}-attach")
                    taken = place / "x.run"
                    planted = self.others(kind, taken)
                    busy = subprocess.Popen(["/usr/bin/python3", "-c", "while True: pass"])
                    try:
                        attached = run([COMMAND, "attach", "-d", "300ms", "-o", place / "x", "-f", "svg", busy.pid], place, timeout=60)
                        self.check(attached, 0, planted, taken, kind)
                    finally:
                        end(busy.pid)

    def test_names_on_the_way_cannot_be_foreseen(self):
        """Who takes each name with a process's number takes nothing."""
        with open("/proc/sys/kernel/ns_last_pid", encoding="ascii") as last:
            begin = int(last.read())
        for pid in range(begin, begin + 300):
            self.others("folder", self.place / f"x.run.new.{pid}")
            self.others("folder", self.place / f"x.run.gone.{pid}")
        before = set(self.place.iterdir())
        ran = run(WORK, self.place, profiled(OUT=self.place / "x", FREQ=499, KERNEL="off"), timeout=60)
        self.assertEqual((ran.returncode, ran.stderr), (6, ""))
        self.assertEqual(set(self.place.iterdir()) ^ before, {self.place / f"x.{ending}" for ending in ("fprobe", "svg", "folded", "txt")})

    def test_all_names_are_taken(self):
        for number in range(1, 200):
            self.others("folder", self.place / ("x.run" if number == 1 else f"x.{number}.run"))
        before = set(self.place.iterdir())
        tree = "import os, time\ndef work():\n    end = time.process_time() + 0.2\n    while time.process_time() < end: pass\n" \
               "work()\nchild = os.fork()\nwork()\nif child: os.wait()"
        ran = run(["/usr/bin/python3", "-c", tree], self.place,
                  profiled(OUT=self.place / "x", FREQ=499, KERNEL="off"), timeout=60)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        made = sorted(path.name for path in set(self.place.iterdir()) - before if path.suffix != ".run")
        self.assertEqual(len(made), 4, (made, ran.stderr))
        self.assertRegex(made[0], r"x\.[0-9a-f]{12}\.f")
        self.assertIn("x.run is a directory of user 65534", ran.stderr)


class Removed(Folder):
    """Root removes the folder, and another user swaps what he can meanwhile."""

    def test_a_link_in_its_place(self):
        self.removed(self.swap)

    def swap(self, place, victim):
        """In a directory that everybody may write and that is not sticky, the folder itself can be moved away."""
        def work(_):
            for path in place.glob("x.run*"):
                away = place / f"taken.{time.monotonic_ns()}"
                try:
                    path.rename(away)
                    path.symlink_to(victim)
                except OSError:
                    pass
        return work

    def removed(self, swap):
        names = ("owner", "drawn", "lock", *(f"z{number}.fprobe" for number in range(3)), "other")
        for turn in range(sized(12, 1000)):
            with self.subTest(turn=turn):
                place, victim = self.fresh_directory(f"open-{turn}"), self.fresh_directory(f"victim-{turn}")
                place.chmod(0o777)
                for name in names:
                    (victim / name).write_text(SECRET)
                enemy = as_nobody(swap(place, victim))
                try:
                    ran = run(WORK, place, profiled(OUT=place / "x", FREQ=499, KERNEL="off"), timeout=60)
                finally:
                    end(enemy)
                self.assertEqual((ran.returncode, ran.timed_out), (6, False), ran.stderr)
                self.assertEqual({path.name: path.read_text() for path in victim.iterdir()}, dict.fromkeys(names, SECRET), ran.stderr)
                shutil.rmtree(place)
                shutil.rmtree(victim)


class Changed(Case):
    """What lies in the folder is changed while the host runs: it ends as alone, in time, and a sentence says what is lost."""

    TREE = "import os, time\ndef work(s):\n    end = time.process_time() + s\n    while time.process_time() < end: pass\n" \
           "if os.fork() == 0:\n    work(0.3)\n    os._exit(0)\nwork(0.3)\nos.wait()\nprint('whole', flush=True)\nwork(0.3)\nraise SystemExit(7)"

    def changed(self, change):
        place = self.fresh_directory(change.__name__)
        with started(["/usr/bin/python3", "-c", self.TREE], place, profiled(OUT=place / "x", FREQ=499, KERNEL="off"),
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.readline()
            wait_until(lambda: len(list(place.glob("x.run/*.fprobe"))) == 2)
            change(place / "x.run")
            errors = process.communicate(timeout=60)[1]
            self.assertEqual(process.returncode, 7, errors)
        return place, errors

    def test_its_mark_is_removed(self):
        def unmarked(folder):
            (folder / "owner").unlink()

        def another(folder):
            folder.rename(folder.with_name("away"))
            folder.mkdir()
        for change in (unmarked, another):
            with self.subTest(change=change.__name__):
                place, errors = self.changed(change)
                self.assertNotIn("does not go on", errors)
                self.assertEqual(len([path for path in place.glob("*/*.fprobe")] + list(place.glob("*.svg"))), 2 if change is another else 1, errors)

    def test_profiles_are_removed(self):
        def removed(folder):
            for path in folder.glob("*.fprobe"):
                path.unlink()
        self.assertIn("was removed while it was written: what it had is lost", self.changed(removed)[1])

    def test_what_is_no_profile_stays(self):
        def foreign(folder):
            (folder / "z.1.fprobe").write_text("no profile")
        place, errors = self.changed(foreign)
        self.assertRegex(errors, r"z\.1\.fprobe: .*not a \.fprobe")
        self.assertEqual((place / "x.run/z.1.fprobe").read_text(), "no profile")
        self.assertTrue((place / "x.svg").exists(), errors)


class Held(Folder):
    """Another user locks each file that he can open, for as long as the run lasts."""

    def test_the_end_is_held_by_nobody(self):
        tree = "import os, time\ndef work():\n    end = time.process_time() + 1.5\n    while time.process_time() < end: pass\n" \
               "child = os.fork()\nwork()\nif child: os.wait()"
        for turn in range(sized(1, 100)):
            with self.subTest(turn=turn):
                place = self.sticky(f"held-{turn}")
                enemy = as_nobody(hold(place))
                try:
                    ran = run(["/usr/bin/python3", "-c", tree], place, profiled(OUT=place / "x", FREQ=499, KERNEL="off"), timeout=60)
                    again = run(["/usr/bin/python3", "-c", tree], place, profiled(OUT=place / "x", FREQ=499, KERNEL="off"), timeout=60)
                finally:
                    end(enemy)
                for one in (ran, again):
                    self.assertEqual((one.returncode, one.timed_out, one.stderr), (0, False, ""))
                self.assertEqual({path.name for path in place.iterdir()}, {"x.fprobe", "x.svg", "x.folded", "x.txt"})

    def test_a_drawing_program_that_does_not_go_on_is_given_up(self):
        """It is stopped, so that it has no progress; a thread of its own that says it lives would not be."""
        place = self.fresh_directory("lib")
        for name in ("libflameprobe.so", "libflameprobe-core.so"):
            shutil.copy(BUILD / "preload" / name, place / name)
        (place / "flameprobe-draw").write_text("#!/bin/sh\nwhile :; do echo; /bin/sleep 1; kill -STOP $$; done\n")
        (place / "flameprobe-draw").chmod(0o755)
        ran = run(WORK, self.place, profiled(OUT=self.place / "x", FREQ=499, KERNEL="off") | {"LD_PRELOAD": str(place / "libflameprobe.so")}, timeout=60)
        self.assertEqual((ran.returncode, ran.timed_out), (6, False), ran.stderr)
        self.assertIn("does not go on", ran.stderr)
        wait_until(lambda: not subprocess.run(["pgrep", "-f", str(place / "flameprobe-draw")], capture_output=True, check=False).stdout, 10)
