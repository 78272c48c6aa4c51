"""Names are those of the code that ran: of files that were replaced or are gone."""

import os
import shutil
import subprocess
import unittest

from harness import MAIN_ENGINES, Case, profiled, read_folded, render, shares, target

TRUE = ("hash_key", "compare_row")
OTHERS = ("unrelated_first", "unrelated_second", "_start", "frame_dummy")


def folded(profile):
    return read_folded(render(profile, "-o", "-", "--format", "folded").stdout)


class CodeNames(Case):
    def halves(self, program, directory, engine, between):
        """Runs a program that stops half way; between() is called then. The stem of its results and what it printed."""
        env = profiled(OUT=directory / "x", FREQ=499, ENGINE=engine, FORMAT="folded", KERNEL="off")
        process = subprocess.Popen([program], cwd=directory, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.assertEqual(process.stdout.readline(), "half\n")
        between()
        _, errors = process.communicate("\n", timeout=60)
        self.assertEqual(process.returncode, 0, errors)
        return directory / "x", errors

    def assert_leaves(self, stacks, functions, share=0.95):
        hits = sum(shares(stacks, function, leaf=True)[0] for function in functions)
        every = sum(count for _, count in stacks)
        self.assertGreater(every, 50)
        self.assertGreaterEqual(hits / every, share, sorted({frames[-1] for frames, _ in stacks}))

    def test_a_program_that_is_replaced(self):
        """By a new file under its name, or, once it has ended, in its own file: never the other program's names."""
        for engine in MAIN_ENGINES:
            with self.subTest(engine=engine):
                place = self.fresh_directory(engine)
                program = place / "server"
                shutil.copy(target("rebuilt"), program)

                def replace():
                    shutil.copy(target("rebuilt-later"), place / "new")
                    os.rename(place / "new", program)

                stem, _ = self.halves(program, place, engine, replace)
                self.assert_leaves(read_folded(stem.with_suffix(".folded").read_text()), TRUE)
                self.assert_replaced(stem.with_suffix(".fprobe"))

    def test_a_program_that_is_rebuilt_later(self):
        place = self.fresh_directory("later")
        program = place / "server"
        shutil.copy(target("rebuilt"), program)
        stem, _ = self.halves(program, place, MAIN_ENGINES[0], lambda: None)
        self.assert_leaves(folded(stem.with_suffix(".fprobe")), TRUE)
        program.write_bytes(target("rebuilt-later").read_bytes())  # the same inode
        self.assert_replaced(stem.with_suffix(".fprobe"))

    def assert_replaced(self, profile):
        rendered = render(profile, "-o", "-", "--format", "folded")
        stacks = read_folded(rendered.stdout)
        for other in OTHERS:
            self.assertEqual(shares(stacks, other)[0], 0, other)
        self.assert_leaves(stacks, ["[unknown in server (replaced)]"])
        self.assertEqual(rendered.stderr.count("replaced since it was mapped (its inode, size or time differs)"), 1, rendered.stderr)


if __name__ == "__main__":
    unittest.main()
