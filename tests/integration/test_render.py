"""flameprobe-render on profiles of real runs: archives, selection, merging, names, and progress."""

import base64
import http.server
import json
import os
import pty
import re
import shutil
import subprocess
import tempfile
import threading
import time
import unittest
import zlib
from pathlib import Path

import pprof_rules
from harness import (COMMAND, RENDER, ROOT, Case, Result, clean_environment, named, profiled, read_folded, render, run, shares, started,
                     wait_until)

PROGRAMS = Path(__file__).resolve().parent / "render_programs"
PATH = "/usr/bin:/bin:" + os.environ.get("PATH", "")


def build(output, source, *options):
    compiler = shutil.which("g++" if source.endswith("cpp") else "gcc", path=PATH)
    done = subprocess.run([compiler, "-O2", "-g", "-fno-lto", f"-I{ROOT / 'include'}", "-Wl,--build-id", *options, "-o",
                           str(output), str(PROGRAMS / source)], env=dict(clean_environment(), PATH=PATH),
                          capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise AssertionError(f"{source} does not compile: {done.stderr[-2000:]}")
    return output


def line_of_the_hot_loop():
    lines = (PROGRAMS / "phases.cpp").read_text().splitlines()
    return 1 + next(i for i, line in enumerate(lines) if "// the hot line" in line)


def lines_of(firefox):
    """Every line number in the frame tables of a profile for the Firefox Profiler."""
    if isinstance(firefox, list):
        return set().union(*map(lines_of, firefox))
    if not isinstance(firefox, dict):
        return set()
    own = set(firefox["frameTable"]["line"]) if "frameTable" in firefox else set()
    return own.union(*(lines_of(part) for part in firefox.values()))


class Recorded(Case):
    """One run of `phases`, recorded once for all tests of a class."""

    OPTIONS = ()

    @classmethod
    def setUpClass(cls):
        cls.shared = Path(tempfile.mkdtemp(prefix="flameprobe-render-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        cls.program = build(cls.shared / "phases", "phases.cpp", *cls.OPTIONS)
        cls.ran = run([cls.program, 600], cls.shared, profiled(FREQ=997, FORMAT="folded"))
        assert cls.ran.returncode == 0, cls.ran.stderr
        cls.profile = cls.ran.result("phases").path("fprobe")

    def folded(self, *options, source=None, env=None):
        done = render(source or self.profile, *options, "-f", "folded", "-o", "-", env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        return read_folded(done.stdout)


class Selection(Recorded):
    def test_scope(self):
        stacks = self.folded("--scope", "checkout")
        self.assertGreater(shares(stacks, "early_phase")[0], 100)
        self.assertEqual(shares(stacks, "late_phase")[0], 0)

    def test_by_scope(self):
        done = render(self.profile, "--by-scope")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = {word: line for line in done.stdout.splitlines() for word in ("checkout", "payment") if word in line}
        self.assertEqual(set(rows), {"checkout", "payment"}, done.stdout)

    def test_pid(self):
        pid = self.ran.result("phases").pid
        self.assertEqual(self.folded("--pid", pid), self.folded())
        self.assertEqual(render(self.profile, "--pid", pid + 1, "-f", "folded", "-o", "-").returncode, 1)

    def test_time(self):
        whole, parts = self.folded(), []
        # Samples before a point in time and those from it on are all samples, whatever the point.
        for cut in ("590ms", "0.9s"):
            before, after = self.folded("--to", cut), self.folded("--from", cut)
            # Each is rounded to periods.
            self.assertAlmostEqual(sum(c for _, c in before) + sum(c for _, c in after), sum(c for _, c in whole), delta=1)
            parts.append((before, after))
        first = parts[0][0]
        self.assertGreater(shares(first, "early_phase")[0], 0)
        # The phases take 600 ms of CPU time each, so at least 600 ms of the clock.
        self.assertEqual(shares(first, "late_phase")[0], 0)

    def test_a_window_has_a_start_and_duration_of_its_own(self):
        told = {}
        for name, window in {"whole": (), "part": ("--from", "200ms", "--to", "700ms")}.items():
            path = self.directory / f"{name}.pb.gz"
            done = render(self.profile, *window, "-o", path)
            self.assertEqual(done.returncode, 0, done.stderr)
            told[name] = pprof_rules.read(path)
        self.assertEqual(told["part"].time, told["whole"].time + 200_000_000)
        self.assertEqual(told["part"].duration, 500_000_000)
        self.assertGreater(told["whole"].duration, 1_000_000_000)

    def test_reverse_and_icicle(self):
        texts = {}
        for option in ((), ("--reverse",), ("--icicle",)):
            done = render(self.profile, *option, "-f", "svg", "-o", "-")
            self.assertEqual(done.returncode, 0, done.stderr)
            texts[option] = done.stdout
            self.assertIn("early_phase", done.stdout)
        self.assertEqual(len(set(texts.values())), 3)


class Provenance(Recorded):
    def render_to(self, name, *options):
        done = render(self.profile, *options, "-o", self.directory / name)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def names(self):
        return {path.name for path in self.directory.iterdir()}

    def test_beside_each_picture(self):
        for name in ("a.svg", "b.html", "c.folded", "d.json"):
            self.assertEqual(self.render_to(name), "")
        self.assertEqual(self.names(), {"a.svg", "a.txt", "b.html", "b.txt", "c.folded", "d.json"})
        text = (self.directory / "a.txt").read_text()
        self.assertTrue(text.startswith(f"command: {self.program} 600\n"), text)
        self.assertIn("frequency asked: 997 Hz\n", text)
        self.assertEqual(text, (self.directory / "b.txt").read_text())
        self.render_to("a.svg")  # the older one is replaced
        self.assertEqual((self.directory / "a.txt").read_text(), text)

    def test_of_both_sides_of_a_comparison(self):
        (self.directory / "old.folded").write_text("main;early_phase 100\n")
        for before, after, sides in ((self.profile, self.profile, ["before", "after"]),
                                     (self.directory / "old.folded", self.profile, ["after"])):
            with self.subTest(sides=sides):
                done = render("--diff", before, after, "-o", self.directory / "change.svg")
                self.assertEqual((done.returncode, done.stderr), (0, ""))  # the older text is replaced
                lines = (self.directory / "change.txt").read_text().splitlines()
                self.assertEqual([line.split(" ")[0] for line in lines if " command: " in line], sides)
                self.assertIn(f"after command: {self.program} 600", lines)
                self.assertTrue(all(line.split(" ")[0] in sides for line in lines), lines)

    def test_not_where_there_is_no_picture_or_something_else(self):
        (self.directory / "notes.txt").write_text("commands: none\n")
        self.assertIn("notes.txt: is no provenance of a picture, and was left as it is", self.render_to("notes.svg"))
        self.assertEqual((self.directory / "notes.txt").read_text(), "commands: none\n")
        self.assertEqual(render(self.profile, "-f", "svg", "-o", "/dev/null").returncode, 0)
        self.assertFalse(Path("/dev/null.txt").exists())
        self.assertEqual(render(self.profile, "-o", self.directory / "none.svg", "--min-samples", "1000000000").returncode, 3)
        self.assertEqual(self.names(), {"notes.txt", "notes.svg"})


class Comment(Recorded):
    def test_a_comment_of_one_profile(self):
        told = render(self.profile, "--for", "github")
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertEqual(told.stdout.splitlines()[0].strip("*").replace("\\", ""), json.loads(render(self.profile, "-f", "json", "-o", "-").stdout)["answers"][0]["sentence"])
        self.assertEqual(render(self.profile, "--for", "github", "-o", self.directory / "comment.md").stdout, "")
        self.assertEqual((self.directory / "comment.md").read_text(), told.stdout)
        for other in (["--diff", self.profile], ["--top", "3"]):
            refused = render(self.profile, "--for", "github", *other)
            self.assertEqual(refused.returncode, 2)
            self.assertIn("--for github makes a comment of one profile", refused.stderr)


class Archive(Recorded):
    def test_names_lines_and_inlined_functions_outlive_the_binary(self):
        archived, moved = self.directory / "archived.fprobe", self.directory / "gone"
        before = self.folded()
        done = render("--archive", self.profile, "-o", archived)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.program.rename(moved)
        try:
            without = self.folded()
            self.assertEqual(shares(without, "early_phase")[0], 0, "names come from somewhere else: this tests nothing")
            self.assertEqual(self.folded(source=archived), before)
            self.assertTrue(any("inlined_step_[i]" in f for frames, _ in before for f in frames), before[:5])
            frames = json.loads(render(archived, "-f", "speedscope", "-o", "-").stdout)["shared"]["frames"]
            firefox = json.loads(render(archived, "-f", "firefox", "-o", "-").stdout)
        finally:
            moved.rename(self.program)
        files = {f["file"] for f in frames if named([f["name"]], "inlined_step")}
        self.assertEqual({Path(file).name for file in files}, {"phases.cpp"})
        self.assertIn(line_of_the_hot_loop(), lines_of(firefox))


class Source(Recorded):
    def facts(self, *argv):
        """The data of a page."""
        page = self.directory / "page.html"
        done = render(*argv, "-o", page)
        self.assertEqual(done.returncode, 0, done.stderr)
        packed = re.search(r'<script id="profile" type="text/plain">(.*?)</script>', page.read_text(encoding="utf-8"), re.S)
        return json.loads(zlib.decompress(base64.b64decode(packed[1])))

    def test_lines_and_instructions_add_up_to_the_function(self):
        facts = self.facts("--source", self.profile)
        names = facts["functions"]["name"]
        phase = next(one for one in facts["source"]["functions"] if "early_phase" in names[one["fn"]])
        # The function's own samples and those of what is inlined into it, as folded text has them. What stands below a
        # [kernel: page fault], of an ordinary user, is the kernel's.
        truth = lines = 0
        for frames, count in self.folded():
            code = [frame for frame in frames if frame not in ("[checkout]", "[payment]") and not frame.endswith("_[i]")]
            if named(code[-1:], "early_phase"):
                truth, lines = truth + count, lines + 1

        def own(lines):
            return sum(self_ + sum(own(inner) for _, inner in inlined) for _, self_, _, inlined, _ in lines)
        self.assertGreater(truth, 50)
        self.assertAlmostEqual(phase["self"] / facts["sampling"], truth, delta=lines)
        self.assertEqual(own(phase["lines"]), phase["self"])
        self.assertEqual(sum(self_ for _, self_, _, _ in phase["code"]), phase["self"], phase["note"])
        self.assertTrue(any(text.startswith("ret") for _, _, text, _ in phase["code"]), phase["code"][:5])
        self.assertIn("early_phase", " ".join(text for _, text in phase["text"]))
        # The line that the time is spent on is the hot one, in the function that was inlined.
        hot = {}

        def add(lines, fn):
            for number, self_, _, inlined, _ in lines:
                hot[names[fn].split("(")[0], number] = hot.get((names[fn].split("(")[0], number), 0) + self_
                for inner, below in inlined:
                    add(below, inner)
        add(phase["lines"], phase["fn"])
        self.assertEqual(max(hot, key=hot.get)[1], line_of_the_hot_loop(), hot)

    def test_code_is_not_shown_unasked(self):
        self.assertNotIn("source", self.facts(self.profile))

    def test_the_advice_for_a_file_that_is_elsewhere_finds_it(self):
        built, moved = self.directory / "built", self.directory / "moved"
        built.mkdir()
        shutil.copy(PROGRAMS / "phases.cpp", built)
        program = build(self.directory / "phases", str(built / "phases.cpp"))
        profile = run([program, 300], self.directory, profiled(FREQ=997, FORMAT="none")).result("phases").path("fprobe")
        built.rename(moved)

        def phase(*argv):
            facts = self.facts(*argv, profile)
            return next(one for one in facts["source"]["functions"] if "early_phase" in facts["functions"]["name"][one["fn"]])
        before = phase("--source")
        self.assertEqual(before["text"], [])
        after = phase(re.search(r"--source\S*DIR", before["note"])[0].replace("DIR", str(moved)))
        self.assertIn("early_phase", " ".join(text for _, text in after["text"]))

    def test_code_without_lines(self):
        (self.directory / "stacks.folded").write_text("main;work 10\n")
        done = render("--source", self.directory / "stacks.folded", "-o", self.directory / "page.html")
        self.assertEqual(done.returncode, 0)
        self.assertIn("--source: no lines are known", done.stderr)

    def test_only_a_page_can_show_it(self):
        for argv in (["-o", self.directory / "x.svg"], ["--top", "5"]):
            done = render("--source", self.profile, *argv)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("--source belongs to a page", done.stderr)
        self.assertFalse((self.directory / "x.svg").exists())


class Merge(Recorded):
    def peak(self, inputs, output):
        """The most KiB that were allocated at a time, as glibc's libmemusage.so counts them. Resident memory would also
        tell of arenas, mapped files and the parent's pages, which differ from machine to machine and run to run."""
        done = subprocess.run([RENDER, *map(str, inputs), "-o", str(output)], stdin=subprocess.DEVNULL,
                              env=clean_environment() | {"LD_PRELOAD": "libmemusage.so"}, text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        counted = re.search(r"heap peak: (\d+)", done.stderr)
        self.assertIsNotNone(counted, done.stderr[:2000])
        return int(counted[1]) // 1024

    def test_a_thousand_profiles_take_no_more_memory_than_a_hundred(self):
        inputs = []
        for number in range(1000):
            inputs.append(self.directory / f"{number}.fprobe")
            shutil.copy(self.profile, inputs[-1])
        # How many are read at a time is the scheduler's choice, up to the number of CPUs.
        few = max(self.peak(inputs[:100], self.directory / "few.folded") for _ in range(5))
        many = self.peak(inputs, self.directory / "many.folded")
        # What is distinct is the same in both. Each input has a path and facts, and files are named by a few threads
        # together: 4 KiB for each is ample. A profile that is kept takes more than the 8 KiB that it has on disk.
        self.assertLess(many, few + 900 * 4, f"{few} KiB for 100 profiles, {many} KiB for 1,000")
        once = sum(count for _, count in self.folded())  # rounded to a period
        self.assertAlmostEqual(sum(c for _, c in read_folded((self.directory / "many.folded").read_text())), 1000 * once, delta=501)

    def test_an_empty_profile_among_others_is_left_out_with_a_word(self):
        empty, merged = self.directory / "killed.fprobe", self.directory / "all.folded"
        empty.touch()
        for options in ((), ("--tree",)):
            expected = self.folded(*options)
            for others in ([self.profile], [self.profile, self.profile]):
                done = render(*options, empty, *others, "-o", merged)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(f"{empty}: left out: is empty", done.stderr)
                self.assertAlmostEqual(sum(count for _, count in read_folded(merged.read_text())),
                                       len(others) * sum(count for _, count in expected), delta=2)
        done = render(empty, empty, "-o", self.directory / "none.folded")
        self.assertEqual((done.returncode, (self.directory / "none.folded").exists()), (1, False))
        self.assertIn("is empty", done.stderr)


class Folded(Case):
    def test_a_million_zero_counts(self):
        zeros = self.directory / "zeros.folded"
        with open(zeros, "w", encoding="ascii") as file:
            for number in range(1_000_000):
                file.write(f"main;f{number} 0\n")
        only = render(zeros, "-f", "folded", "-o", "-")
        self.assertEqual((only.returncode, only.stdout), (1, ""), only.stderr)
        self.assertEqual(len(only.stderr.splitlines()), 1, only.stderr[:500])
        with open(zeros, "a", encoding="ascii") as file:
            file.write("main;counted 7\n")
        for form in ("folded", "svg", "json"):
            done = render(zeros, "-f", form, "-o", "-")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("counted", done.stdout)
            self.assertNotIn("f99", done.stdout, "a stack without samples is in the output")


class Names(Case):
    def test_a_program_that_deletes_itself(self):
        program = build(self.directory / "phases", "phases.cpp")
        ran = run([program, 200, "delete-me"], self.directory, profiled(FREQ=997))
        self.assertEqual((ran.returncode, ran.stdout), (0, "done\n"), ran.stderr)
        self.assertFalse(program.exists())
        self.assert_function(ran.result().stacks(), "early_phase", 50)

    def test_a_program_that_was_replaced_while_it_ran(self):
        program = build(self.directory / "phases", "phases.cpp")
        other = build(self.directory / "other", "ever_new.c")
        with started([program, 1000], self.directory, profiled(FREQ=997, FORMAT="folded")) as process:
            wait_until(lambda: list(self.directory.glob("flameprobe.phases.*.run/*.fprobe")), 60, "a profile")
            os.replace(other, program)
            self.assertEqual(process.wait(120), 0)
        log = (self.directory / "phases.log").read_text()
        result = Result(next(self.directory.glob("flameprobe.phases.*.fprobe")).with_suffix(""))
        self.assert_function(result.stacks(), "early_phase", 200)  # from what is mapped
        self.assertEqual(log, "done\n")
        # Later only the new file is left, and its names would be wrong: the profile has the old one's.
        later = render(result.path("fprobe"), "-f", "folded", "-o", "-")
        self.assertEqual(later.returncode, 0, later.stderr)
        self.assert_function(read_folded(later.stdout), "early_phase", 200)
        self.assertFalse({frame for frames, _ in read_folded(later.stdout) for frame in frames} & {"next", "left", "right"})

    def test_a_library_in_memory_only(self):
        loader = build(self.directory / "loader", "loader.c", "-ldl")
        plugin = build(self.directory / "plugin.so", "plugin.c", "-shared", "-fPIC", "-DWORK=work_in_memory")
        ran = run([loader, 8, f"memfd:{plugin}", "work_in_memory"], self.directory, profiled(FREQ=997))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assert_function(ran.result().stacks(), "work_in_memory", 20)

    def test_two_libraries_one_after_the_other_at_one_address(self):
        loader = build(self.directory / "loader", "loader.c", "-ldl")
        argv = [loader, 10]
        for name in ("work_of_a", "work_of_b"):
            argv += [build(self.directory / f"{name}.so", "plugin.c", "-shared", "-fPIC", f"-DWORK={name}"), name]
        ran = run(argv, self.directory, profiled(FREQ=997))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        places = {}
        for line in ran.stdout.splitlines():
            name, address = line.split()
            places.setdefault(address, []).append(name)
        reused = max(places.values(), key=len)
        self.assertEqual(set(reused), {"work_of_a", "work_of_b"}, ran.stdout)
        stacks = ran.result().stacks()
        (a, _), (b, _) = shares(stacks, "work_of_a"), shares(stacks, "work_of_b")
        # The same work, equally often.
        self.assertGreater(min(a, b), 50, f"{a} and {b} samples")
        self.assertLess(max(a, b), 2 * min(a, b), f"{a} and {b} samples")

    def test_code_of_a_jit(self):
        node = shutil.which("node", path=PATH)
        if node is None:
            self.skipTest("node is not installed (Debian: nodejs)")
        script = self.directory / "work.js"
        script.write_text("function compiledByTheJit(n) { let v = 1; for (let i = 0; i < n; ++i) v = (v * 31 + i) % 65537;"
                          " return v; }\nlet s = 0; const end = process.cpuUsage().user + 700000;"
                          "\nwhile (process.cpuUsage().user < end) s += compiledByTheJit(20000);\nconsole.log(s > 0);\n")
        ran = run([node, "--perf-basic-prof", script], self.directory, profiled(FREQ=997))
        for path in Path("/tmp").glob(f"perf-{ran.pid}.map"):
            self.addCleanup(path.unlink, missing_ok=True)
        self.assertEqual((ran.returncode, ran.stdout), (0, "true\n"), ran.stderr)
        self.assert_function(ran.result().stacks(), "compiledByTheJit", 50)


    def test_python_with_a_perf_map(self):
        python = next((p for name in ("python3", "python3.13", "python3.12") if (p := shutil.which(name, path=PATH)) and
                       subprocess.run([p, "-c", "import sys; sys.activate_stack_trampoline"],
                                      env=clean_environment(), capture_output=True, check=False).returncode == 0), None)
        if python is None:
            self.skipTest("no Python has sys.activate_stack_trampoline (3.12)")
        script = self.directory / "work.py"
        script.write_text("import time\ndef inner_work(n):\n    return sum(i * i for i in range(n))\n"
                          "def outer_work():\n    while time.process_time() < 0.7: inner_work(2000)\n"
                          "outer_work(); print('done')\n")
        ran = run([python, "-X", "perf", script], self.directory, profiled(FREQ=997))
        self.addCleanup(Path(f"/tmp/perf-{ran.pid}.map").unlink, missing_ok=True)
        self.assertEqual((ran.returncode, ran.stdout), (0, "done\n"), ran.stderr)
        stacks = max((r.stacks() for r in ran.results().values()), key=lambda s: shares(s, "inner_work")[0])
        self.assert_function(stacks, "inner_work", 50)


class DebugServer:
    """What debuginfod serves, on the loopback: the debug file of one build id, nothing, or no answer at all."""

    def __init__(self, path=None, hang=False):
        outer, self.asked, self.over = self, [], threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked.append(self.path)
                if hang:
                    outer.over.wait(120)
                    return
                known = path is not None and self.path == f"/buildid/{build_id(path)}/debuginfo"
                body = Path(path).read_bytes() if known else b""
                self.send_response(200 if known else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.server.shutdown()
        self.server.server_close()


def build_id(path):
    notes = subprocess.run(["readelf", "-n", str(path)], env=dict(clean_environment(), PATH=PATH), capture_output=True,
                           text=True, check=True).stdout
    return re.search(r"Build ID: ([0-9a-f]+)", notes)[1]


class Debuginfod(Recorded):
    """The program's debug information is moved away, so that only a server has it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.debug = cls.shared / "away.debug"
        for argv in (["objcopy", "--only-keep-debug", cls.program, cls.debug], ["strip", "--strip-all", cls.program]):
            subprocess.run([str(a) for a in argv], env=dict(clean_environment(), PATH=PATH), check=True, timeout=60)

    def setUp(self):
        super().setUp()
        if not any(Path("/usr/lib").glob("*/libdebuginfod.so.1")) and not Path("/usr/lib64/libdebuginfod.so.1").exists():
            self.skipTest("the client library is not installed (Debian: libdebuginfod1)")

    def asking(self, url):
        # The client's own patience is far beyond ours.
        return clean_environment(DEBUGINFOD_URLS=url, DEBUGINFOD_CACHE_PATH=self.directory / "cache",
                                 DEBUGINFOD_TIMEOUT="600", no_proxy="127.0.0.1")

    def test_a_file_that_only_the_server_has(self):
        with DebugServer(self.debug) as server:
            stacks = self.folded("--debuginfod", env=self.asking(server.url))
        self.assertTrue(any("inlined_step_[i]" in f for frames, _ in stacks for f in frames), stacks[:5])
        self.assert_function(stacks, "early_phase", 100)

    def test_never_asked_by_default(self):
        with DebugServer(self.debug) as server:
            stacks = self.folded(env=self.asking(server.url))
            ran = run([self.program, 50], self.directory,
                      dict(profiled(FREQ=997), **{k: v for k, v in self.asking(server.url).items() if "DEBUGINFOD" in k}))
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertEqual(server.asked, [])
        self.assertEqual(shares(stacks, "early_phase")[0], 0)

    def test_a_server_that_never_answers_is_left_after_the_time_for_all_files(self):
        with DebugServer(hang=True) as server:
            done = render(self.profile, "--debuginfod=2s", "-f", "folded", "-o", "-", env=self.asking(server.url), timeout=60)
            self.assertGreater(len(server.asked), 0)
        self.assertFalse(done.timed_out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("debuginfod did not answer in time", done.stderr)
        self.assertGreater(sum(count for _, count in read_folded(done.stdout)), 100)

    def test_no_servers(self):
        done = render(self.profile, "--debuginfod", "-f", "folded", "-o", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("DEBUGINFOD_URLS is not set", done.stderr)
        self.assertEqual(render(self.profile, "--debuginfod=soon", "--info").returncode, 2)


class DebugDirectories(Recorded):
    """The program's debug information is moved below a directory of the user's, by build id or by the debuglink's name."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        debug, cls.root = cls.shared / "phases.debug", cls.shared / "root"
        for argv in (["objcopy", "--only-keep-debug", cls.program, debug],
                     ["objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", cls.program]):
            subprocess.run([str(a) for a in argv], env=dict(clean_environment(), PATH=PATH), check=True, timeout=60)
        identity = build_id(cls.program)
        cls.by_id = cls.root / ".build-id" / identity[:2] / f"{identity[2:]}.debug"
        cls.by_link = Path(f"{cls.root}{cls.shared}") / debug.name
        for path in (cls.by_id, cls.by_link):
            path.parent.mkdir(parents=True)
        debug.rename(cls.by_id)

    def assert_named(self, stacks, named=True):
        self.assertEqual(any("inlined_step_[i]" in f for frames, _ in stacks for f in frames), named, stacks[:5])

    def in_the_host(self, name, **settings):
        directory = self.fresh_directory(name)
        ran = run([self.program, 100], directory, profiled(FREQ=997, FORMAT="folded", **settings))
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return ran.result().stacks()

    def test_by_build_id(self):
        self.assert_named(self.folded(), False)
        self.assert_named(self.folded("--debug-dir", self.root))
        self.assert_named(self.folded(env=clean_environment(FLAMEPROBE_DEBUG_DIR=f"/nowhere:{self.root}")))
        self.assert_named(self.in_the_host("without"), False)
        self.assert_named(self.in_the_host("with", DEBUG_DIR=f"/nowhere:{self.root}"))

    def test_where_the_command_draws(self):
        """With options of pictures the library draws nothing: `flameprobe run` does, and looks where it was told to."""
        drawn = run([COMMAND, "run", "-F", 997, "-f", "folded", "-o", "told", "--debug-dir", self.root, "--merge-threads", self.program, 100],
                    self.directory)
        self.assertEqual(drawn.returncode, 0, drawn.stderr)
        self.assert_named(read_folded((self.directory / "told.folded").read_text()))

    def test_by_debuglink(self):
        self.by_id.rename(self.by_link)
        try:
            self.assert_named(self.folded("--debug-dir", self.root))
            self.assert_named(self.in_the_host("with", DEBUG_DIR=self.root))
            # Debug information of another build: the checksum in the link is not that of this file.
            good = self.by_link.read_bytes()
            self.by_link.write_bytes(good + b"\0")
            self.assert_named(self.folded("--debug-dir", self.root), False)
            self.by_link.write_bytes(good)
        finally:
            self.by_link.rename(self.by_id)


class Progress(Case):
    def errors_on_a_terminal(self, argv, feed):
        """What a program writes to a terminal as its stderr."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs,
                                   env=clean_environment(), start_new_session=True)
        os.close(theirs)
        feed()
        text = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # EIO: no process has the terminal open any more
                break
            if not piece:
                break
            text += piece
        os.close(ours)
        self.assertEqual(process.wait(60), 0, text)
        return text.decode()

    def test_shown_on_a_terminal_while_inputs_are_read_and_gone_afterwards(self):
        quick, slow = self.directory / "quick.folded", self.directory / "slow"
        quick.write_text("main;a 1\n")
        os.mkfifo(slow)

        def feed():
            with open(slow, "w", encoding="ascii") as file:
                time.sleep(1)  # longer than the half second for which nothing is shown
                file.write("main;b 1\n")

        argv = [str(RENDER), str(quick), str(slow), str(quick), "-o", str(self.directory / "out.folded")]
        shown = self.errors_on_a_terminal(argv, feed)
        self.assertIn("reading profiles: 2 of 3", shown)
        self.assertTrue(shown.endswith("\r\x1b[K"), repr(shown))
        feeder = threading.Thread(target=feed)
        feeder.start()
        quiet = run(argv, self.directory)
        feeder.join()
        self.assertEqual((quiet.returncode, quiet.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
