"""The README's commands on machines where nothing is installed. What installs packages is also tried alone, with programs in the place
of apt and sudo."""

import shutil
import unittest

from harness import ROOT, Case, run

INSTALL = ROOT / "tools" / "packages" / "install"
LOCKED = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1 (apt-get)"


class InstallStep(Case):
    """tools/packages/install: as root, by sudo, and by a user who may not."""

    def setUp(self):
        super().setUp()
        self.tools = self.directory / "tools"
        self.tools.mkdir()
        for name in ("bash", "cat", "dirname", "env", "grep", "mktemp", "rm", "tee"):
            (self.tools / name).symlink_to(shutil.which(name))
        self.stub("sleep", "")
        self.stub("sudo", 'echo sudo >>said; exec "$@"')
        # As many answers that the lists are locked as there are lines in `locked`.
        self.stub("apt-get", f'echo "$@" >>said\nread -r first rest <locked || exit 0\necho "$rest" >locked\n'
                  f'[ -z "$first" ] || {{ echo "{LOCKED}" >&2; exit 100; }}')
        (self.directory / "locked").write_text("")
        self.be_user(1000)
        self.installed("")

    def stub(self, name, script):
        path = self.tools / name
        path.write_text(f"#!{shutil.which('bash')}\n{script}\n")
        path.chmod(0o755)

    def be_user(self, number):
        self.stub("id", f"echo {number}")

    def installed(self, names):
        self.stub("dpkg-query", f'for last; do :; done\ncase " {names} " in *" $last "* | " all ") echo installed ;; *) exit 1 ;; esac')

    def install(self, *lists):
        """(exit status, what it printed, what it ran)"""
        done = run([INSTALL, *lists], self.directory, env={"PATH": str(self.tools), "TMPDIR": str(self.directory)})
        said = self.directory / "said"
        return done.returncode, done.stdout + done.stderr, said.read_text().splitlines() if said.exists() else []

    def test_nothing_missing(self):
        (self.tools / "sudo").unlink()
        self.installed("all")
        self.assertEqual(self.install("build", "parts"), (0, "", []))

    def test_no_debian(self):
        (self.tools / "dpkg-query").unlink()
        status, printed, ran = self.install("build")
        self.assertEqual((status, ran), (0, []))
        self.assertIn("docs/install.md", printed)

    def test_root(self):
        self.be_user(0)
        status, printed, ran = self.install("parts")
        self.assertEqual((status, len(ran)), (0, 2), printed)
        self.assertIn("librsvg2-dev", printed)
        self.assertRegex(ran[1], "DPkg::Lock::Timeout=[0-9]+ install -y --no-install-recommends .*libmicrohttpd-dev")

    def test_sudo(self):
        _, _, ran = self.install("parts")
        self.assertEqual(ran[0::2], ["sudo", "sudo"])

    def test_no_sudo(self):
        (self.tools / "sudo").unlink()
        status, printed, ran = self.install("parts")
        self.assertEqual((status, ran), (1, []))
        self.assertRegex(printed, "there is no sudo.*As root:\n  apt-get update && apt-get install .*librsvg2-dev")

    def test_locked(self):
        (self.directory / "locked").write_text("1 2 3\n")
        status, printed, ran = self.install("parts")
        self.assertEqual((status, printed.count("waiting for it")), (0, 3), printed)
        self.assertEqual(len([line for line in ran if line.endswith(" update")]), 4)

    def test_refused(self):
        self.stub("apt-get", "echo 'E: Unable to locate package' >&2; exit 100")
        status, printed, _ = self.install("parts")
        self.assertEqual(status, 1)
        self.assertRegex(printed, "apt-get update failed, as said above. As root:")


if __name__ == "__main__":
    unittest.main()
