"""flameprobe and flameprobe-render as a user meets them: exit statuses, messages, files."""
import os
import shutil
import signal
import subprocess
import tempfile
import unittest

RENDER = os.environ["FLAMEPROBE_RENDER"]
FLAMEPROBE = os.environ["FLAMEPROBE"]
# The example in docs/formats.md.
ONE_SAMPLE = bytes.fromhex("4650524f42451a0201000000270000006bc482ff250800e707046d61696e1d11048080800280200000062f62696e"
                           "2f780003c6040100a484d10901")
FOLDED = "main;a;b 10\nmain;a 5\nworker;c 1\n"


def run(*words, stdin=None, **more):
    done = subprocess.run(words, input=stdin, capture_output=True, timeout=60, **more)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


class Render(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.folded = self.path("in.folded")
        self.write(self.folded, FOLDED.encode())

    def tearDown(self):
        self.directory.cleanup()

    def path(self, name):
        return os.path.join(self.directory.name, name)

    def write(self, path, content):
        with open(path, "wb") as file:
            file.write(content)
        return path

    def refuse(self, status, about, *words, stdin=None):
        code, out, err = run(RENDER, *words, stdin=stdin)
        self.assertEqual((code, out), (status, ""), err)
        self.assertIn(about, err)
        self.assertEqual(len(err.splitlines()), 2 if status == 2 else 1, err)

    def test_folded_text_survives(self):
        self.assertEqual(run(RENDER, self.folded, "-f", "folded"), (0, "main;a 5\nmain;a;b 10\nworker;c 1\n", ""))
        self.assertEqual(run(RENDER, "-", "-f", "folded", stdin=FOLDED.encode())[1], "main;a 5\nmain;a;b 10\nworker;c 1\n")

    def test_several_inputs_are_merged(self):
        self.assertEqual(run(RENDER, self.folded, self.folded, "-f", "folded")[1], "main;a 10\nmain;a;b 20\nworker;c 2\n")

    def test_selection(self):
        self.assertEqual(run(RENDER, self.folded, "-f", "folded", "--thread", "worker")[1], "worker;c 1\n")
        self.refuse(1, "no samples in what was chosen: only thread nobody", self.folded, "--thread", "nobody")
        self.refuse(1, "neither times nor processes", self.folded, "--from", "1s")

    def test_bad_input(self):
        self.refuse(1, "cannot be opened: No such file", self.path("missing"))
        self.refuse(1, "no .fprobe in this directory", self.directory.name)
        self.refuse(1, "is empty", self.write(self.path("empty"), b""))
        self.refuse(1, "is empty; the program may have ended", self.write(self.path("empty.fprobe"), b""))
        self.refuse(1, "not a .fprobe", self.write(self.path("garbage.fprobe"), bytes(range(256)) * 4))
        self.refuse(1, "no text", self.write(self.path("garbage"), bytes(range(256)) * 4))
        self.refuse(1, "format 9", self.write(self.path("later.fprobe"), b"FPROBE\x1a\x09"))
        self.refuse(1, "no whole block", self.write(self.path("killed.fprobe"), b"FPROBE\x1a\x02\x01"))

    def test_wrong_usage(self):
        self.refuse(2, "at least one input")
        self.refuse(2, "'x.gif' names no format", self.folded, "-o", "x.gif")
        self.refuse(2, "two inputs", "--diff", self.folded)
        self.refuse(2, "unrecognized option '--bogus'", "--bogus", self.folded)

    def test_a_misspelt_option_of_any_command(self):
        commands = [[FLAMEPROBE, name] for name in ("run", "attach", "bench", "compare", "stat", "top", "live", "push", "render", "doctor")]
        for argv in (*commands, [RENDER]):
            status, _, errors = run(*argv, "--hlep")
            if "is not part of this build" in errors:
                continue
            self.assertEqual(status, 2, (argv, errors))
            self.assertIn("unrecognized option '--hlep'; did you mean '--help'?", errors.splitlines()[0])
            self.assertIn("--help'", errors.splitlines()[-1])

    def test_help_begins_with_what_it_does_and_three_commands(self):
        commands = [[FLAMEPROBE, name] for name in ("run", "attach", "bench", "compare", "stat", "top", "live", "push", "render", "doctor")]
        for argv in ([FLAMEPROBE], *commands, [RENDER]):
            status, text, errors = run(*argv, "--help")
            if "is not part of this build" in errors:
                continue
            with self.subTest(argv[1:]):
                self.assertEqual((status, errors), (0, ""))
                head, _, rest = text.partition("\n\n")
                self.assertRegex(head, r"^Usage: .*\n(       .*\n)*[A-Z]")
                examples = rest.partition("\n\n")[0].splitlines()
                self.assertEqual(len(examples), 3, rest)
                for line in examples:
                    self.assertRegex(line, "^  flameprobe")
                self.assertLessEqual(max(map(len, text.splitlines())), 130)

    def test_too_few_samples_leave_no_output(self):
        output = self.path("out.svg")
        self.refuse(3, "16 samples, and --min-samples asks for 17", self.folded, "-o", output, "--min-samples", "17")
        self.assertFalse(os.path.exists(output))
        self.assertEqual(run(RENDER, self.folded, "-o", output, "--min-samples", "16")[0], 0)

    def test_an_older_result_is_not_replaced_by_a_failure(self):
        output = self.write(self.path("out.svg"), b"older")
        self.assertEqual(run(RENDER, self.path("missing"), "-o", output)[0], 1)
        self.assertEqual(run(RENDER, self.folded, "--thread", "nobody", "-o", output)[0], 1)
        with open(output, "rb") as file:
            self.assertEqual(file.read(), b"older")
        self.assertEqual(sorted(os.listdir(self.directory.name)), ["in.folded", "out.svg"])

    def test_full_output(self):
        self.assertEqual(run("/bin/sh", "-c", f"{RENDER} {self.folded} --top 3 >/dev/full")[0], 1)
        self.assertEqual(run(RENDER, self.folded, "-o", "/dev/full")[0], 2)  # names no format
        self.assertEqual(run(RENDER, self.folded, "-o", "/dev/full", "-f", "svg")[0], 1)

    def test_cutting_away(self):
        self.assertEqual(run(RENDER, "--focus", "^b$", "--format", "folded", self.folded)[:2], (0, "main;a;b 10\n"))
        self.assertEqual(run(RENDER, "--ignore", "b", "--format", "folded", self.folded)[:2], (0, "main;a 5\nworker;c 1\n"))
        self.assertEqual(run(RENDER, "--hide", "^a$", "--format", "folded", self.folded)[:2], (0, "main 5\nmain;b 10\nworker;c 1\n"))
        self.assertEqual(run(RENDER, "--hide", "main|a|b", "--format", "folded", self.folded)[:2], (0, "[hidden] 15\nworker;c 1\n"))
        self.refuse(2, "--focus: 'a(' is no regular expression", "--focus", "a(", self.folded)
        self.refuse(1, "only stacks with 'nothing'", "--focus", "nothing", "--top", "3", self.folded)

    def test_tables_have_short_names_unless_long_ones_are_asked_for(self):
        long_name = "std::vector<int, std::allocator<int> >::push_back(int const&)"
        folded = self.write(self.path("long.folded"), f"main;{long_name} 3\n".encode())
        self.assertRegex(run(RENDER, "--top", "5", folded)[1], r"  std::vector::push_back\n")
        self.assertIn(long_name, run(RENDER, "--top", "5", "--long-names", folded)[1])
        self.assertIn(long_name, run(RENDER, "--format", "folded", folded)[1])

    def test_a_picture_for_a_page_of_text(self):
        status, picture, _ = run(RENDER, "--for", "readme", "-f", "svg", self.folded)
        self.assertEqual(status, 0)
        self.assertIn('width="840"', picture)
        self.refuse(2, "'nowhere' is neither readme nor github", "--for", "nowhere", self.folded)

    def test_images_need_their_module(self):
        alone = shutil.copy(RENDER, self.path("flameprobe-render"))
        code, _, err = run(alone, self.folded, "-o", self.path("x.png"))
        if "built without librsvg" in err:
            self.skipTest(err)
        self.assertEqual(code, 1)
        self.assertIn("libflameprobe-image.so is not installed beside this program", err)
        self.assertFalse(os.path.exists(self.path("x.png")))

    def test_images(self):
        for name, magic, options in (("x.png", b"\x89PNG", []), ("x.pdf", b"%PDF", []), ("y", b"\x89PNG", ["--format", "png", "--width", "700"])):
            code, _, err = run(RENDER, self.folded, "-o", self.path(name), *options)
            if "built without librsvg" in err:
                self.skipTest(err)
            self.assertEqual((code, err), (0, ""))
            with open(self.path(name), "rb") as file:
                picture = file.read()
            self.assertEqual(picture[:4], magic)
            if magic != b"%PDF":
                self.assertEqual(int.from_bytes(picture[16:20], "big"), 700 if options else 1200)
        deep = self.write(self.path("deep.folded"), b"".join(b";".join(b"f%d" % i for i in range(200)) + b";leaf%d 1\n" % n for n in range(3)))
        self.assertEqual(run(RENDER, deep, "-o", self.path("deep.png"))[0], 0)
        self.refuse(2, "--width", "--width", "20", "-o", self.path("z.svg"), self.folded)

    def test_diff(self):
        after = self.write(self.path("after.folded"), b"main;a;b 1000\nmain;d 1000\n")
        before = self.write(self.path("before.folded"), b"main;a;b 1000\n")
        picture = self.path("diff.svg")
        code, out, err = run(RENDER, "--diff", before, after, "-o", picture, "--fail-above", "5%")
        self.assertEqual((code, err), (3, ""))
        self.assertIn("above 5%: d: 0.00 % → 50.00 %", out)
        self.assertTrue(os.path.getsize(picture) > 1000)
        self.assertEqual(run(RENDER, "--diff", after, after, "--fail-above", "0")[0], 0)

    def test_archived_names_need_no_file(self):
        profile = self.write(self.path("x.fprobe"), ONE_SAMPLE)
        named = (0, "main;[unknown in x] 1\n")
        code, out, err = run(RENDER, profile, "-f", "folded")
        self.assertEqual((code, out), named)
        self.assertIn("/bin/x: No such file", err)
        for _ in range(2):  # what is archived can be archived again
            self.assertEqual(run(RENDER, "--archive", profile)[0], 0)
            self.assertEqual(run(RENDER, profile, "-f", "folded"), named + ("",))
        os.chmod(self.directory.name, 0o500)
        try:
            if os.geteuid() != 0:
                self.refuse(1, "cannot create a file in its directory", "--archive", profile)
        finally:
            os.chmod(self.directory.name, 0o700)
        self.refuse(1, "not a .fprobe", "--archive", self.folded)
        self.assertEqual(sorted(os.listdir(self.directory.name)), ["in.folded", "x.fprobe"])

    def test_a_torn_end_is_told_and_the_rest_used(self):
        profile = self.write(self.path("x.fprobe"), ONE_SAMPLE + ONE_SAMPLE[8:-1])
        code, out, err = run(RENDER, profile, "-f", "folded")
        self.assertEqual((code, out), (0, "main;[unknown in x] 1\n"))
        self.assertIn("the last 50 bytes are not used: a block is cut short", err)

    def test_help_and_version(self):
        self.assertEqual(run(RENDER, "--help")[0], 0)
        self.assertRegex(run(RENDER, "--version")[1], r"^flameprobe-render \d")


class Run(unittest.TestCase):
    """With a library that is there anyway in the real one's place: this is about the program, not about sampling."""

    def flameprobe(self, *words, **more):
        return run(FLAMEPROBE, "run", "--library", "libc.so.6", *words, **more)

    def test_exit_status_is_the_commands(self):
        for status in (0, 1, 7, 255):
            self.assertEqual(self.flameprobe("--", "sh", "-c", f"exit {status}")[0], status)

    def test_output_is_the_commands(self):
        self.assertEqual(self.flameprobe("cat", stdin=b"through")[1], "through")

    def test_death_by_signal_is_passed_on(self):
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV):
            self.assertEqual(self.flameprobe("sh", "-c", f"kill -{int(number)} $$")[0], -number)

    def test_commands_that_cannot_be_run(self):
        # Not the caller's path: execvp(3) tells of a folder there that may not be read, rather than of no such program.
        self.assertEqual(self.flameprobe("no-such-command", env={**os.environ, "PATH": "/usr/bin:/bin"})[0], 127)
        self.assertEqual(self.flameprobe("/tmp")[0], 126)
        self.assertEqual(self.flameprobe()[0], 2)
        self.assertEqual(self.flameprobe("--bogus")[0], 2)

    def test_options_become_variables(self):
        out = self.flameprobe("-F", "250", "--engine=timer", "-o", "x.%p", "--", "env")[1]
        for line in ("FLAMEPROBE_FREQ=250", "FLAMEPROBE_ENGINE=timer", "FLAMEPROBE_OUT=x.%p"):
            self.assertIn(line + "\n", out)

    def test_options_behind_the_command_are_its_own(self):
        self.assertEqual(self.flameprobe("echo", "-F", "--", "x")[1], "-F -- x\n")

    def test_signals_are_sent_on(self):
        script = "trap 'echo got it; exit 5' TERM; echo ready; while :; do sleep 0.05; done"
        process = subprocess.Popen([FLAMEPROBE, "run", "--library", "libc.so.6", "sh", "-c", script],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=30)
        self.assertEqual((process.returncode, out), (5, b"got it\n"))

    def test_the_mask_is_the_callers(self):
        self.assertIn("SigBlk:\t0000000000000000\n", self.flameprobe("cat", "/proc/self/status")[1])


class Doctor(unittest.TestCase):
    def test_a_program_without_anything_to_mend_it_with(self):
        code, out, _ = run(FLAMEPROBE, "doctor", "no-such-program")
        self.assertEqual(code, 1)
        self.assertIn("neither a path to an executable file nor in PATH", out)

    def test_a_script_is_seen_as_its_interpreter(self):
        with tempfile.TemporaryDirectory() as directory:
            script = os.path.join(directory, "script")
            with open(script, "w", encoding="ascii") as file:
                file.write("#!/bin/sh\n")
            os.chmod(script, 0o755)
            out = run(FLAMEPROBE, "doctor", script)[1]
        self.assertIn("run by /bin/sh", out)
        self.assertIn("Program /bin/sh", out)

    def test_itself(self):
        out = run(FLAMEPROBE, "doctor", FLAMEPROBE)[1]
        self.assertRegex(out, r"symbols +all functions")
        self.assertRegex(out, r"unwind tables +yes")

    def test_usage(self):
        self.assertEqual(run(FLAMEPROBE)[0], 2)
        self.assertEqual(run(FLAMEPROBE, "doctor", "a", "b")[0], 2)
        self.assertEqual(run(FLAMEPROBE, "--version")[0], 0)


if __name__ == "__main__":
    unittest.main()
