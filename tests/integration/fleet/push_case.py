"""A test with a spool that programs fill and `flameprobe push` empties."""

import gzip
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import pprof_rules
from engine import Engine
from harness import COMMAND, LIBRARY, Case, clean_environment, profiled, render, run, target


def pprof_in(request):
    return pprof_rules.decode(gzip.decompress(request["body"]))


class PushCase(Case):
    def setUp(self):
        super().setUp()
        if "not part of this build" in run([COMMAND, "push", "--help"], self.directory).stderr:
            self.skipTest("libcurl was missing when this was built")
        self.spool = self.directory / "spool"

    def engine(self, *answers, **options):
        engine = Engine(*answers, **options)
        self.addCleanup(engine.close)
        return engine

    def record(self, *argv, preload=LIBRARY, **settings):
        """A program's windows; one, unless DUMP_EVERY says otherwise."""
        env = profiled(**{"PUSH": self.spool, "FREQ": 499, "DUMP_EVERY": "24h", **settings}) | {"LD_PRELOAD": str(preload)}
        ran = run(argv or [target("shares"), "threads", "300"], self.directory, env)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran

    def push(self, *options, url=None, timeout=60, **environment):
        where = ("--to", url) if url else ()
        return run([COMMAND, "push", "--spool", self.spool, *where, *options], self.directory,
                   clean_environment(**environment), timeout=timeout)

    def status(self):
        told = self.push("--status")
        self.assertEqual(told.returncode, 0, told.stderr)
        return dict(line.split(": ", 1) for line in told.stdout.splitlines())

    def windows(self):
        return sorted(p.name for p in self.spool.glob("*.fprobe"))

    def samples(self, *windows):
        """[(CPU time in ns, period)] of windows in the spool."""
        told = [json.loads(render(self.spool / w, "-f", "json", "-o", "-").stdout) for w in windows]
        return [(t["stack_ns"], t["sampling"]["period_ns"]) for t in told]
