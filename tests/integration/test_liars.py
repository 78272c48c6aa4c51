"""Other preloaded libraries, and the host, may have functions of libc's names that say something else. What FlameProbe asks about
time, processes and threads is answered by the kernel."""

import json
import os
import time

from harness import ENGINES, LIBRARY, Case, host, ordinary_user, profiled, read_folded, render, run, sized

LIAR = host("liar").with_name("libhost-liar.so")  # each clock a day ahead, another process, another thread
UNSHARE = ["unshare", "--user", "--map-root-user", "--time", "--monotonic", "100000", "--boottime", "100000"]


class Liars(Case):
    def check(self, engine, order, user):
        directory = self.fresh_directory(f"{engine}-{order[0].name}")
        os.chmod(directory, 0o777)
        env = profiled(ENGINE=engine, FREQ=397, FORMAT="folded,json")
        del env["LD_PRELOAD"]
        before = time.time()
        ran = run([*user, "env", f"LD_PRELOAD={':'.join(map(str, order))}", host("ends"), "return", "300"], directory, env)
        self.assertEqual((ran.returncode, ran.stdout), (6, "ending by return\n"), ran.stderr)
        result = ran.result("host-ends")
        told = json.loads(result.path("json").read_text())
        self.assertEqual(result.pid, ran.pid)
        self.assertTrue(before - 1 < told["run"]["start_unix_ns"] / 1e9 < time.time() + 1, told["run"])
        self.assertLess(told["run"]["duration_ns"], 1e9 * (time.time() - before))
        self.assertTrue(0.27e9 < told["cpu_time"]["process_ns"] < 2e9, told["cpu_time"])
        shown = sum(count for _, count in result.stacks()) * told["sampling"]["period_ns"]
        self.assertAlmostEqual(shown / told["cpu_time"]["process_ns"], 1, delta=0.1)
        self.assert_function(result.stacks(), "work_ms", at_least=60)

    def test_every_engine(self):
        for engine in ENGINES:
            for order in ((LIAR, LIBRARY), (LIBRARY, LIAR)):
                with self.subTest(engine=engine, first=order[0].name):
                    self.check(engine, order, [])

    def test_ordinary_user(self):
        user = ordinary_user(self)
        os.chmod(self.directory, 0o755)
        for engine in sized(("auto",), ("auto", *ENGINES)):
            with self.subTest(engine=engine):
                self.check(engine, (LIAR, LIBRARY), user)


class TimeNamespace(Case):
    """Its clocks of the time since boot have an offset, which perf's do not have."""

    def check(self, engines, user):
        if run([*user, *UNSHARE, "true"], self.directory).returncode != 0:
            self.skipTest("this user may not make namespaces")
        for engine in engines:
            with self.subTest(engine=engine):
                directory = self.fresh_directory(engine)
                os.chmod(directory, 0o777)
                env = profiled(ENGINE=engine, FREQ=397, FORMAT="folded,json")
                preload = env.pop("LD_PRELOAD")
                ran = run([*user, *UNSHARE, "env", f"LD_PRELOAD={preload}", host("ends"), "return", "300"], directory, env)
                self.assertEqual((ran.returncode, ran.stdout), (6, "ending by return\n"), ran.stderr)
                result = ran.result("host-ends")
                told = json.loads(result.path("json").read_text())
                self.assertGreater(told["cpu_time"]["sampled_ns"] / told["cpu_time"]["process_ns"], 0.85)
                within = render(result.path("fprobe"), "--from", "0.02s", "--to", f"{told['run']['duration_ns'] / 1e9 + 0.01}s",
                                "--format", "folded", "-o", "-")
                at_work = lambda stacks: sum(count for frames, count in stacks if "work_ms" in frames and frames[-1] != "[not sampled]")
                self.assertGreater(at_work(read_folded(within.stdout)), 0.8 * at_work(result.stacks()))
                self.assertGreater(at_work(result.stacks()), 60)

    def test_every_engine(self):
        self.check(ENGINES, [])

    def test_ordinary_user(self):
        user = ordinary_user(self)
        os.chmod(self.directory, 0o755)
        self.check(("auto",), user)
