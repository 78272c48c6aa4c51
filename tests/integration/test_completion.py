"""Completions offer what the programs themselves say they take."""

import os
import shutil
import subprocess
import unittest

from harness import COMMAND, RENDER, ROOT, Case

BASH = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
$(complete -p "${1##*/}" | sed -E 's/.*-F ([a-z_]+).*/\\1/')
printf '%s\\n' "${COMPREPLY[@]}"
"""


class Bash(Case):
    def complete(self, *words):
        done = subprocess.run(["bash", "-c", BASH, "bash", ROOT / "tools/completions/flameprobe.bash", *words],
                              capture_output=True, text=True, timeout=60, check=False, cwd=self.directory)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_commands(self):
        words = self.complete(str(COMMAND), "")
        self.assertLessEqual({"run", "bench", "compare", "stat", "doctor", "--help", "--version"}, set(words))
        self.assertEqual(self.complete(str(COMMAND), "ben"), ["bench"])

    def test_options(self):
        self.assertEqual(self.complete(str(COMMAND), "compare", "--fail"), ["--fail-above"])
        self.assertLessEqual({"--freq", "-F", "--out"}, set(self.complete(str(COMMAND), "run", "-")))
        self.assertLessEqual({"--json", "--out"}, set(self.complete(str(COMMAND), "stat", "--")))
        self.assertEqual(self.complete(str(RENDER), "--min-w"), ["--min-width"])

    def test_the_command_that_is_run(self):
        self.assertIn("true", self.complete(str(COMMAND), "run", "--", "tru"))
        self.assertEqual(self.complete(str(COMMAND), "run", "--", "true", "--fr"), [])


class OtherShells(Case):
    def test_they_read_it(self):
        for shell, name in (("zsh", "_flameprobe"), ("fish", "flameprobe.fish")):
            with self.subTest(shell=shell):
                if shutil.which(shell) is None:
                    self.skipTest(f"{shell} is not installed")
                done = subprocess.run([shell, "-n", ROOT / "tools/completions" / name], capture_output=True, text=True,
                                      env=dict(os.environ), timeout=60, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
