"""Links and files that another user has put where results will go: no output follows them, replaces them or takes their rights."""

import contextlib
import os
import shutil
import stat
import unittest

from harness import COMMAND, ROOT, Case, formats, host, profiled, render, run, target

NOBODY = 65534
WORK = [host("ends"), "return", "150"]
SECRET = "root's own file\n"


def fingerprint(path):
    """Everything about a file that could have been changed, without following links."""
    status = path.lstat()
    content = os.readlink(path) if path.is_symlink() else path.read_bytes() if stat.S_ISREG(status.st_mode) else None
    return status.st_ino, status.st_mode, status.st_uid, content


class Plants(Case):
    def setUp(self):
        super().setUp()
        self.directory.chmod(0o755)
        self.secret = self.directory / "secret"
        self.secret.write_text(SECRET)
        self.secret.chmod(0o600)
        self.kinds = {"link": lambda path: path.symlink_to(self.secret),
                      "dangling": lambda path: path.symlink_to(self.directory / "made-through-a-link"),
                      "fifo": lambda path: os.mkfifo(path, 0o666),
                      "directory": lambda path: path.mkdir(),
                      "open file": self.open_file}
        if os.geteuid() == 0:
            self.kinds["their file"] = lambda path: path.write_text("planted")
            with contextlib.suppress(OSError):  # not in every container
                self.device(self.directory / "device")
                self.kinds["device"] = self.device

    @staticmethod
    def device(path):
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))

    @staticmethod
    def open_file(path):
        path.write_text("planted")
        path.chmod(0o666)

    def places(self, name):
        """A folder as /tmp is, and one that only its owner writes."""
        for mode, kind in ((0o1777, "sticky"), (0o755, "plain")):
            place = self.fresh_directory(f"{name}-{kind}".replace(" ", "-"))
            place.chmod(mode)
            yield place

    def plant(self, kind, path):
        self.kinds[kind](path)
        self.addCleanup(path.rmdir if kind == "directory" else path.unlink)  # the harness looks at results that stay
        if os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
        return fingerprint(path)

    def check(self, planted):
        for path, before in planted.items():
            self.assertEqual(fingerprint(path), before, f"{path} was touched")
        self.assertEqual((self.secret.read_text(), self.secret.stat().st_mode & 0o777), (SECRET, 0o600))
        self.assertFalse((self.directory / "made-through-a-link").exists())

    def check_rights(self, place, names):
        for name in names:
            status = (place / name).lstat()
            self.assertTrue(stat.S_ISREG(status.st_mode), name)
            self.assertEqual((status.st_uid, status.st_mode & 0o002), (os.geteuid(), 0), name)

    def test_results(self):
        for kind in self.kinds:
            for place in self.places(kind):
                with self.subTest(kind=kind, place=place.name):
                    planted = {place / f"x.{e}": self.plant(kind, place / f"x.{e}") for e in formats().values()}
                    ran = run(WORK, place, profiled(OUT=place / "x", FORMAT=",".join(formats()), FREQ=499, KERNEL="off"))
                    self.assertEqual((ran.returncode, ran.stdout), (6, "ending by return\n"), ran.stderr)
                    self.check(planted)
                    for path in planted:
                        self.assertRegex(ran.stderr, rf"(?m)^flameprobe: {path}: not written: it ")
                    self.assertEqual({p.name for p in place.iterdir()}, {p.name for p in planted} | {"x.fprobe"})
                    self.check_rights(place, ["x.fprobe"])

    def test_profile_and_messages(self):
        for kind in self.kinds:
            for place in self.places(kind):
                with self.subTest(kind=kind, place=place.name):
                    planted = {place / name: self.plant(kind, place / name) for name in ("x.fprobe", "log")}
                    ran = run(WORK, place, profiled(OUT=place / "x", LOG=place / "log", FREQ=499, KERNEL="off"))
                    self.assertEqual((ran.returncode, ran.stdout), (6, "ending by return\n"), ran.stderr)
                    self.check(planted)
                    self.assertIn(f"FLAMEPROBE_LOG={place / 'log'}: not written: ", ran.stderr)
                    self.assertIn(f"flameprobe: {place / 'x.fprobe'} ", ran.stderr)
                    made = {"x.2.fprobe", "x.2.svg", "x.2.folded", "x.2.txt"}
                    self.assertEqual({p.name for p in place.iterdir()}, {p.name for p in planted} | made)
                    self.check_rights(place, made)

    def test_render(self):
        folded = self.directory / "good.folded"
        folded.write_text("main;work 10\n")
        ran = run(WORK, self.directory, profiled(OUT=self.directory / "good", FREQ=499, KERNEL="off"))
        self.assertEqual(ran.returncode, 6, ran.stderr)
        for kind in self.kinds:
            for place in self.places(kind):
                commands = {f"r.{ending}": [folded] for ending in formats().values()}
                commands["diff.svg"] = ["--diff", folded, folded]
                commands["names.fprobe"] = ["--archive", self.directory / "good.fprobe"]
                for name, argv in commands.items():
                    with self.subTest(kind=kind, place=place.name, output=name):
                        planted = {place / name: self.plant(kind, place / name)}
                        ran = render(*argv, "-o", place / name)
                        self.assertEqual(ran.returncode, 1, ran.stderr)
                        self.assertEqual(len(ran.stderr.splitlines()), 1, ran.stderr)
                        self.assertIn(f"{place / name}: not written: it ", ran.stderr)
                        self.check(planted)
                self.assertEqual({p.name for p in place.iterdir()}, set(commands))

    def test_hard_link(self):
        """The new file gets the name; other names of the old file keep its content."""
        for name in ("x.svg", "x.folded", "x.fprobe"):
            os.link(self.secret, self.directory / name)
        os.utime(self.secret, (1, 1))
        ran = run(WORK, self.directory, profiled(OUT=self.directory / "x", FREQ=499, KERNEL="off"))
        self.assertEqual((ran.returncode, ran.stderr), (6, ""))
        self.check({})
        os.link(self.secret, self.directory / "log")
        ran = run(WORK, self.directory, profiled(OUT=self.directory / "y", LOG=self.directory / "log", FREQ=499, KERNEL="off"))
        self.assertEqual(ran.returncode, 6, ran.stderr)
        self.check({})

    def test_link_on_the_way(self):
        if os.geteuid() != 0:
            self.skipTest("only root can plant another user's link")
        (self.directory / "real").mkdir()
        (self.directory / "way").symlink_to("real")
        self.assertEqual(run(WORK, self.directory, profiled(OUT=self.directory / "way" / "x", FREQ=499, KERNEL="off")).stderr, "")
        self.assertTrue((self.directory / "real" / "x.svg").exists())
        os.chown(self.directory / "way", NOBODY, NOBODY, follow_symlinks=False)
        ran = run(WORK, self.directory, profiled(OUT=self.directory / "way" / "y", FREQ=499, KERNEL="off"))
        self.assertIn("way' in its path is a symbolic link of another user", ran.stderr)
        self.assertFalse((self.directory / "real" / "y.fprobe").exists())

    def test_umask(self):
        for mask in (0o077, 0o022, 0o000):
            with self.subTest(umask=oct(mask)):
                place = self.fresh_directory(f"umask-{mask}")
                ran = run(WORK, place, profiled(OUT=place / "x", LOG=place / "log", FREQ=499, KERNEL="off"), umask=mask)
                self.assertEqual(ran.returncode, 6, ran.stderr)
                for name in ("x.svg", "x.folded", "x.fprobe", "log"):
                    mode = (place / name).stat().st_mode & 0o777
                    self.assertEqual(mode & (mask | 0o002), 0, f"{name}: {oct(mode)}")
                    self.assertEqual(mode & 0o600, 0o600, name)

    def test_text_beside_a_picture(self):
        """It replaces an older one only: to find out, no pipe is waited for and no link is followed."""
        self.assertEqual(run(WORK, self.directory, profiled(OUT=self.directory / "good", FREQ=499, KERNEL="off")).returncode, 6)
        for kind in self.kinds:
            for place in self.places(f"beside-{kind}"):
                with self.subTest(kind=kind, place=place.name):
                    planted = {place / "x.txt": self.plant(kind, place / "x.txt")}
                    ran = render(self.directory / "good.fprobe", "-o", place / "x.svg", timeout=30)
                    self.assertEqual((ran.returncode, ran.timed_out), (0, False), ran.stderr)
                    self.assertIn(f"{place / 'x.txt'}: not written: it ", ran.stderr)
                    self.check(planted)

    def test_places_that_are_meant(self):
        folded = self.directory / "good.folded"
        folded.write_text("main;work 10\n")
        for output in ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
            with self.subTest(output=output):
                self.assertEqual(render(folded, "-o", output, "--format", "folded").stdout, "main;work 10\n")
        self.assertEqual(render(folded, "-o", "/dev/null", "--format", "folded").returncode, 0)
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))


class Bench(Case):
    """It deletes the directories of runs that failed and writes new ones: only below a directory that is its user's alone."""

    def setUp(self):
        super().setUp()
        self.directory.chmod(0o755)
        self.victim = self.fresh_directory("victim")
        for name in ("kept", "program.log"):
            (self.victim / name).write_text(SECRET)
        self.place = self.fresh_directory("place")

    def bench(self):
        return run([COMMAND, "bench", "-o", self.place, "--repeat", "1", "--name", "a", "--", target("shares"), "threads", "300"],
                   self.directory)

    def check(self, done, why, status=2):
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(why, done.stderr)
        self.assertEqual({p.name: p.read_text() for p in self.victim.iterdir()}, {"kept": SECRET, "program.log": SECRET})

    def test_another_users_directory(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make another user's directory")
        for link in ("runs/a/all/1", "runs/a/all", "runs/a", "runs", "pictures"):
            with self.subTest(link=link):
                self.place = self.fresh_directory(link.replace("/", "-"))
                (self.place / link).parent.mkdir(parents=True, exist_ok=True)
                (self.place / link).symlink_to(self.victim)
                for path in (self.place, *self.place.rglob("*")):
                    os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
                self.check(self.bench(), "belongs to another user, who could have put links there; name another directory with -o")
                self.assertTrue((self.place / link).is_symlink())

    def test_a_directory_that_others_may_write(self):
        for mode in (0o777, 0o1777, 0o757):
            with self.subTest(mode=oct(mode)):
                self.place.chmod(mode)
                self.check(self.bench(), "may be written by other users")
                self.assertEqual(list(self.place.iterdir()), [])

    def test_a_link_in_a_directory_of_its_own(self):
        """In place of a run's directory it is deleted as a link; one above it ends the run."""
        for link, why, status in (("all", "in it: Not a directory", 1), ("all/1", "report.html", 0)):
            with self.subTest(link=link):
                self.assertEqual(self.bench().returncode, 0)
                place = self.place / "runs" / "a" / link
                shutil.rmtree(place)
                place.symlink_to(self.victim)
                self.check(self.bench(), why, status)
                shutil.rmtree(self.place)

    def test_below_another_users_directory(self):
        """As a container's root has it: the job's directory is another user's, the results are its own."""
        if os.geteuid() != 0:
            self.skipTest("only root can make another user's directory")
        os.chown(self.place, NOBODY, NOBODY)
        self.place = self.place / "results"
        self.assertEqual(self.bench().returncode, 0)


class Tarball(Case):
    def test_it_is_made_in_a_directory_of_its_own_only(self):
        """Its scripts delete and run what lies there, as root."""
        script = ROOT / "tools" / "tarball" / "own-directory"
        places = {0o755: 0, 0o777: 1, 0o1777: 1}
        for mode, status in places.items():
            place = self.fresh_directory(oct(mode))
            place.chmod(mode)
            self.assertEqual(run([script, place], self.directory).returncode, status, oct(mode))
        below = self.directory / oct(0o777) / "below"
        below.mkdir()
        self.assertEqual(run([script, below], self.directory).returncode, 1)
        if os.geteuid() == 0:
            theirs = self.fresh_directory("theirs")
            os.chown(theirs, NOBODY, NOBODY)
            for command in ([script, theirs], [ROOT / "tools" / "tarball" / "old-root", theirs / "root", "x86_64-linux-gnu"]):
                done = run(command, self.directory)
                self.assertEqual(done.returncode, 1)
                self.assertIn("is another user's", done.stderr)
            self.assertEqual(list(theirs.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
