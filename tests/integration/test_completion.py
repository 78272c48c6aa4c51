"""Completions offer the options and commands that the programs' own --help lists."""

import os
import pty
import select
import subprocess
import time
import unittest

from harness import COMMAND, RENDER, ROOT, Case, clean_environment, run

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
        self.assertLessEqual({"run", "bench", "compare", "stat", "doctor", "render", "--help", "--version"}, set(words))
        self.assertEqual(self.complete(str(COMMAND), "ben"), ["bench"])

    def test_options(self):
        self.assertEqual(self.complete(str(COMMAND), "compare", "--fail"), ["--fail-above"])
        self.assertLessEqual({"--freq", "-F", "--out"}, set(self.complete(str(COMMAND), "run", "-")))
        self.assertLessEqual({"--json", "--out"}, set(self.complete(str(COMMAND), "stat", "--")))
        self.assertEqual(self.complete(str(RENDER), "--min-w"), ["--min-width"])

    def test_the_command_that_is_run(self):
        self.assertIn("true", self.complete(str(COMMAND), "run", "--", "tru"))
        self.assertEqual(self.complete(str(COMMAND), "run", "--", "true", "--fr"), [])


class Fish(Case):
    def complete(self, line):
        self.need("fish")
        env = clean_environment(PATH=f"{COMMAND.parent}:{RENDER.parent}:{os.environ.get('PATH', '')}", HOME=self.directory)
        script = f"source {ROOT}/tools/completions/flameprobe.fish; complete -C '{line}'"
        done = run(["fish", "--no-config", "-c", script], self.directory, env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [found.split("\t")[0] for found in done.stdout.splitlines()]

    def test_commands(self):
        self.assertLessEqual({"run", "bench", "compare", "stat", "doctor"}, set(self.complete("flameprobe ")))
        self.assertEqual(self.complete("flameprobe ben"), ["bench"])

    def test_options(self):
        self.assertEqual(self.complete("flameprobe compare --fail"), ["--fail-above"])
        self.assertEqual(self.complete("flameprobe-render --min-w"), ["--min-width"])


ZSHRC = """
PROMPT='ready> '
fpath=({completions} $fpath)
autoload -Uz compinit && compinit -u -D
tell() {{ print -r -- "$BUFFER" >{told}; exit }}
zle -N tell
bindkey '^I' complete-word '^G' tell
"""


class Zsh(Case):
    def complete(self, line):
        """The line after Tab, in an interactive shell."""
        told = self.directory / "told"
        (self.directory / ".zshrc").write_text(ZSHRC.format(completions=ROOT / "tools" / "completions", told=told))
        env = clean_environment(PATH=f"{COMMAND.parent}:{RENDER.parent}:{os.environ.get('PATH', '')}", ZDOTDIR=self.directory, TERM="dumb")
        ours, theirs = pty.openpty()
        shell = subprocess.Popen(["zsh", "-d", "-i"], cwd=self.directory, env=env, stdin=theirs, stdout=theirs, stderr=theirs,
                                 start_new_session=True)
        screen = b""
        try:
            while b"ready> " not in screen:
                self.assertTrue(select.select([ours], [], [], 60)[0], screen)
                screen += os.read(ours, 4096)
            os.write(ours, f"{line}\t\a".encode())
            end = time.monotonic() + 60
            while shell.poll() is None:  # it waits for room on its screen, too
                if select.select([ours], [], [], 0.1)[0]:
                    screen += os.read(ours, 4096)
                self.assertLess(time.monotonic(), end, screen)
        finally:
            shell.kill()
            shell.wait()
            os.close(ours)
            os.close(theirs)
        self.assertTrue(told.exists(), screen)
        return told.read_text().rstrip("\n")

    def test_commands_and_options(self):
        self.need("zsh")
        for line, completed in (("flameprobe ben", "flameprobe bench "), ("flameprobe compare --fail", "flameprobe compare --fail-above "),
                                ("flameprobe-render --min-w", "flameprobe-render --min-width "),
                                ("flameprobe run -- /bin/tru", "flameprobe run -- /bin/tru")):
            with self.subTest(line):
                self.assertEqual(self.complete(line)[:len(completed)], completed)


if __name__ == "__main__":
    unittest.main()
