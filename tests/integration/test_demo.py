"""The demo's parts, as tools/demo puts them together: the server under a load, preloaded, ends with its picture."""

import signal
import unittest

from figures import Figures
from harness import Case, Run, profiled, render, run, started, target, wait_until


class Demo(Case):
    def test_server_under_load(self):
        log = open(self.directory / "port", "w+")
        self.addCleanup(log.close)
        with started([target("demo/demo-server"), "30", "3"], self.directory, profiled(FREQ=499), stdout=log) as server:
            port = wait_until(lambda: (self.directory / "port").read_text().strip(), what="the server prints its port")
            load = run([target("demo/demo-load"), port, "2"], self.directory)
            self.assertEqual(load.returncode, 0, load.stderr)
            server.send_signal(signal.SIGTERM)
            self.assertEqual(server.wait(30), 0)
        result = Run(0, "", "", self.directory, 0, server.pid).result("demo-server")
        stacks = result.stacks()
        for function in ("shop::checkout", "shop::Pool::run_jobs", "Deflater::deflate_text"):
            self.assert_function(stacks, function, at_least=50)
        self.assertLessEqual({"demo-server", "worker-0", "worker-1", "worker-2"}, {frames[0] for frames, _ in stacks})
        self.assertGreaterEqual(Figures().add(stacks, str(target("demo/demo-server"))).rooted_share, 0.995)
        top = render(result.path("fprobe"), "--top", "200")
        self.assertEqual(top.returncode, 0, top.stderr)
        self.assertIn("Deflater::deflate_text", top.stdout)


if __name__ == "__main__":
    unittest.main()
