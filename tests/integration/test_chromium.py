"""Chromium's zygotes abort when they have a thread too many, its sandbox forbids most system calls, and its processes are
killed rather than ended: its page must load as it does alone, as root without its sandbox and as an ordinary user in it."""

import os
import shutil
import unittest

from harness import ENGINES, LIBRARY, SIZE, Case, clean_environment, profiled, render, run

PAGE = ("<p>waiting</p><script>let sum = 0; for (let i = 0; i < 2e7; ++i) sum += i % 7;"
        "document.querySelector('p').textContent = 'loaded ' + (sum > 0);</script>")
FLAGS = ["--headless=new", "--disable-gpu", "--no-first-run", "--disable-extensions", "--disable-background-networking",
         "--disable-component-update", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND", "--dump-dom"]


class Chromium(Case):
    def setUp(self):
        super().setUp()
        self.program = os.environ.get("CHROMIUM") or shutil.which("chromium")
        if self.program is None:
            self.skipTest("chromium is not installed")
        os.chmod(self.directory, 0o755)

    def load(self, where, user, flags, env):
        """Chromium's output, run in a directory of its own with a home."""
        directory = self.fresh_directory(where)
        os.chmod(directory, 0o777)
        preload = [f"LD_PRELOAD={env.pop('LD_PRELOAD')}"] if "LD_PRELOAD" in env else []
        page = directory / "page.html"
        page.write_text(PAGE)
        return run([*user, "env", f"HOME={directory}", f"XDG_RUNTIME_DIR={directory}", *preload, self.program, *FLAGS, *flags,
                    f"--user-data-dir={directory}/data", page.as_uri()], directory, env, timeout=120)

    def check(self, user, flags):
        alone = self.load("alone", user, flags, clean_environment())
        if alone.returncode != 0 or "loaded true" not in alone.stdout:
            self.skipTest(f"chromium does not load the page alone: {alone.stderr[-500:]}")
        ran = self.load("profiled", user, flags, profiled(ENGINE="ring", FREQ=499, FORMAT="none", CHILDREN="separate"))
        self.assertEqual((ran.returncode, ran.stdout), (0, alone.stdout), ran.stderr)
        profiles = sorted(ran.directory.glob("flameprobe.*.fprobe"))
        # Its sandbox is a pid namespace, whose end is SIGKILL for the collectors too: at the worst before the first write.
        empty = [profile for profile in profiles if profile.stat().st_size == 0]
        self.assertGreaterEqual(len(profiles) - len(empty), 3, "the browser, a zygote and a renderer at least")
        for profile in profiles:
            info = render(profile, "--info")
            if profile in empty:
                self.assertIn("is empty", info.stderr)
            else:
                self.assertEqual(info.returncode, 0, info.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    @unittest.skipUnless(SIZE == "all", "the quick set has it in its sandbox")
    def test_as_root_without_its_sandbox(self):
        self.check([], ["--no-sandbox"])

    def user(self):
        user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
        if user and run([*user, "cat", LIBRARY], self.directory).returncode != 0:
            self.skipTest(f"an ordinary user cannot read {LIBRARY}")
        return user

    def test_in_its_sandbox(self):
        self.check(self.user(), [])

    def test_where_the_collector_is_a_thread(self):
        """The zygotes are not sampled there. Without its sandbox, whose filters refuse all but what Chromium calls."""
        alone = self.load("alone", self.user(), ["--no-sandbox"], clean_environment())
        if alone.returncode != 0 or "loaded true" not in alone.stdout:
            self.skipTest(f"chromium does not load the page alone: {alone.stderr[-500:]}")
        for engine in ("timer", *ENGINES[2:]):
            with self.subTest(engine=engine):
                ran = self.load(engine, self.user(), ["--no-sandbox"], profiled(ENGINE=engine, FREQ=499, FORMAT="none"))
                self.assertEqual((ran.returncode, ran.stdout), (0, alone.stdout), ran.stderr)
                self.assertIn("a zygote and its children are not sampled", ran.stderr)


if __name__ == "__main__":
    unittest.main()
