"""The spool among several users: what is planted in it is neither written through nor read, and what is another's stays."""

import os
import stat
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from harness import COMMAND, LIBRARY, clean_environment, profiled, run, started, target, wait_until
from push_case import PushCase, pprof_in

OWNER, MEMBER, GROUP = 65501, 65502, 65503
SECRET = "another's own file\n"


class Planted(PushCase):
    """A spool as /tmp is: others may make files in it."""

    def setUp(self):
        super().setUp()
        self.spool.mkdir()
        self.spool.chmod(0o1777)
        self.secret = self.directory / "secret.fprobe"
        self.secret.write_text(SECRET)

    def assert_untouched(self):
        self.assertEqual(self.secret.read_text(), SECRET)

    def test_a_program_does_not_write_through_planted_links(self):
        """The shell plants links under the names that its own pid will give the window, then becomes the program."""
        script = ('for second in $(seq 0 300); do for number in 1 2; do '
                  f'ln -s "{self.secret}" "$SPOOL/.shares.$$.$(($(date +%s) + second)).$number.fprobe"; '
                  'done; done; LD_PRELOAD="$P" exec "$0" threads 300')
        env = profiled(PUSH=self.spool, FREQ=499, DUMP_EVERY="24h", LOG="stderr")
        env["P"], env["SPOOL"] = env.pop("LD_PRELOAD"), str(self.spool)
        # One `date` for all names: seconds may pass while the links are made.
        script = script.replace("$(date +%s)", "now").replace("for second", "now=$(date +%s); for second", 1)
        ran = run(["sh", "-c", script, target("shares")], self.directory, env)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assert_untouched()
        links = [path for path in self.spool.iterdir() if path.is_symlink()]
        self.assertEqual(len(links), 602)
        whole = [path for path in self.spool.iterdir() if not path.is_symlink()]
        self.assertEqual([stat.S_ISREG(path.lstat().st_mode) for path in whole], [True], ran.stderr)
        self.assertIn("is a symbolic link", ran.stderr)  # the names were guessed rightly

    def test_the_uploader_opens_no_links_fifos_or_directories(self):
        (self.spool / "link.fprobe").symlink_to(self.secret)
        os.mkfifo(self.spool / "fifo.fprobe")
        (self.spool / "directory.fprobe").mkdir()
        (self.spool / ".push.json").symlink_to(self.secret)
        (self.spool / "reject").symlink_to(self.directory)
        (self.spool / "bad.fprobe").write_text("no profile")
        self.record()
        engine = self.engine()
        done = self.push("--once", url=engine.url)
        self.assertEqual((done.returncode, len(engine.taken)), (0, 1), done.stderr)
        self.assert_untouched()
        self.assertFalse((self.directory / "bad.fprobe").exists(), "moved through the planted link")
        self.assertFalse((self.spool / ".push.json").is_symlink())
        self.assertEqual(self.status()["sent"], "1")

    def test_another_users_directory_for_rejected_windows_is_not_used(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make another user's directory")
        reject = self.spool / "reject"
        reject.mkdir()
        (reject / "old.fprobe").write_text(SECRET)
        os.chown(reject, MEMBER, GROUP)
        (self.spool / ".push.json").write_text('{"sent": 4711}')
        os.chown(self.spool / ".push.json", MEMBER, GROUP)
        (self.spool / "bad.fprobe").write_text("no profile")
        done = self.push("--once", "--max-bytes", "1", url=self.engine().url)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([path.name for path in reject.iterdir()], ["old.fprobe"])
        self.assertFalse((self.spool / "bad.fprobe").exists())
        self.assertEqual(self.status()["sent"], "0")

    def test_a_spool_that_is_a_link_is_refused_by_both(self):
        link = self.directory / "link"
        link.symlink_to(self.spool)
        ran = run([target("shares"), "threads", "300"], self.directory, profiled(PUSH=link, FREQ=499, LOG="stderr"))
        self.assertEqual(ran.returncode, 0)
        self.assertIn("is no directory", ran.stderr)
        done = run([COMMAND, "push", "--spool", link, "--status"], self.directory, clean_environment())
        self.assertEqual(done.returncode, 1)
        self.assertIn("the spool cannot be opened", done.stderr)
        self.assertEqual(list(self.spool.iterdir()), [])


class Group(PushCase):
    """Mode 3770: members of a group write, the owner uploads."""

    def setUp(self):
        super().setUp()
        self.need("setpriv")
        if os.geteuid() != 0:
            self.skipTest("only root can run programs as several users")
        self.directory.chmod(0o711)
        self.spool.mkdir()
        os.chown(self.spool, OWNER, GROUP)
        self.spool.chmod(0o3770)
        readable = subprocess.run([*self.user(MEMBER), "cat", LIBRARY], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if readable.returncode:
            self.skipTest(f"an ordinary user cannot read {LIBRARY}")

    @staticmethod
    def user(uid, group=GROUP):
        return ["setpriv", f"--reuid={uid}", f"--regid={group}", "--clear-groups"]

    def recorded_by(self, uid, group=GROUP):
        ran = run([*self.user(uid, group), "sh", "-c", 'umask 022; LD_PRELOAD="$P" exec "$0" threads 300', target("shares")],
                  self.directory, clean_environment(P=LIBRARY, FLAMEPROBE_PUSH=self.spool, FLAMEPROBE_FREQ=499,
                                                    FLAMEPROBE_DUMP_EVERY="24h", FLAMEPROBE_LOG="stderr"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran

    def pushed_by(self, uid, *options, url):
        return run([*self.user(uid), COMMAND, "push", "--spool", self.spool, "--to", url, *options], self.directory,
                   clean_environment())

    def test_the_owner_takes_what_members_wrote_if_asked_to(self):
        self.recorded_by(MEMBER)
        window, = self.windows()
        self.assertEqual((self.spool / window).stat().st_uid, MEMBER)
        expected = sum(cpu_ns for cpu_ns, _ in self.samples(window))
        engine = self.engine()
        done = self.pushed_by(OWNER, "--once", url=engine.url)
        self.assertEqual((done.returncode, engine.taken, self.windows()), (0, [], [window]), done.stderr)
        done = self.pushed_by(OWNER, "--once", "--other-users", url=engine.url)
        self.assertEqual((done.returncode, self.windows()), (0, []), done.stderr)
        self.assertEqual([pprof_in(r).total("cpu") for r in engine.taken], [expected])

    def test_a_member_cannot_touch_what_is_anothers(self):
        self.recorded_by(OWNER)
        window, = self.windows()
        for command in (["rm", "-f", self.spool / window], ["mv", self.spool / window, self.spool / "moved"]):
            self.assertNotEqual(run([*self.user(MEMBER), *command], self.directory).returncode, 0)
        engine = self.engine()
        done = self.pushed_by(MEMBER, "--once", "--other-users", url=engine.url)
        self.assertEqual((done.returncode, engine.taken, self.windows()), (1, [], [window]))
        self.assertIn("belongs to another user", done.stderr)

    def test_a_user_outside_the_group_writes_nothing(self):
        ran = self.recorded_by(MEMBER, group=MEMBER)
        self.assertEqual(self.windows(), [])
        self.assertIn("Permission denied", ran.stderr)

    def test_what_cannot_be_deleted_is_not_sent_again_and_again(self):
        """Root's spool, and an uploader that may not delete in it."""
        os.chown(self.spool, 0, GROUP)
        self.recorded_by(MEMBER)
        engine = self.engine()
        done = self.pushed_by(OWNER, "--once", "--other-users", url=engine.url)
        self.assertEqual((done.returncode, engine.taken), (1, []))
        self.assertIn("must belong to the uploader's user", done.stderr)


class Undeletable(PushCase):
    def test_it_is_sent_once_and_said(self):
        self.need("chattr")
        self.record()
        window, = self.windows()
        path = self.spool / window
        if subprocess.run(["chattr", "+i", path], capture_output=True).returncode:
            self.skipTest("files cannot be made immutable here")
        self.addCleanup(subprocess.run, ["chattr", "-i", path], capture_output=True)
        engine = self.engine()
        argv = [COMMAND, "push", "--spool", self.spool, "--to", engine.url, "--gather", "1s"]
        with started(argv, self.directory, clean_environment()):
            wait_until(lambda: engine.taken, seconds=60, what="the first window")
            for sent in (2, 3):  # looks into the spool that find the first one again
                self.record()
                wait_until(lambda: len(engine.taken) >= sent, seconds=60, what="another window")
                wait_until(lambda: self.windows() == [window], seconds=60, what="a spool without it")
        self.assertEqual(len(engine.taken), 3)
        self.assertEqual((self.directory / "flameprobe.log").read_text().count("cannot be deleted"), 1)


if __name__ == "__main__":
    unittest.main()
