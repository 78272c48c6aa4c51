"""The size on disk of a profile whose stacks are all different, so that merging samples saves nothing."""

import json
import os
import re
import shutil
import unittest

from harness import BUILD, LIBRARY, Case, host, profiled, render, run, sized, started, wait_until
from test_render import build

MEBIBYTE = 1 << 20


class Size(Case):
    SECONDS = sized(2, 4)

    def argv(self):
        return [build(self.directory / "ever_new", "ever_new.c"), 1000 * self.SECONDS]

    def facts(self, path, form="json"):
        done = render(path, "-f", form, "-o", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_without_a_bound_that_is_reached_there_is_one_file(self):
        ran = run(self.argv(), self.directory, profiled(FREQ=997, OUT="all", CHILDREN="separate"))
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, "done\n", ""))
        self.assertEqual([p.name for p in self.directory.glob("*.fprobe")], ["all.fprobe"])
        # What the other tests rely on.
        self.assertGreater((self.directory / "all.fprobe").stat().st_size, self.SECONDS / 2 * MEBIBYTE)

    def test_parts_within_the_bound_and_no_sample_that_is_not_counted(self):
        ran = run(self.argv(), self.directory, profiled(FREQ=997, OUT="all", CHILDREN="separate", MAX_SIZE="1M", FORMAT="folded,svg"))
        self.assertEqual((ran.returncode, ran.stdout), (0, "done\n"), ran.stderr)
        profiles = {p.name: p for p in self.directory.glob("*fprobe*")}
        self.assertNotIn("all.part1.fprobe", profiles, "nothing was given up, so this tests nothing")
        # The one being written and six before it; but where that one has just begun it is empty, and not kept.
        self.assertEqual(len(profiles), 7 if "all.fprobe" in profiles else 6, profiles)
        # Each may pass its eighth by what is sampled between two looks, which takes long on a busy machine.
        self.assertLess(sum(p.stat().st_size for p in profiles.values()), 1.75 * MEBIBYTE)

        facts = {name: self.facts(path) for name, path in profiles.items()}
        numbers = sorted(f["counters"]["part of the profile"] for f in facts.values())
        self.assertEqual(numbers, list(range(numbers[-1] - len(profiles) + 1, numbers[-1] + 1)))
        last = max(facts.values(), key=lambda f: f["counters"]["part of the profile"])
        self.assertTrue(all(f["run"]["complete"] for f in facts.values()))
        given_up = last["counters"]["samples given up with the oldest parts"]
        told = int(re.search(r"with (\d+) samples, were given up for FLAMEPROBE_MAX_SIZE", ran.stderr)[1])
        self.assertGreater(given_up, 0)
        if "all.fprobe" in profiles:
            self.assertEqual(facts["all.fprobe"], last)
            self.assertEqual(told, given_up)
        taken = told + sum(f["samples"]["taken"] for f in facts.values())
        self.assertAlmostEqual(taken / (997 * self.SECONDS), 1, delta=0.2)
        # CPU time is in one part's account or another's, though the collector takes some to begin a part; what a full ring lost
        # on a busy machine is told.
        self.assertAlmostEqual(sum(f["cpu_time"]["sampled_ns"] + f["samples"]["lost_ns"] for f in facts.values()) /
                               sum(f["cpu_time"]["process_ns"] for f in facts.values()), 1, delta=0.1)
        self.assertIn(f"this is part {numbers[-1]} of a profile", (self.directory / "all.svg").read_text())

        # The command that the user is told makes one picture of what there is.
        argv = ran.stderr.split("flameprobe-render ")[1].split("; the oldest")[0].split()
        merged = render(*argv, "-f", "json", "-o", "-")
        self.assertEqual(merged.returncode, 0, merged.stderr)
        self.assertEqual(json.loads(merged.stdout)["samples"]["taken"], taken - told)
        info = render(*argv, "--info").stdout
        self.assertIn(f"{given_up:,} samples of the oldest parts were given up", info)

    def test_a_file_that_samples_fill_is_made_small_by_the_drawing_program(self):
        program = BUILD / "tools" / "draw" / "flameprobe-draw"
        for name, there in (("there", True), ("not installed", False)):
            with self.subTest(name):
                place, results = (self.fresh_directory(f"{what}-{there}") for what in ("lib", "results"))
                for path in (LIBRARY, LIBRARY.parent / "libflameprobe-core.so") + ((program,) if there else ()):
                    shutil.copy(path, place)
                env = profiled(FREQ=9999, OUT=results / "all", CHILDREN="separate", MAX_SIZE="1M", FORMAT="none")
                ran = run([host("ends"), "return", "2500"], self.directory, env | {"LD_PRELOAD": str(place / LIBRARY.name)})
                self.assertEqual((ran.returncode, ran.stdout), (6, "ending by return\n"), ran.stderr)
                profiles = list(results.iterdir())
                facts = [self.facts(path) for path in profiles]
                taken = sum(f["samples"]["taken"] for f in facts)
                self.assertGreater(taken * 6, MEBIBYTE / 8, "a file that is never full, so this tests nothing")
                if there:
                    self.assertEqual([p.name for p in profiles], ["all.fprobe"], ran.stderr)
                    self.assertLess(profiles[0].stat().st_size, MEBIBYTE / 6)
                else:
                    self.assertGreater(len(profiles), 1)
                self.assertAlmostEqual(sum(f["cpu_time"]["sampled_ns"] + f["samples"]["lost_ns"] for f in facts) /
                                       sum(f["cpu_time"]["process_ns"] for f in facts), 1, delta=0.1)

    def test_where_there_can_be_no_next_file_sampling_ends_at_the_bound_and_says_so(self):
        place, away = self.fresh_directory("place"), self.directory / "away"
        env = profiled(FREQ=997, OUT=place / "all", CHILDREN="separate", MAX_SIZE="1M", FORMAT="none")
        with started(self.argv(), self.directory, env) as process:
            wait_until(lambda: (place / "all.fprobe").exists(), 60, "a profile")
            away.mkdir()
            (place / "all.fprobe").rename(away / "all.fprobe")
            place.rmdir()  # its directory is held open, and takes no file any more, not from root either
            self.assertEqual(process.wait(120), 0)
        log = (self.directory / "ever_new.log").read_text()
        self.assertIn("sampling ends: ", log)
        self.assertEqual([p.name for p in away.iterdir()], ["all.fprobe"])
        self.assertGreater((away / "all.fprobe").stat().st_size, 0.8 * MEBIBYTE)
        self.assertLess((away / "all.fprobe").stat().st_size, 2 * MEBIBYTE)
        info = render(away / "all.fprobe", "--info").stdout
        self.assertIn("Note:        sampling ended here: ", info)


if __name__ == "__main__":
    unittest.main()
