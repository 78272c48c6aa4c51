"""flameprobe as one file (tools/one): alone in an empty directory it does everything, and leaves nothing behind. That it runs
with a glibc alone is shown by test_packages, with the file that is made for other machines."""

import os
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path

from container import container
from harness import BUILD, Case, clean_environment, host, ordinary_user, read_folded, run, shares, started, target, wait_until

ONE = BUILD / "tools" / "one" / "flameprobe-one"
LEAVES = "2000"


class OneFile(Case):
    def setUp(self):
        super().setUp()
        if not ONE.exists():
            self.skipTest(f"{ONE} is not built")
        self.place = self.fresh_directory("empty")
        self.scratch = self.fresh_directory("scratch")
        os.chmod(self.place, 0o777)
        os.chmod(self.scratch, 0o1777)
        os.chmod(self.directory, 0o755)
        self.command = self.place / "flameprobe"
        shutil.copy(ONE, self.command)
        self.env = clean_environment(TMPDIR=self.scratch)
        self.env.pop("XDG_RUNTIME_DIR", None)

    def flameprobe(self, *argv, user=(), code=0, env=None):
        ran = run([*user, self.command, *argv], self.directory, env or self.env, cwd=self.place)
        self.assertEqual(ran.returncode, code, ran.stderr)
        return ran

    def leaves_a_daemon(self, *argv, user=()):
        """harness.run would wait for the daemon."""
        ran = subprocess.run([*user, self.command, *argv], env=self.env, cwd=self.place, timeout=60, check=False,
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.assertEqual(ran.returncode, 0)

    def unpacked(self):
        return list(self.scratch.glob("flameprobe-*"))

    def assert_nothing_left(self):
        wait_until(lambda: not self.unpacked(), 60, f"the end of what was unpacked in {self.scratch}")

    def assert_profiled(self, stem):
        self.assert_function(read_folded((self.place / f"{stem}.folded").read_text()), "leaf_70", at_least=5)
        self.assertIn("<svg", (self.place / f"{stem}.svg").read_text()[:2000])


class Commands(OneFile):
    def test_it_names_its_version_and_the_profiles_format(self):
        self.assertRegex(self.flameprobe("--version").stdout, r"^flameprobe [0-9.]+, profiles of format \d+\n$")

    def test_run_draws_and_leaves_nothing(self):
        for user in ((), ordinary_user(self)):
            with self.subTest(user=user):
                stem = f"run-{len(user)}"
                self.flameprobe("run", "-F", "499", "-o", stem, "--", target("shares"), "leaves", LEAVES, user=user)
                self.assert_profiled(stem)
                self.assertTrue((self.place / f"{stem}.html").exists())
                self.assert_nothing_left()

    def test_run_samples_allocations(self):
        for user in ((), ordinary_user(self)):
            with self.subTest(user=user):
                stem = f"alloc-{len(user)}"
                ran = self.flameprobe("run", "-e", "alloc", "-o", stem, "--", host("allocations"), "map", user=user)
                self.assert_function(read_folded((self.place / f"{stem}.folded").read_text()), "map_site", at_least=50)
                self.assertNotIn("ld.so", ran.stderr)
                self.assert_nothing_left()

    def test_attach_top_and_stat(self):
        program = self.enterContext(started([target("shares"), "leaves", "100000000"], self.directory, self.env))
        self.flameprobe("attach", "-F", "499", "-d", "1s", "-o", "attached", program.pid)
        self.assert_profiled("attached")
        self.assertIn("leaf_70", self.flameprobe("top", "--once", program.pid).stdout)
        self.assertIn("task-clock", self.flameprobe("stat", "-d", "1s", "-p", program.pid).stderr)
        self.assertEqual(self.unpacked(), [])  # none of these needs a file

    def test_render(self):
        self.flameprobe("run", "-F", "499", "-o", "r", "-f", "none", "--", target("shares"), "leaves", LEAVES)
        self.flameprobe("render", "r.fprobe", "-o", "again.svg")
        self.assertIn("leaf_70", (self.place / "again.svg").read_text())
        self.assertIn("leaf_70", self.flameprobe("render", "r.fprobe", "--top", "30").stdout)
        self.assertIn("flameprobe-render", self.flameprobe("render", "--help").stdout)

    def test_doctor_and_stat_of_a_command(self):
        self.assertIn("libflameprobe.so", self.flameprobe("doctor").stdout)
        self.flameprobe("stat", "-e", "offcpu", "--", "sleep", "0.1")
        self.assert_nothing_left()


class Container(OneFile):
    """docs/containers.md: the file is copied into a container, and used there and from the host. What docker and kubectl cp and
    exec do is done by /proc/PID/root and nsenter."""

    def setUp(self):
        super().setUp()
        self.need("nsenter")
        self.pid = container(self, target("shares"), "leaves", "100000000", files=[ONE])
        self.inside = Path(f"/proc/{self.pid}/root/tmp")

    def exec(self, *argv):
        ran = run(["nsenter", "-t", self.pid, "-m", "-p", "--", "/bin/flameprobe-one", *argv], self.directory,
                  {"TMPDIR": "/tmp", "PATH": "/bin"})
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran

    def assert_inside(self, stem):
        self.assert_function(read_folded((self.inside / f"{stem}.folded").read_text()), "leaf_70", at_least=5)

    def test_attach_and_top_inside(self):
        self.exec("attach", "-F", "499", "-d", "1s", "-o", "/tmp/attached", "1")
        self.assert_inside("attached")
        self.assertIn("leaf_70", self.exec("top", "--once", "1").stdout)
        self.assertIn("task-clock", self.exec("stat", "-d", "1s", "-p", "1").stderr)
        self.assertEqual([path.name for path in self.inside.glob("flameprobe-*")], [])

    def test_run_inside(self):
        self.exec("run", "-F", "499", "-o", "/tmp/run", "--", "/app/program", "leaves", LEAVES)
        self.assert_inside("run")
        self.exec("render", "/tmp/run.fprobe", "-o", "/tmp/again.svg")
        self.assertIn("leaf_70", (self.inside / "again.svg").read_text())
        self.assertRegex(self.exec("doctor").stdout, "paranoid level")
        wait_until(lambda: not list(self.inside.glob("flameprobe-*")), 60, "the end of what was unpacked")

    def test_from_the_host(self):
        self.flameprobe("attach", "-F", "499", "-d", "1s", "-o", "attached", self.pid)
        self.assert_profiled("attached")

    def test_a_program_of_musl_from_the_host(self):
        """Whose container has no libc that the file could use."""
        self.need("musl-gcc")
        source, program = self.directory / "spin.c", self.directory / "spin"
        source.write_text("__attribute__((noinline)) void spin_here(void) { for (volatile int i = 0; i < 1000; i++) ; }\n"
                          "int main(void) { for (;;) spin_here(); }\n")
        made = run(["musl-gcc", "-static", "-g", "-O1", "-o", program, source], self.directory)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.flameprobe("attach", "-F", "499", "-d", "1s", "-o", "musl", container(self, program, root="musl"))
        stacks = read_folded((self.place / "musl.folded").read_text())
        self.assert_function(stacks, "spin_here", at_least=5)
        hits, every = shares(stacks, "main")
        self.assertGreater(hits / every, 0.9)


class WhoRemoves(OneFile):
    """The library is there as long as a program of the run may execute another one: without it the loader would complain on
    that program's stderr."""

    def test_a_daemon_that_outlives_the_command(self):
        go = self.place / "go"
        script = f"(while [ ! -e {go} ]; do sleep 0.1; done; {target('shares')} leaves {LEAVES}) > said 2>&1 & exit 0"
        self.leaves_a_daemon("run", "-F", "499", "-o", "daemon", "--", "sh", "-c", script)
        time.sleep(1)
        self.assertEqual(len(self.unpacked()), 1)
        go.touch()
        self.assert_nothing_left()
        self.assertNotIn("ld.so", (self.place / "said").read_text())
        self.assert_profiled("daemon")

    def test_one_whose_user_may_not_look_at_it(self):
        """As sshd's or a browser's; seen by its beginning, since its memory is hidden."""
        user = ordinary_user(self)
        self.need("perl")
        go = self.place / "go"
        prctl = 157 if os.uname().machine == "x86_64" else 167
        hide = f"syscall({prctl}, 4, 0, 0, 0, 0); exit 0 if fork; my \\$go = shift; select(undef, undef, undef, 0.1) until -e \\$go; exec 'sh', '-c', ':'"
        script = f'perl -e "{hide}" {go} > said 2>&1'
        self.leaves_a_daemon("run", "-o", "hidden", "--", "sh", "-c", script, user=user)
        time.sleep(1)
        self.assertEqual(len(self.unpacked()), 1)
        go.touch()
        self.assert_nothing_left()
        self.assertNotIn("ld.so", (self.place / "said").read_text())

    def test_the_command_is_killed(self):
        go = self.place / "go"
        with started([self.command, "run", "-o", "killed", "--", "sh", "-c", f"while [ ! -e {go} ]; do sleep 0.1; done"],
                     self.place, self.env) as command:
            wait_until(lambda: list(self.place.glob("killed.run/*")), 60, "the run")
            command.send_signal(signal.SIGKILL)
            command.wait(60)
            time.sleep(1)
            self.assertEqual(len(self.unpacked()), 1)
            go.touch()
            self.assert_nothing_left()

    def test_a_program_that_becomes_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        user = ordinary_user(self)
        ran = self.flameprobe("run", "-F", "499", "-o", "drops", "--", *user, target("shares"), "leaves", LEAVES)
        self.assertNotIn("ld.so", ran.stderr)
        self.assert_profiled("drops")


class Places(OneFile):
    def test_nothing_is_unpacked_where_others_could_change_it(self):
        os.chmod(self.scratch, 0o777)
        self.flameprobe("run", "-o", "a", "--", "true")
        self.assertEqual(self.unpacked(), [])

    def test_no_place(self):
        if os.geteuid() != 0:
            self.skipTest("needs root, to mount")
        script = ("for d in /tmp /var/tmp /dev/shm /run; do mount -t tmpfs -o noexec none $d || exit 32; done; cd /run; "
                  "exec /proc/self/fd/9 run -o /run/out -- true")
        with open(self.command, "rb") as file:
            os.dup2(file.fileno(), 9)
        try:
            ran = run(["unshare", "-m", "sh", "-c", script], self.directory, clean_environment(), pass_fds=(9,))
        finally:
            os.close(9)
        if ran.returncode == 32:
            self.skipTest("nothing can be mounted here")
        self.assertEqual(ran.returncode, 2, ran.stderr)
        self.assertRegex(ran.stderr, r"no place for the library .*/tmp \(is mounted noexec\).*; TMPDIR names another")


if __name__ == "__main__":
    unittest.main()
