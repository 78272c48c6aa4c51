"""A profile from another container is named by files with its build ids, never by what has the same path here."""

import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from harness import profiled, run, started, target, wait_until
from push_case import PushCase, pprof_in


class OtherMountNamespace(PushCase):
    """`inside` is mounted over `path` where the program runs; here `path` is a program whose functions have other names."""

    def setUp(self):
        super().setUp()
        self.need("unshare", "objcopy", "nm")
        self.unshare = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-Urm"]
        if subprocess.run([*self.unshare, "true"], capture_output=True).returncode:
            self.skipTest("mount namespaces are not permitted here")
        self.inside, self.path = self.directory / "inside", self.directory / "server"
        shutil.copy(target("shares"), self.inside)
        symbols = subprocess.run(["nm", "--defined-only", self.inside], capture_output=True, text=True).stdout.split("\n")
        renamed = [line.split()[2] for line in symbols if line.split()[1:2] in (["T"], ["t"])]
        table = self.directory / "renamed"
        table.write_text("".join(f"{name} planted_{n}\n" for n, name in enumerate(renamed)))
        subprocess.run(["objcopy", "--strip-debug", f"--redefine-syms={table}", target("shares"), self.path], check=True)

    def without_build_id(self):
        for path in (self.inside, self.path):
            subprocess.run(["objcopy", "--remove-section=.note.gnu.build-id", path], check=True)

    def names_sent(self):
        """The container is gone when its window is sent."""
        program = f'mount --bind "{self.inside}" "{self.path}" && LD_PRELOAD="$P" exec "{self.path}" threads 300'
        env = profiled(PUSH=self.spool, FREQ=499, DUMP_EVERY="24h")
        env["P"] = env.pop("LD_PRELOAD")
        ran = run([*self.unshare, "sh", "-c", program], self.directory, env)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return self.pushed_names()

    def names_sent_meanwhile(self):
        """A process of the container lives on."""
        program = (f'mount --bind "{self.inside}" "{self.path}" && LD_PRELOAD="$P" "{self.path}" threads 300\n'
                   'echo $? > ended && exec sleep 100')
        env = profiled(PUSH=self.spool, FREQ=499, DUMP_EVERY="24h")
        env["P"] = env.pop("LD_PRELOAD")
        with started([*self.unshare, "sh", "-c", program], self.directory, env):
            ended = self.directory / "ended"
            wait_until(lambda: ended.exists() and ended.read_text(), seconds=60, what="the end of the program")
            self.assertEqual(ended.read_text(), "0\n")
            return self.pushed_names()

    def pushed_names(self):
        engine = self.engine()
        done = self.push("--once", url=engine.url)
        self.assertEqual(done.returncode, 0, done.stderr)
        pprof = pprof_in(engine.taken[0])
        return {name for sample in pprof.samples for name in pprof.names(sample)}

    def test_without_a_build_id_nothing_is_named_by_the_path(self):
        self.without_build_id()
        names = self.names_sent()
        self.assertFalse([n for n in names if n.startswith("planted_")], names)
        self.assertIn("[server]", names)

    def test_a_container_that_lives_names_its_files(self):
        self.without_build_id()
        names = self.names_sent_meanwhile()
        self.assertFalse([n for n in names if n.startswith("planted_")], names)
        self.assertTrue([n for n in names if "thread_work" in n], names)

    def test_with_a_build_id_only_that_file_counts(self):
        subprocess.run(["objcopy", "--remove-section=.note.gnu.build-id", self.path], check=True)
        names = self.names_sent()
        self.assertFalse([n for n in names if n.startswith("planted_")], names)

    def test_the_same_file_is_used_wherever_it_is_seen(self):
        shutil.copy(self.inside, self.path)
        names = self.names_sent()
        self.assertTrue([n for n in names if "thread_work" in n], names)

    def test_in_the_same_place_a_path_is_enough(self):
        self.without_build_id()
        shutil.copy(self.inside, self.path)
        ran = run([self.path, "threads", "300"], self.directory, profiled(PUSH=self.spool, FREQ=499, DUMP_EVERY="24h"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        engine = self.engine()
        self.push("--once", url=engine.url)
        pprof = pprof_in(engine.taken[0])
        names = {name for sample in pprof.samples for name in pprof.names(sample)}
        self.assertNotIn("[server]", names)


if __name__ == "__main__":
    unittest.main()
