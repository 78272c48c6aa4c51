"""Sampled on one architecture, rendered on the other: the same bytes. FLAMEPROBE_OTHER_BUILD is a build directory for aarch64
(tools/test-arm64); what its guest has kept in its folder guest was sampled and rendered there."""

import os
import subprocess
import unittest
from pathlib import Path

from harness import BUILD, RENDER, Case, clean_environment, formats, profiled, render, run, target

OTHER = Path(os.environ.get("FLAMEPROBE_OTHER_BUILD", BUILD.parent / "arm64"))


class OtherArchitecture(Case):
    def rendered(self, command, profile, form):
        """To a pipe: qemu takes directories that the other system has too, such as /tmp, for that one's."""
        done = subprocess.run([*command, profile, "--format", form, "-o", "-"], capture_output=True, check=False,
                              env=clean_environment(), timeout=200)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_sampled_there_rendered_here(self):
        profiles = sorted((OTHER / "guest").glob("*.fprobe"))
        if not profiles:
            self.skipTest(f"no profiles in {OTHER / 'guest'}: tools/test-arm64 makes them")
        for profile in profiles:
            for ending in ("folded", "svg"):
                with self.subTest(profile=profile.name, ending=ending):
                    here = self.directory / f"here.{ending}"
                    done = render(profile, "-o", here)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(here.read_bytes(), profile.with_suffix(f".{ending}").read_bytes())

    def test_sampled_here_rendered_there(self):
        self.need("qemu-aarch64")
        if "FLAMEPROBE_OTHER_SYSTEM" not in os.environ:
            self.skipTest("tools/test-arm64 knows the libraries of the other architecture")
        ran = run([target("shares"), "inlined", "500"], self.directory, profiled(FREQ=997))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        profile = ran.result().path("fprobe")
        system = next(line.split("'")[1] for line in Path(os.environ["FLAMEPROBE_OTHER_SYSTEM"]).read_text().splitlines()
                      if line.startswith("root"))
        there = ["qemu-aarch64", "-L", system, OTHER / "tools" / "render" / "flameprobe-render"]
        for form in formats():
            with self.subTest(format=form):
                mine = self.rendered([RENDER], profile, form)
                self.assertGreater(len(mine), 300)
                self.assertTrue(mine == self.rendered(there, profile, form), "other bytes")


if __name__ == "__main__":
    unittest.main()
