"""What a kernel lacks or forbids is said in one sentence, and the next engine takes its place; many CPUs cost no memory."""

import os
import unittest
from pathlib import Path

from harness import GUEST, KERNEL, Case, host, ordinary_user, profiled, run, started, wait_until


class Kernels(Case):
    def engine_of(self, ran):
        """The engine that was used, with the reason for it."""
        lines = ran.result().path("txt").read_text().splitlines()
        return next(line.partition(": ")[2] for line in lines if line.startswith("engine: "))

    def test_before_inherit_thread(self):
        if KERNEL >= (5, 13):
            self.skipTest("this kernel has what the ring engine needs")
        needed = "Linux 5.13 or later is needed"
        ran = run([host("ends"), "return", "100"], self.fresh_directory("ring"), profiled(ENGINE="ring"))
        self.assertEqual((ran.returncode, ran.stdout), (6, "ending by return\n"))
        self.assertIn("flameprobe: the ring engine cannot run: ", ran.stderr)
        self.assertIn(needed, ran.stderr)
        ran = run([host("ends"), "return", "500"], self.fresh_directory("auto"), profiled(FREQ=199))
        self.assertEqual((ran.returncode, ran.stdout), (6, "ending by return\n"))
        self.assertTrue(self.engine_of(ran).startswith("timer ("), self.engine_of(ran))
        self.assertIn(needed, self.engine_of(ran))
        self.assert_function(ran.result().stacks(), "work_ms", at_least=50)

    def test_perf_refused_to_users(self):
        self.need_engine("ring")
        level = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
        if not GUEST or level < 3:
            self.skipTest(f"kernel.perf_event_paranoid is {level}; Debian's kernels refuse perf to users at 3")
        user = ordinary_user(self)
        directory = self.fresh_directory("user")
        os.chmod(directory.parent, 0o755)
        os.chmod(directory, 0o777)
        env = profiled(FREQ=199)
        ran = run([*user, "env", f"LD_PRELOAD={env.pop('LD_PRELOAD')}", host("ends"), "return", "500"], directory, env)
        self.assertEqual(ran.returncode, 6, ran.stderr)
        self.assertTrue(self.engine_of(ran).startswith("timer"))
        self.assertIn(f"kernel.perf_event_paranoid is {level}", self.engine_of(ran))
        self.assert_function(ran.result().stacks(), "work_ms", at_least=50)

    def rings_of(self, user, where):
        """The bytes of each ring of a program that sleeps."""
        directory = self.fresh_directory(where)
        os.chmod(directory.parent, 0o755)
        os.chmod(directory, 0o777)
        env = profiled(FORMAT="none")
        preload = f"LD_PRELOAD={env.pop('LD_PRELOAD')}"
        with started([*user, "env", preload, "sleep", "300"], directory, env) as process:
            def rings():
                maps = Path(f"/proc/{process.pid}/maps").read_text().splitlines()
                ranges = [line.split()[0].split("-") for line in maps if line.endswith("[perf_event]")]
                return [int(end, 16) - int(start, 16) for start, end in ranges]
            return wait_until(rings, 60, "a ring")

    def test_a_process_has_one_small_ring_on_any_number_of_cpus(self):
        self.need_engine("ring")
        users = {"root": []} if os.geteuid() == 0 else {}
        if int(Path("/proc/sys/kernel/perf_event_paranoid").read_text()) == 2:
            users["user"] = ordinary_user(self)
        for name, user in users.items():
            with self.subTest(user=name):
                rings = self.rings_of(user, name)
                self.assertEqual(len(rings), 1, rings)
                self.assertLessEqual(rings[0], 160 << 10)


if __name__ == "__main__":
    unittest.main()
