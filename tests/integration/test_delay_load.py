"""The libraries that only a recording needs are loaded when one begins (src/session/delay_load.hpp)."""
import re
import shutil
import subprocess
import sys
import unittest

from harness import LIBRARY, Case, host, named, profiled, run

CORE = LIBRARY.with_name("libflameprobe-core.so")
DELAYED = "libflameprobe-libraries.so"
PLUGIN = host("constructor").with_name("libhost-forking-plugin.so")


def needed_by(library):
    listed = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.*)\]", listed)


class DelayLoad(Case):
    def test_core_needs_libc_only(self):
        """A function that src/session/delayed_functions.def lacks would be another library here."""
        self.assertEqual([name for name in needed_by(CORE) if not re.match(r"libc\.so|ld-linux", name)], [])
        self.assertTrue(any(name.startswith("libdw.so") for name in needed_by(CORE.with_name(DELAYED))))

    def test_brief_process_does_without(self):
        ran = run(["cat", "/proc/self/maps"], self.directory, profiled())
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn(CORE.name, ran.stdout)
        self.assertNotIn(DELAYED, ran.stdout)

    def test_other_process_has_them(self):
        work = f"while {DELAYED!r} not in open('/proc/self/maps').read(): pass"
        ran = run([sys.executable, "-c", work], self.directory, profiled(FREQ=499))
        self.assertEqual((ran.returncode, ran.timed_out), (0, False), ran.stderr)

    def test_not_installed(self):
        for library in (LIBRARY, CORE):
            shutil.copy(library, self.directory)
        env = profiled(FREQ=499)
        env["LD_PRELOAD"] = self.directory / LIBRARY.name
        ran = run([host("ends"), "return", "200"], self.directory, env)
        self.assertEqual((ran.returncode, ran.stdout), (6, "ending by return\n"), ran.stderr)
        said = re.findall(f"flameprobe: nothing is sampled: .*{DELAYED}: cannot open.*installed as a whole", ran.stderr)
        self.assertEqual(len(said), 1, ran.stderr)
        self.assertEqual(list(self.directory.glob("flameprobe.*")), [])

    def test_fork_in_constructor(self):
        """The collector waits for the lock that the constructor's thread holds, and that thread forks meanwhile."""
        ran = run([host("constructor"), PLUGIN], self.directory, profiled(FREQ=499), timeout=60)
        self.assertEqual((ran.returncode, ran.stdout, ran.timed_out), (0, "opened\n", False), ran.stderr)
        results = ran.results()
        self.assertEqual(len(results), 2)
        stacks = results[ran.pid, "host-constructor"].stacks()
        for function in ("constructor_work", "work_after_constructor"):
            self.assertGreater(sum(n for frames, n in stacks if named(frames, function)), 20, function)

    def test_end_in_constructor(self):
        ran = run([host("constructor"), PLUGIN, "ends"], self.directory, profiled(FREQ=499), timeout=60)
        self.assertEqual((ran.returncode, ran.stdout, ran.timed_out), (3, "", False), ran.stderr)
        self.assertEqual(ran.stderr.count("whose lock a constructor holds"), 1, ran.stderr)
        self.assertEqual(ran.results(), {})


if __name__ == "__main__":
    unittest.main()
