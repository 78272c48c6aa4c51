"""Names of results: no process replaces another's, however it was started and whatever its directory."""

import sys
import time
import unittest

from harness import ENGINES, Case, clean_environment, host, profiled, read_folded, run

WORK = f"{host('ends')} return 200"


class Names(Case):
    def stems_with(self, function, directory=None, since=0):
        """The folded files in the directory that were written since then and have the function."""
        found = []
        for path in (directory or self.directory).glob("*.folded"):
            stacks = read_folded(path.read_text()) if path.stat().st_mtime > since else []
            if any(function in ";".join(frames) for frames, _ in stacks):
                found.append(path.name.removesuffix(".folded"))
        return sorted(found)

    def test_launchers(self):
        """All processes are told the same name for their results."""
        launchers = {"timeout": ["timeout", "60", *WORK.split()], "sh": ["sh", "-c", f"{WORK}; exit 6"],
                     "script": ["script", "-qec", WORK, "/dev/null"]}
        for name, argv in launchers.items():
            for engine in ENGINES:
                with self.subTest(launcher=name, engine=engine):
                    self.need(name)
                    place = self.fresh_directory(f"{name}-{engine}")
                    ran = run(argv, place, profiled(OUT=place / "x", FREQ=4000, ENGINE=engine, KERNEL="off"))
                    self.assertEqual(ran.returncode, 6, ran.stderr)
                    self.assertEqual(len(self.stems_with("work_ms", place)), 1, sorted(place.iterdir()))

    def test_a_program_that_executes_itself_by_the_kernels_link(self):
        for link in ("/proc/self/exe", "/proc/thread-self/exe", "/proc/{}/exe"):
            with self.subTest(link=link):
                place = self.fresh_directory(link.strip("/").replace("/", "-"))
                work = "import time; end = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
                environment = {key: str(value) for key, value in profiled(OUT=place / "%e").items()}
                code = f"import os; os.execve({link!r}.format(os.getpid()), ['worker', '-c', {work!r}], {environment!r})"
                ran = run([sys.executable, "-c", code], place, clean_environment())  # a profiled one's name is its successor's too
                self.assertEqual(ran.returncode, 0, ran.stderr)
                names = {path.name.split(".fprobe")[0] for path in place.glob("*.fprobe*")}
                self.assertTrue(names and all(name.startswith("python3") for name in names), names)

    def test_a_later_run_replaces_all(self):
        for _ in range(2):
            begun = time.time()
            ran = run(["sh", "-c", f"{WORK}; {WORK}"], self.directory, profiled(OUT="x", FREQ=499, KERNEL="off"))
            self.assertEqual(ran.returncode, 6, ran.stderr)
            self.assertEqual(self.stems_with("work_ms", since=begun), ["x"])
            self.assertEqual([path.name for path in self.directory.glob("*.fprobe")], ["x.fprobe"])

    def test_two_runs_at_once(self):
        """The one that began first is still at work: no other process may replace its file."""
        both = f"{WORK.replace('200', '1500')} & sleep 0.7; env -u FLAMEPROBE_ROOT {WORK}; wait"
        ran = run(["env", "-u", "LD_PRELOAD", "sh", "-c", f"export LD_PRELOAD={profiled()['LD_PRELOAD']}; {both}"],
                  self.directory, {k: v for k, v in profiled(OUT="x", FREQ=499, KERNEL="off").items() if k != "LD_PRELOAD"})
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(self.stems_with("work_ms"), ["x", "x.2"])

    def test_relative_names_mean_where_the_run_began(self):
        (self.directory / "below").mkdir()
        for name, script in (("child", f"cd below && {WORK}; exit 6"), ("exec", f"cd below && exec {WORK}")):
            with self.subTest(how=name):
                place = self.fresh_directory(name)
                (place / "below").mkdir()
                ran = run(["sh", "-c", script], place, profiled(FREQ=499, KERNEL="off", LOG="log"))
                self.assertEqual(ran.returncode, 6, ran.stderr)
                self.assertEqual(list((place / "below").iterdir()), [])
                self.assertTrue((place / "log").exists())
                self.assert_function(ran.result().stacks(), "work_ms", at_least=20)

    def test_relative_names_of_forked_children(self):
        place = self.fresh_directory("forked")
        ran = run(["perl", "-e", "if (!fork) { chdir '/'; my $i = 0; $i += $_ for 1 .. 3000000; exit 0 } wait; exit $? >> 8"],
                  place, profiled(FREQ=499, KERNEL="off"))
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertGreater(sum(count for _, count in ran.result().stacks()), 5)
        self.assertEqual({path.stem for path in place.iterdir()}, {f"flameprobe.perl.{ran.pid}"})


if __name__ == "__main__":
    unittest.main()
