"""The flameprobe command with the real library: run profiles its command, and doctor predicts what the library does."""

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import unittest
from pathlib import Path

import harness
from harness import (COMMAND, LIBRARY, Case, clean_environment, host, ordinary_user, profiled, read_folded, run, shares, started,
                     target, wait_until)

WORK = [host("ends"), "return", "400"]  # computes, prints a line, and ends with status 6
PRINTED = "ending by return\n"


class Run(Case):
    def test_profile_status_and_path(self):
        out = self.directory / "picture.%e.%p"
        done = run([COMMAND, "run", "-F", "499", "-o", out, "--", *WORK], self.directory)
        self.assertEqual((done.returncode, done.stdout), (6, PRINTED), done.stderr)
        told = re.fullmatch(r"flameprobe: (.*)", done.stderr.splitlines()[-1])
        picture = Path(told[1])
        self.assertRegex(picture.name, r"^picture\.host-ends\.\d+\.svg$")
        self.assertIn("work_ms", picture.read_text())
        stacks = read_folded(picture.with_suffix(".folded").read_text())
        self.assert_function(stacks, "work_ms", at_least=50)
        info = harness.render(picture.with_suffix(".fprobe"), "--info").stdout
        self.assertIn("499 Hz asked", info)

    def test_provenance_beside_the_picture(self):
        commit = "0123456789abcdef0123456789abcdef01234567"
        (self.directory / ".git").mkdir()
        (self.directory / ".git" / "HEAD").write_text(commit + "\n")
        done = run([COMMAND, "run", "-F", "499", "-o", "picture", "--", *WORK], self.directory)
        self.assertEqual(done.returncode, 6, done.stderr)
        lines = (self.directory / "picture.txt").read_text().splitlines()
        facts = dict(line.split(": ", 1) for line in lines)
        self.assertEqual(list(facts)[:9], ["command", "executable", "host", "pid", "start", "duration", "complete", "answer", "directory"])
        self.assertEqual((facts["commit"], facts["directory"]), (commit, str(self.directory)))
        self.assertEqual(facts["frequency asked"], "499 Hz")
        self.assertRegex(facts["compilers"], "GCC|clang")
        self.assertGreater(int(facts["samples"]), 0)
        self.assertTrue({"dirty", "CPU", "cores", "governor", "kernel", "paranoid", "container", "event", "engine", "rooted",
                         "lost", "FlameProbe version", "build id"} <= set(facts), facts)
        info = harness.render(self.directory / "picture.fprobe", "--info").stdout
        self.assertRegex(info, rf"commit: +{commit}")
        self.assertRegex(info, rf"CPU: +{re.escape(facts['CPU'])}")

    def test_provenance_has_the_flags_where_the_program_says_them(self):
        self.need("gcc")
        source = self.directory / "busy.c"
        source.write_text("int main(void) { for (volatile long i = 0; i < 100000000; ++i) {} return 0; }\n")
        for options, told in ((["-g", "-O1", "-funroll-loops"], r" -O1 -funroll-loops( |$)"),
                              (["-frecord-gcc-switches", "-O2"], r" -O2( |$)"), (["-O2"], "^not recorded$")):
            program = self.directory / "busy"
            self.assertEqual(run(["gcc", *options, source, "-o", program], self.directory).returncode, 0)
            self.assertEqual(run([COMMAND, "run", "-F", "999", "-o", "busy", "-f", "svg", "--", program], self.directory).returncode, 0)
            facts = (self.directory / "busy.txt").read_text()
            self.assertRegex(re.search(r"(?m)^optimisation flags: (.*)$", facts)[1], told, options)

    def test_no_picture_no_provenance(self):
        run([COMMAND, "run", "-F", "499", "-o", "x", "-f", "folded", "--", *WORK], self.directory)
        self.assertEqual({p.name for p in self.directory.iterdir()}, {"x.folded", "x.fprobe"})

    def test_the_page_is_written_and_named_first(self):
        done = run([COMMAND, "run", "-F", "499", "-o", "x", "--", *WORK], self.directory)
        self.assertEqual([Path(line.removeprefix("flameprobe: ")).name for line in done.stderr.splitlines()[-2:]], ["x.html", "x.svg"])
        self.assertIn("<html", (self.directory / "x.html").read_text()[:200])

    def test_provenance_says_whether_the_directory_is_dirty(self):
        self.need("git")
        place = self.fresh_directory("repository")
        argv = [COMMAND, "run", "-F", "999", "-o", self.directory / "x", "--", sys.executable, "-c", "sum(range(3 * 10**6))"]
        told = lambda: re.search(r"(?m)^dirty: (.*)$", (self.directory / "x.txt").read_text())[1]  # noqa: E731
        self.assertEqual(run(argv, place).returncode, 0)
        self.assertEqual(told(), "no repository")
        (place / "file").write_text("as committed")
        for git in (["init", "-q"], ["add", "file"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "one"]):
            self.assertEqual(run(["git", *git], place).returncode, 0)
        self.assertEqual(run(argv, place).returncode, 0)
        self.assertEqual(told(), "no")
        (place / "file").write_text("changed")
        self.assertEqual(run(argv, place).returncode, 0)
        self.assertEqual(told(), "yes")

    def test_a_tree_of_processes_is_one_picture(self):
        work = " ".join(map(str, WORK))
        done = run([COMMAND, "run", "-F", "999", "-o", "x", "--", "sh", "-c", f"{work}; timeout 60 {work[:-3]}100; exit 0"],
                   self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [line.removeprefix("flameprobe: ") for line in done.stderr.splitlines()]
        self.assertEqual([Path(line).name for line in lines[-2:]], ["x.html", "x.svg"])
        table = [line.split() for line in lines if re.search(r"host-ends \d+$", line)]
        self.assertEqual(len(table), 2, done.stderr)
        stacks = read_folded((self.directory / "x.folded").read_text())
        provenance = (self.directory / "x.txt").read_text()
        self.assertRegex(provenance, r"(?m)^samples: [1-9]\d*$")
        for fact in ("paranoid", "CPU", "compilers"):  # in the page too
            self.assertIn(f"<dt>{fact}</dt>", (self.directory / "x.html").read_text())
        # The run is told in titles, at its end and later.
        titles = [re.search(r'aria-label="(.*?)"', svg)[1] for svg in
                  ((self.directory / "x.svg").read_text(), harness.render(self.directory / "x.fprobe", "-f", "svg", "-o", "-").stdout)]
        # On a busy machine the shell and timeout use more than the 5 ms from which a process is in the picture.
        self.assertRegex(titles[0], "^CPU flame graph of (sh and its children, mostly host-ends|host-ends and its children), [234] processes$")
        self.assertEqual(titles[0], titles[1])
        whole = sum(count for _, count in stacks)
        for row, least in zip(table, (150, 30)):  # the heaviest first
            weight = sum(count for frames, count in stacks if frames[0] == " ".join(row[-2:]))
            # The share is of weights, which folded text rounds to periods.
            self.assertAlmostEqual(100 * weight / whole, float(row[3].rstrip("%")), delta=100 / whole)
            self.assertGreater(int(row[2]), least)
            self.assertLess(int(row[2]), 2 * weight)
        for path in self.directory.glob("x*.fprobe"):  # what --tree makes of it is the same
            self.assertTrue(path.exists())
        again = harness.render("--tree", *self.directory.glob("x*.fprobe"), "-o", self.directory / "again.folded")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn(" ".join(table[0][-2:]), again.stdout)
        self.assertEqual((self.directory / "again.folded").read_text(), (self.directory / "x.folded").read_text())

    def test_only_the_first_process_names_its_engine(self):
        done = run([COMMAND, "run", "--log", "stderr", "-o", "x", "--", "bash", "-c", f"{target('shares')} threads 100; {target('shares')} threads 100; true"],
                   self.directory)
        self.assertEqual(len(re.findall(r"flameprobe: engine \w+", done.stderr)), 1, done.stderr)

    def test_processes_with_few_samples_are_drawn_once(self):
        work = " ".join(map(str, WORK[:-1]))
        done = run([COMMAND, "run", "-F", "99", "-o", self.directory / "x.%e.%p", "--", "sh", "-c", f"{work} 100; {work} 100; exit 0"],
                   self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(path.suffix for path in self.directory.glob("x.sh.*")), [".folded", ".fprobe", ".html", ".svg", ".txt"])
        self.assertEqual(list(self.directory.glob("x.host-ends.*")), [])
        alone = self.fresh_directory("alone")
        done = run([COMMAND, "run", "-F", "99", "-o", "x", "--", *WORK[:-1], "100"], alone)
        self.assertEqual({path.name for path in alone.iterdir()}, {"x.html", "x.svg", "x.folded", "x.txt", "x.fprobe"}, done.stderr)

    def test_another_run_in_the_same_place_is_not_of_the_tree(self):
        with started(["sh", "-c", f"LD_PRELOAD={LIBRARY} {' '.join(map(str, WORK[:-1]))} 2000"], self.directory,
                     clean_environment(FLAMEPROBE_FREQ="499", FLAMEPROBE_OUT="x.%p")) as other:
            wait_until(lambda: list(self.directory.glob("x.*.run/*.fprobe")), what="the other's first samples")
            done = run([COMMAND, "run", "-F", "499", "-o", "x.%p", "--", *WORK], self.directory)
            self.assertNotIn("   host-ends ", done.stderr)  # no table: there is one process
            other.wait(timeout=60)

    def test_bad_options_end_it_before_it_starts(self):
        (self.directory / "x.svg").mkdir()
        bad = {"--format": ["-f", "png"], "--freq": ["-F", "abc"], "--engine": ["--engine", "warp"],
               "--out": ["-o", self.directory / "no" / "such" / "place"], "--library": ["--library", "/nowhere.so"],
               "--min-samples": ["--min-samples", "many"], "--max-lost": ["--max-lost", "120"]}
        cases = [*bad.items(), ("--freq", ["-F", "99999999"]), ("--out", ["-o", "x"]), ("--out", ["-o", "%z"])]
        for option, argv in cases:
            with self.subTest(argv=argv):
                done = run([COMMAND, "run", *argv, "--", "touch", "started"], self.directory)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertRegex(done.stderr, rf"^flameprobe: {option}: .*\n$")
                self.assertIn(str(argv[-1]), done.stderr)
                self.assertFalse((self.directory / "started").exists())

    def test_what_a_refused_number_or_event_is_told_by(self):
        for argv, said in ((["live", "--port", "99999", "1"], "--port: '99999' is not a whole number from 0 to 65535"),
                           (["render", "x", "--top", "-1"], "--top: '-1' is not a whole number from 0 on"),
                           (["render", "x", "--min-width", "x"], "--min-width: 'x' is not a percentage from 0 to 100")):
            done = run([COMMAND, *argv], self.directory)
            self.assertEqual((done.returncode, done.stderr.splitlines()[0].split(": ", 1)[1]), (2, said))
        done = run([COMMAND, "run", "-e", "cpu,cycles", "true"], self.directory)
        if done.returncode == 0:
            self.skipTest("this machine counts cycles")
        self.assertRegex(done.stderr, "^flameprobe: --event: cycles: ")

    def test_no_such_command(self):
        done = run([COMMAND, "bogus"], self.directory)
        self.assertEqual((done.returncode, done.stderr.splitlines()[0]), (2, "flameprobe: 'bogus' is no command; try 'flameprobe --help'"))

    def test_gates(self):
        work = ["sh", "-c", f"{' '.join(map(str, WORK))}; exit 0"]
        without_frame_pointers = ["/usr/bin/python3", "-c", "print(sum(n * n for n in range(5_000_000)))"]  # as Debian builds it
        for gate, program in ((["--min-samples", "100000"], work),
                              (["--min-rooted", "100", "--unwind", "fp"], without_frame_pointers)):
            with self.subTest(gate=gate):
                place = self.fresh_directory(gate[0].strip("-"))
                done = run([COMMAND, "run", "-F", "499", "-o", "x", *gate, "--", *program], place)
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertRegex(done.stderr.splitlines()[-1], rf"{gate[0]} asks for .*; no picture was made, the profile is in ")
                self.assertEqual({path.suffix for path in place.iterdir()}, {".fprobe"})
                again = harness.render(place / "x.fprobe", *gate[:2], "-o", place / "x.svg")
                self.assertEqual((again.returncode, (place / "x.svg").exists()), (3, False), again.stderr)
        place = self.fresh_directory("passed")
        done = run([COMMAND, "run", "-F", "499", "-o", "x", "--min-samples", "20", "--max-lost", "90", "--", *work], place)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLessEqual({".svg", ".html", ".folded", ".fprobe"}, {path.suffix for path in place.iterdir()})

    def test_a_run_that_was_killed_has_its_picture(self):
        done = run([COMMAND, "run", "-F", "499", "-o", "x", "--", host("ends"), "kill", "300"], self.directory)
        self.assertEqual(done.returncode, -signal.SIGKILL, done.stderr)
        self.assertIn("work_ms", (self.directory / "x.svg").read_text())

    def test_children_lie_beside_it(self):
        done = run([COMMAND, "run", "-F", "499", "--children", "separate", "--", "sh", "-c", f"{' '.join(map(str, WORK))}; exit 9"], self.directory)
        self.assertEqual(done.returncode, 9, done.stderr)
        self.assertEqual({result.executable for result in done.results().values()} - {"sh", "dash", "bash"}, {"host-ends"})
        self.assertRegex(done.stderr.splitlines()[-1], r"^flameprobe: .*\.svg$")

    def test_without_samples_it_says_so(self):
        done = run([COMMAND, "run", "-F", "1", "--", "true"], self.directory)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("no picture", done.stderr)

    def test_where_the_time_went_is_its_first_line_at_the_end(self):
        done = run([COMMAND, "run", "-F", "499", "-o", "x", "--", target("shares"), "threads", "300"], self.directory)
        lines = [line.removeprefix("flameprobe: ") for line in done.stderr.splitlines()]
        self.assertEqual([Path(line).name for line in lines[-2:]], ["x.html", "x.svg"])
        said = [line for line in lines[:-2] if re.match(r"[0-9>]+ % in ", line)]
        self.assertEqual(len(said), 1, lines)

    def better(self, *argv):
        """What the run says that would make its picture better."""
        done = run([COMMAND, "run", "-F", "999", "-o", "x", "--", *argv], self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [line.removeprefix("flameprobe: better: ") for line in done.stderr.splitlines() if "better: " in line]

    def test_it_says_what_would_make_the_picture_better(self):
        [told] = self.better(sys.executable, "-c", "sum(range(10**6))")
        self.assertRegex(told, r"^(\d+ samples are few; |[\d.]+ % (of the time )?is |no sample covers [\d.]+ % of the time; )")

    def test_the_flag_that_gives_names_is_told(self):
        self.need("node")
        script = self.directory / "work.js"
        script.write_text("const f = (n) => n < 2 ? n : f(n - 1) + f(n - 2); const end = Date.now() + 700; while (Date.now() < end) f(20);")
        flags = ["--perf-basic-prof", "--interpreted-frames-native-stack"]
        [told] = self.better("node", script)
        self.assertIn("JavaScript functions without names; with names: node " + " ".join(flags), told)
        self.assertIn("names: " + told, (self.directory / "x.txt").read_text())
        self.assertIn(told, (self.directory / "x.svg").read_text())
        self.assertIn("mend: node " + " ".join(flags), run([COMMAND, "doctor", "node"], self.directory).stdout)
        for path in self.directory.glob("x.*"):
            path.unlink()
        self.assertNotIn("JavaScript", "".join(self.better("node", *flags, script)))
        self.assertIn("f /", (self.directory / "x.folded").read_text())
        for path in Path("/tmp").glob("perf-*.map"):
            if "work.js" in path.read_text(errors="replace"):
                path.unlink()

    def test_pictures_as_asked_for(self):
        done = run([COMMAND, "run", "--title", "As asked", "--own-code", "-F", "499", "-o", "x", "--", target("shares"), "threads", "300"],
                   self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([Path(line.removeprefix("flameprobe: ")).name for line in done.stderr.splitlines()[-2:]], ["x.html", "x.svg"])
        svg, page = (self.directory / "x.svg").read_text(), (self.directory / "x.html").read_text()
        for picture in (svg, page):
            self.assertIn("As asked", picture)
        self.assertNotIn("start_thread", svg)
        self.assertIn("start_thread", harness.render(self.directory / "x.fprobe", "-f", "folded", "-o", "-").stdout)
        self.assertTrue((self.directory / "x.txt").exists())
        done = run([COMMAND, "run", "--width", "5", "-o", "y", "--", "true"], self.directory)
        self.assertEqual((done.returncode, done.stderr.splitlines()[0]), (2, "flameprobe: --width: give 300 to 20000 pixels"))

    def test_it_opens_the_picture_on_request(self):
        programs = self.fresh_directory("programs")
        (programs / "xdg-open").write_text('#!/bin/sh\necho "$1" >"$OPENED"\n')
        (programs / "xdg-open").chmod(0o755)
        env = clean_environment(PATH=f"{programs}:{os.environ['PATH']}", OPENED=self.directory / "opened")
        done = run([COMMAND, "run", "--open", "-F", "499", "-o", "x", "--", target("shares"), "threads", "300"], self.directory, env)
        self.assertEqual(done.returncode, 0, done.stderr)
        wait_until(lambda: (self.directory / "opened").exists() and (self.directory / "opened").read_text().endswith("\n"), what="xdg-open")
        self.assertEqual(Path((self.directory / "opened").read_text().strip()).name, "x.html")

    def test_why_there_is_no_picture(self):
        """One cause where it is known, not all that there are."""
        done = run([COMMAND, "run", "--", "sleep", "0.1"], self.directory)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr.splitlines()[-1], r"no picture: the command used [0-9.]+ (ms|us|µs) of CPU time, too little")
        self.assertNotIn("set-user-ID", done.stderr)
        spool = self.directory / "spool"
        done = run([COMMAND, "run", "--push", spool, "-F", "499", "--", target("shares"), "threads", "300"], self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(list(spool.glob("*.fprobe")))
        self.assertNotIn("no picture", done.stderr)
        self.assertIn(f"flameprobe push --spool {spool} --to URL", done.stderr)
        # Windows of another run are none of this one.
        done = run([COMMAND, "run", "--push", spool, "--", "sleep", "0.1"], self.directory)
        self.assertRegex(done.stderr.splitlines()[-1], rf"^flameprobe: no window in {spool}: the command used .* too little to be sampled")

    def test_a_spool_that_cannot_be_used_is_told_before_the_command_starts(self):
        (self.directory / "file").write_text("")
        for spool, why in (("file", "file is no directory"), ("no/spool", "no/spool cannot be created: No such file or directory")):
            done = run([COMMAND, "run", "--push", spool, "--", "touch", "started"], self.directory)
            self.assertEqual((done.returncode, done.stderr), (2, f"flameprobe: --push: {why}\n"))
        self.assertFalse((self.directory / "started").exists())
        # Where results could not be written windows can.
        spool = self.directory / "spool"
        done = run([COMMAND, "run", "--push", spool, "-F", "499", "--", target("shares"), "threads", "300"], "/proc/self")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(list(spool.glob("*.fprobe")))

    def test_an_event_without_samples_has_no_pictures_and_one_word(self):
        done = run([COMMAND, "run", "-e", "alloc", "--alloc-bytes", "1024G", "-o", "x", *WORK], self.directory)
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertIn("x.fprobe: no samples of alloc, so no pictures\n", done.stderr)
        self.assertNotIn("the samples are safe", done.stderr)
        self.assertEqual({path.name for path in self.directory.glob("x*")}, {"x.fprobe"})

    def test_pictures_of_other_events_are_named(self):
        work = "import time\nfor _ in range(400): time.sleep(0.0005)\nsum(range(3_000_000))"
        counts_in_kernel = os.geteuid() == 0
        events = "cpu,offcpu,context-switches" if counts_in_kernel else "cpu,offcpu"
        done = run([COMMAND, "run", "-F", "499", "-o", "x", "--event", events, "--", sys.executable, "-c", work], self.directory)
        self.assertEqual(done.returncode, 0, done.stderr)
        made = {path.name for path in self.directory.glob("*.svg")}
        self.assertIn("x.offcpu.svg", made)
        if counts_in_kernel:
            self.assertIn("x.context-switches.svg", made)
        for name in made:
            self.assertRegex(done.stderr, rf"(?m)^flameprobe: (.*/)?{name}$")

    def test_what_cannot_be_written_is_said_once(self):
        size = 65536  # a page's script alone is larger
        ran = run([COMMAND, "run", "-F", "997", "-o", "x", "--", host("ends"), "return", "300"], self.directory,
                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
        self.assertEqual(ran.stderr.count("x.html: cannot write: "), 1, ran.stderr)
        self.assertIn("\nflameprobe: x.svg\n", ran.stderr)

    def test_a_misspelt_command_and_what_help_says(self):
        for typed, said in (("rnu", "'rnu' is no command; did you mean 'run'? Try 'flameprobe --help'"), ("docter", "did you mean 'doctor'?"),
                            ("quarrel", "'quarrel' is no command; try 'flameprobe --help'")):
            done = run([COMMAND, typed], self.directory)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
            self.assertIn(said, done.stderr)
        self.assertIn("(default folded,html,svg)", run([COMMAND, "run", "--help"], self.directory).stdout)

    def program(self, *options):
        """A program that has only its start: status 7, in 32 and in 64 bits."""
        source, made = self.directory / "start.S", self.directory / "made"
        source.write_text(".globl _start\n_start: mov $1, %eax\n mov $7, %ebx\n int $0x80\n.section .note.GNU-stack\n")
        if run(["gcc", "-nostdlib", "-no-pie", *options, source, "-o", made], self.directory).returncode != 0:
            self.skipTest("gcc cannot make such a program")
        return made

    def one_sentence(self, made, said):
        done = run([COMMAND, "run", "--", made], self.directory)
        self.assertEqual((done.returncode, done.stderr.splitlines()[1:]), (7, ["flameprobe: no picture: the command could not be sampled"]))
        self.assertIn(said, done.stderr)

    def test_a_32_bit_program(self):
        self.need("gcc")
        self.one_sentence(self.program("-m32"), "made is a 32-bit program: nothing of it is sampled")

    def test_a_program_of_musl(self):
        """Whose loader would complain of our library in its own words."""
        self.need("gcc")
        loader = self.directory / "ld-musl-x86_64.so.1"
        loader.symlink_to("/lib64/ld-linux-x86-64.so.2")
        done = run([COMMAND, "run", "-o", "x", "--", self.program(f"-Wl,--dynamic-linker={loader}", "-Wl,--no-as-needed", "-lc")], self.directory)
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertIn("is linked with musl, and the library with glibc: nothing can be preloaded, so it is recorded from outside", done.stderr)

    def test_stacks_of_musl_are_whole(self):
        """Its start code, and what begins its threads, have no unwind tables."""
        self.need("musl-gcc")
        source, made = self.directory / "threads.c", self.directory / "threads"
        source.write_text("""#include <pthread.h>
#include <time.h>
static volatile unsigned long sum;
__attribute__((noinline)) static void spin(void) {
    struct timespec used;
    do {
        for (int i = 0; i < 100000; ++i) sum = sum * 33 + i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    } while (used.tv_sec == 0 && used.tv_nsec < 300000000);
}
static void* thread(void* nothing) { spin(); return nothing; }
int main(void) {
    pthread_t second;
    if (pthread_create(&second, 0, thread, 0)) return 1;
    spin();
    return pthread_join(second, 0);
}
""")
        for options in ([], ["-static"]):
            with self.subTest(options=options):
                self.assertEqual(run(["musl-gcc", "-O1", "-g", *options, source, "-o", made], self.directory).returncode, 0)
                done = run([COMMAND, "run", "-F", "997", "-o", "musl", "--", made], self.directory)
                self.assertEqual(done.returncode, 0, done.stderr)
                stacks = read_folded((self.directory / "musl.folded").read_text())
                total = sum(count for _, count in stacks)
                for called in ("main", "thread"):
                    whole = sum(count for stack, count in stacks if stack[2:4] == [called, "spin"] and stack[1] != "[truncated]")
                    self.assertGreater(whole, 0.48 * total, stacks)

    def static(self, *options):
        source, made = self.directory / "burn.c", self.directory / "burns"
        source.write_text("""#include <stdlib.h>
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) static unsigned long spin(double seconds) {
    struct timespec used;
    unsigned long sum = 1;
    do {
        for (int i = 0; i < 100000; ++i) sum = sum * 33 + i;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    } while (used.tv_sec + used.tv_nsec * 1e-9 < seconds);
    return sum;
}
int main(int argc, char** argv) {
    const unsigned long sum = spin(atof(argv[1]));
    if (argc > 2) execvp(argv[2], argv + 2);
    if (getenv("LD_PRELOAD")) return 99;
    return sum == 0 ? 1 : 9;
}
""")
        if run(["gcc", "-O1", "-g", *options, source, "-o", made], self.directory).returncode != 0:
            self.skipTest(f"gcc cannot link with {options}")
        return made

    def test_a_static_program_is_recorded_from_its_first_instruction(self):
        """Status, signals and results as of any run, with the children; nothing is preloaded into these either."""
        self.need("gcc")
        for options in (["-static"], ["-static-pie"]):
            with self.subTest(options=options):
                made = self.static(*options)
                done = run([COMMAND, "run", "-F", "997", "-o", "%e.x", "--", made, "0.5"], self.directory)
                self.assertEqual(done.returncode, 9, done.stderr)
                self.assertIn("is linked statically: nothing can be preloaded, so it is recorded from outside", done.stderr)
                self.assertIn("burns.x.html", done.stderr)
                stacks = read_folded((self.directory / "burns.x.folded").read_text())
                total = sum(count for _, count in stacks)
                self.assertGreater(total, 0.97 * 997 / 2)  # the first instructions too
                self.assertGreater(sum(count for stack, count in stacks if stack[1] == "_start" and "spin" in stack), 0.98 * total)
        made = self.static("-static")
        done = run([COMMAND, "run", "-F", "997", "-o", "two", "--", "/bin/sh", "-c", f"{made} 0.1; {made} 0.1 {made} 0.2; kill -TERM $$"], self.directory)
        self.assertEqual(done.returncode, -signal.SIGTERM, done.stderr)  # the shell is no static program: only it is preloaded
        done = run([COMMAND, "run", "-F", "997", "-o", "next", "--", made, "0.1", made, "0.3"], self.directory)
        self.assertEqual(done.returncode, 9, done.stderr)
        self.assertGreater(sum(count for _, count in read_folded((self.directory / "next.folded").read_text())), 0.9 * 997 * 0.3)

    def test_what_a_static_program_cannot_have(self):
        self.need("gcc")
        made = self.static("-static")
        done = run([COMMAND, "run", "-e", "alloc", "-o", "x", "--", made, "0.1"], self.directory)
        self.assertEqual((done.returncode, list(self.directory.glob("x*"))), (2, []), done.stderr)
        self.assertIn("a preloaded library counts allocations", done.stderr)
        done = run([COMMAND, "run", "-F", "997", "--dump-every", "1s", "--min-samples", "100000", "-o", "x", "--", "./burns", "0.1"],
                   self.directory)
        self.assertEqual(done.returncode, 9, done.stderr)  # the command's own comes first
        self.assertIn("from outside these settings change nothing: FLAMEPROBE_DUMP_EVERY", done.stderr)
        self.assertIn("and --min-samples asks for 100,000", done.stderr)
        self.assertEqual({path.name for path in self.directory.glob("x.*")}, {"x.fprobe"})
        done = run([COMMAND, "run", "-o", "y", "--", "sh", "-c", "exit 4"], self.directory)
        self.assertEqual(done.returncode, 4, done.stderr)
        made.chmod(0o644)
        done = run([COMMAND, "run", "-o", "z", "--", made, "0.1"], self.directory)
        self.assertEqual((done.returncode, list(self.directory.glob("z*"))), (126, []), done.stderr)

    def test_a_program_by_its_loader(self):
        loader = Path("/lib64/ld-linux-x86-64.so.2")
        if not loader.exists():
            self.skipTest("there is no loader of this name")
        done = run([COMMAND, "run", "-F", "499", "-o", "x", "--", loader, *WORK], self.directory)
        self.assertNotIn("linked statically", done.stderr)
        self.assertTrue((self.directory / "x.svg").exists(), done.stderr)

    def under_signals(self, script):
        """Sends SIGTERM to `flameprobe run` once there are samples of the shell; returns its status and its last line."""
        with started([COMMAND, "run", "-F", "499", "-o", "shell.%p", "--", "sh", "-c", script], self.directory,
                     clean_environment()) as command:
            wait_until(lambda: list(self.directory.glob("shell.*.run/*.fprobe")), what="the first samples")
            command.send_signal(signal.SIGTERM)
            status = command.wait(timeout=60)
        lines = (self.directory / "flameprobe.log").read_text().splitlines()
        return status, lines

    def test_a_signal_for_the_command(self):
        status, lines = self.under_signals("trap 'exit 42' TERM; while :; do :; done")
        self.assertEqual(status, 42, lines)
        self.assertRegex(lines[-1], r"^flameprobe: .*shell\.\d+\.svg$")

    def test_a_deadly_signal_for_the_command(self):
        status, lines = self.under_signals("while :; do :; done")
        self.assertEqual(status, -signal.SIGTERM, lines)
        self.assertRegex(lines[-1], r"^flameprobe: .*shell\.\d+\.(svg|fprobe)$")


class Doctor(Case):
    REFUSED = [target("inject"), "perf_event_open", "1+", "EPERM", "--"]

    def told(self, done):
        """(engine, why) of doctor's report."""
        engine = re.search(r"(?m)^  engine +(\S+): (.*)$", done.stdout)
        self.assertIsNotNone(engine, done.stdout + done.stderr)
        return engine[1], engine[2]

    def check(self, before=(), **settings):
        """Doctor must name the engine that the library then uses; `before` is a command prefix for both."""
        directory = self.fresh_directory("-".join(settings) + ("refused" if before else "free"))
        variables = {f"FLAMEPROBE_{name}": value for name, value in settings.items()}
        doctor = run([*before, COMMAND, "doctor"], directory, env=clean_environment(**variables))
        if before and doctor.returncode == 125:
            self.skipTest(f"no tracing here: {doctor.stderr.strip()}")
        engine, why = self.told(doctor)
        # Not inject itself, which is where it is permitted.
        done = run([*before, "env", f"LD_PRELOAD={LIBRARY}", *WORK], directory,
                   env=clean_environment(FLAMEPROBE_LOG="stderr", **variables))
        self.assertEqual((done.returncode, done.stdout), (6, PRINTED), done.stderr)
        if engine == "none":
            self.assertEqual(doctor.returncode, 1)
            self.assertIn(why, done.stderr)
            self.assertEqual(done.results(), {})
            return engine
        self.assertEqual(doctor.returncode, 0)
        info = harness.render(done.result().path("fprobe"), "--info").stdout
        method = re.search(r"(?m)^Method: +engine (\S+) \((.*)\); unwinder (\w+), (.*?) of stack a sample; kernel (\w+)", info)
        self.assertIsNotNone(method, info)
        self.assertEqual(method[1], engine)
        self.assertTrue(method[2].startswith(why), f"{method[2]!r} is not what doctor said: {why!r}")
        unwinder, stack = re.search(r"(?m)^  unwinder +(\w+).*; (.*) of stack are copied", doctor.stdout).groups()
        self.assertEqual((method[3], method[4]), (unwinder, stack))
        self.assertEqual("yes" in re.search(r"(?m)^  kernel frames +(.*)$", doctor.stdout)[1], method[5] == "on", info)
        return engine

    def test_here(self):
        self.check()

    def test_it_ends_with_a_verdict(self):
        done = run([COMMAND, "doctor"], self.directory)
        self.assertRegex(done.stdout.splitlines()[-1], r"^It (works|does not work)(\.|; .* better\.)$")
        done = run([*ordinary_user(self), COMMAND, "doctor"], Path("/"))
        mends = len(set(re.findall(r"(?m)^ +mend: (.*)$", done.stdout)))
        verdict = {0: "It works.", 1: "the command after"}.get(mends, f"the {mends} commands after")
        self.assertIn(verdict, done.stdout.splitlines()[-1])

    def test_nothing_mends_kernel_frames_where_the_engine_has_none(self):
        done = run([*ordinary_user(self), "env", "FLAMEPROBE_ENGINE=timer", COMMAND, "doctor"], Path("/"))
        self.assertNotIn("kernel symbols", done.stdout)

    def test_without_the_library(self):
        """It does not say that it works, and only commands with the option --library name it."""
        alone = self.directory / "flameprobe"
        shutil.copy(COMMAND, alone)
        doctor = run([alone, "doctor"], self.directory)
        if "is not installed beside this program" not in doctor.stdout:
            self.skipTest("the library is installed on this machine too")
        self.assertEqual(doctor.returncode, 1)
        self.assertTrue(doctor.stdout.splitlines()[-1].startswith("It does not work"), doctor.stdout)
        for argv, names_it in ((["doctor"], False), (["stat", "-e", "offcpu", "true"], False), (["run", "true"], True)):
            done = run([alone, *argv], self.directory)
            self.assertEqual("--library" in done.stdout + done.stderr, names_it, argv)

    def test_engines_that_were_asked_for(self):
        self.assertEqual(self.check(ENGINE="timer", STACK="8192"), "timer")
        self.assertEqual(self.check(ENGINE="signal"), "timer")
        self.check(ENGINE="ring", KERNEL="off")

    def test_where_perf_is_refused(self):
        self.assertEqual(self.check(self.REFUSED), "timer")
        self.assertEqual(self.check(self.REFUSED, ENGINE="ring"), "none")

    def test_where_debug_information_of_libraries_comes_from(self):
        self.need("dpkg-query")
        report = run([COMMAND, "doctor", "dpkg-query"], self.directory).stdout
        libraries = report[report.index("\n  libraries "):]
        if "without debug info" not in libraries:
            self.skipTest("all libraries have it here")
        self.assertRegex(libraries, r"mend: .*apt install .*-dbg")
        self.assertIn("flameprobe-render --debuginfod", libraries)

    def test_what_a_stripped_program_lacks(self):
        self.need("strip")
        program = self.directory / "stripped"
        shutil.copy(host("ends"), program)
        subprocess.run(["strip", program], check=True, timeout=60)
        report = run([COMMAND, "doctor", program], self.directory).stdout
        self.assertRegex(report, r"(?m)^  symbols +exported functions only: .*\[stripped\+0x")
        self.assertRegex(report, r"(?m)^  debug info +none")
        self.assertRegex(report, r"(?m)^  unwind tables +yes")
        # By the name that it was asked for, as the picture has it.
        link = self.directory / "called"
        link.symlink_to(program)
        self.assertRegex(run([COMMAND, "doctor", link], self.directory).stdout, r"(?m)^  symbols +exported functions only: .*\[called\+0x")
        whole = run([COMMAND, "doctor", host("ends")], self.directory).stdout
        self.assertRegex(whole, r"(?m)^  symbols +all functions")
        done = run([program, *WORK[1:]], self.directory, env=profiled(FREQ=499))
        stacks = done.result().stacks()
        self.assertEqual(shares(stacks, "work_ms")[0], 0)
        self.assertGreater(sum(count for frames, count in stacks if any(frame.startswith("[stripped+0x") for frame in frames)), 50)
        self.assertLess(sum(count for frames, count in stacks if "[truncated]" in frames), 10)


if __name__ == "__main__":
    unittest.main()
