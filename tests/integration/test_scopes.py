"""Scopes and the linked library from end to end: exactness by known truth, and an example in each language."""

import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import harness
from figures import UNKNOWN
from harness import BUILD, EMULATED, LIBRARY, SIZE, Case, clean_environment, profiled, read_folded, run, sized

sys.path.insert(0, str(Path(__file__).parent / "api"))
import scope_truth  # noqa: E402

API = Path(__file__).parent / "api"
PROGRAMS = BUILD / "tests" / "integration" / "api"


def scopes_of(stacks):
    """Samples by the scopes they carry, outermost first."""
    found = {}
    for frames, count in stacks:
        # The first frame is the thread. Notes of ours and code without a name look alike.
        scopes = tuple(f[1:-1] for f in frames[1:] if f.startswith("[") and f.endswith("]") and not UNKNOWN.match(f)
                       and f not in ("[truncated]", "[lost]", "[not sampled]") and not f.startswith("[kernel"))
        found[scopes] = found.get(scopes, 0) + count
    return found


class Exact(Case):
    def check(self, program, engine, frequency, rounds):
        directory = self.fresh_directory(f"{program}-{engine}-{frequency}")
        done = run([PROGRAMS / program, rounds], directory,
                   env=profiled(ENGINE=engine, FREQ=frequency, FORMAT="folded", KERNEL="off"), timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        units = {int(label): int(mine) for label, mine in (line.split() for line in done.stdout.splitlines())}
        tally = scope_truth.Tally(done.result().stacks())
        outside = tally.shares_outside_interval(units)
        print(f"{program} {engine} {frequency} Hz: {tally}, shares outside the 99.9 % interval: {len(outside)} of {len(units)}")
        self.assertEqual(tally.wrong(), 0, tally.examples)
        self.assertGreater(tally.count["right"], 100)
        # Missing: the few instructions of a jump or a throw in which a stack cannot be walked.
        self.assertLessEqual(tally.count["missing"], 1 + tally.count["inside"] / 200, tally.examples)
        # No deeper than the copy, so every one must be whole: a stack switched by hand ends like any other.
        self.assertGreater(tally.fibers["right"], 5)
        self.assertLessEqual(tally.fibers.total() - tally.fibers["right"], 1 + tally.fibers["right"] / 200, tally.fibers)
        # One in a thousand labels is outside by chance, and a few more where timers come late, on a busy machine: the
        # sample after that stands for several.
        self.assertLessEqual(len(outside), 6, outside)

    def test_ring(self):
        for program in ("exact_shares_O2",) if EMULATED else ("exact_shares_O2", "exact_shares_O0", "exact_shares_clang"):
            if not (PROGRAMS / program).exists():
                continue
            with self.subTest(program=program):
                self.check(program, "ring", 3989, sized(400, 1500, 100))

    def test_timer(self):
        # At most one sample a tick of the kernel: where ticks are late (a busy virtual machine), one sample counts for
        # several, and chance with it. The lower the rate, the less.
        self.check("exact_shares_O2", "timer", 99, sized(1500, 6000, 300))


class Languages(Case):
    def stacks(self, argv, env=None):
        stem = self.directory / "result"
        done = run([*argv, stem], self.directory, env=env or clean_environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        return scopes_of(read_folded(Path(f"{stem}.folded").read_text()))

    def assert_scopes(self, found, *expected, brief=()):
        """`brief`: a scope that is seldom sampled."""
        for scopes in expected:
            self.assertGreater(found.get(scopes, 0), 20, f"{scopes} in {found}")
        unexpected = {scopes: n for scopes, n in found.items() if scopes and scopes not in (*expected, brief)}
        self.assertFalse(unexpected, found)

    def test_c(self):
        self.assert_scopes(self.stacks([PROGRAMS / "example_c"]), ("checkout",), ("checkout", "pay"), ("tenant=acme",))
        for ending in ("fprobe", "folded"):
            kept = harness.render(self.directory / f"result.{ending}", "--scope", "tenant=acme", "-f", "folded")
            self.assertEqual(set(scopes_of(read_folded(kept.stdout))), {("tenant=acme",)}, kept.stderr)

    def test_cpp(self):
        found = self.stacks([PROGRAMS / "example_cpp"])
        in_pool = [("request", f"tenant={tenant}", "in the pool") for tenant in ("acme", "globex")]
        for scopes in in_pool:
            self.assertGreater(found.get(scopes, 0), 20, found)
        for scopes in found:
            self.assertTrue(scopes == () or any(scopes == whole[:len(scopes)] for whole in in_pool), found)

    def test_rust(self):
        rustc = shutil.which("rustc")
        if rustc is None:
            self.skipTest("rustc is not installed")
        program = self.directory / "example_rs"
        built = run([rustc, "--edition", "2021", "-O", API / "example.rs", "-o", program, "-L", f"native={LIBRARY.parent}",
                     "-l", "flameprobe", "-C", f"link-args=-Wl,-rpath,{LIBRARY.parent}"], self.directory,
                    env=dict(os.environ))
        self.assertEqual(built.returncode, 0, built.stderr)
        self.assert_scopes(self.stacks([program]), ("checkout",), ("checkout", "pay"), ("tenant=acme",))

    def test_python(self):
        self.assert_scopes(self.stacks([sys.executable, API / "example.py", LIBRARY]), ("checkout",), ("checkout", "pay"),
                           brief=("fails",))


class WithoutLibrary(Case):
    """Programs with guards in them that are not linked with the library."""

    def test_they_need_nothing(self):
        for program in ("exact_shares_O2", "carried_scopes", "carried_scopes_no_pie"):
            needed = subprocess.run(["readelf", "-d", PROGRAMS / program], capture_output=True, text=True, check=True).stdout
            self.assertNotIn("flameprobe", needed)
            undefined = subprocess.run(["nm", "-u", PROGRAMS / program], capture_output=True, text=True, check=True).stdout
            self.assertNotIn("flameprobe", undefined)
            self.assertEqual(run([PROGRAMS / program, 1], self.directory).returncode, 0)

    def test_contexts_of_coroutines(self):
        for program in ("carried_scopes", "carried_scopes_no_pie"):
            with self.subTest(program=program):
                directory = self.fresh_directory(program)
                done = run([PROGRAMS / program], directory, env=profiled(FREQ=1999, FORMAT="folded"))
                self.assertEqual(done.returncode, 0, done.stderr)
                seen = set()
                for frames, _ in done.result().stacks():
                    for function, scopes in (("for_red", ["[red]"]), ("for_blue", ["[blue]"]), ("for_nobody", [])):
                        if harness.named(frames, function):
                            self.assertEqual([f for f in frames if f in ("[red]", "[blue]")], scopes, frames)
                            seen.add(function)
                self.assertEqual(seen, {"for_red", "for_blue", "for_nobody"})


class Guards(Case):
    """The machine code of a guard, and what it leaves in memory and results."""

    def calls(self, compiler, source, *flags):
        """The undefined symbols of the object code, and the code itself."""
        made = self.directory / "guards.o"
        built = run([compiler, "-O2", "-fPIC", "-Wall", "-Wextra", "-Werror", *flags, f"-I{harness.ROOT / 'include'}", "-c",
                     API / source, "-o", made], self.directory, env=dict(os.environ))
        self.assertEqual(built.returncode, 0, built.stderr)
        undefined = subprocess.run(["nm", "-u", made], capture_output=True, text=True, check=True).stdout
        code = subprocess.run(["objdump", "-dr", "--no-show-raw-insn", made], capture_output=True, text=True, check=True).stdout
        return {line.split()[-1] for line in undefined.splitlines()}, code

    def test_object_code(self):
        """The only calls are the program's own (`work`), and one of abort that is never reached."""
        self.need("nm", "objdump")
        cpp17, cpp20 = (["-fno-exceptions", f"-std=c++{year}"] for year in (17, 20))  # else the unwinder's names are there
        compilers = [(c, s, f) for c, s, f in (
            ("gcc", "only_guards.c", ["-std=c11"]), ("g++", "only_guards.cpp", cpp17), ("g++", "only_guards.cpp", cpp20),
            ("clang-14", "only_guards.c", ["-std=c11"]), ("clang++-14", "only_guards.cpp", cpp17),
            ("clang++-14", "only_guards.cpp", cpp20)) if shutil.which(c)]
        self.assertTrue(compilers)
        for compiler, source, flags in compilers:
            with self.subTest(compiler=compiler, flags=flags):
                undefined, code = self.calls(compiler, source, *flags)
                self.assertEqual(undefined - {"_GLOBAL_OFFSET_TABLE_"}, {"work", "abort"})
                self.assertNotRegex(code, r"\tj[a-z]+ ", "a branch, where a guard has none")
                # Straight on, so that nothing reaches what stands behind the end of a function.
                previous = instruction = ""
                for line in code.splitlines():
                    if line.endswith(">:"):
                        instruction = "beginning"
                    elif "R_X86_64" not in line and (found := re.match(r" *[0-9a-f]+:\t(\w+)", line)):
                        if found[1] != "nop" and found[1] != "nopl":
                            previous, instruction = instruction, found[1]
                    elif "abort" in line:
                        self.assertIn(previous, ("beginning", "ret"), code)

    def test_any_number_leaves_the_result_no_bigger(self):
        guards = sized(15 * 10**7, 10**9)
        sizes = {}
        seconds = None
        for mode in ("guards", "plain"):
            directory = self.fresh_directory(mode)
            done = run([PROGRAMS / "guards", mode, guards if mode == "guards" else seconds], directory,
                       env=profiled(FREQ=499, FORMAT="folded"), timeout=100)
            self.assertEqual(done.returncode, 0, done.stderr)
            seconds = done.stdout.strip()
            result = done.result()
            sizes[mode] = [result.path(ending).stat().st_size for ending in ("fprobe", "folded")]
            labelled = sum(count for frames, count in result.stacks() if "[guarded]" in frames)
            self.assertEqual(labelled > 50, mode == "guards")
        print(f"{guards} guards in {seconds} s: .fprobe and .folded of {sizes['guards']} bytes; without: {sizes['plain']}")
        for guards, plain in zip(sizes["guards"], sizes["plain"]):
            self.assertLess(guards, 2 * plain + 8192)


class Interface(Case):
    """The library's exported symbols are what programs were linked against."""

    def exported(self):
        out = subprocess.run(["readelf", "-W", "--dyn-syms", LIBRARY], capture_output=True, text=True, check=True).stdout
        names = set()
        for line in out.splitlines():
            fields = line.split()
            if len(fields) >= 8 and fields[6] != "UND" and fields[4] in ("GLOBAL", "WEAK") and "flameprobe_" in fields[7]:
                names.add(fields[7])
        return names

    def test_symbols_keep_their_versions(self):
        promised = set((API / "symbols.txt").read_text().split())
        self.assertEqual(promised - self.exported(), set(), "gone from the library: programs linked against it break")
        self.assertEqual(self.exported() - promised, set(), "new: add them to symbols.txt, in a version of their own")

    def test_sizes(self):
        """Sizes of the structures that callers allocate. ctypes lays structures out as the compiler does."""
        sys.path.insert(0, str(API))
        import example
        self.assertEqual(ctypes.sizeof(example.Error), 512)
        self.assertEqual(ctypes.sizeof(example.Options), 112)
        sizes = run([PROGRAMS / "sizes"], self.directory).stdout.split()
        self.assertEqual(sizes, ["24", "112", "512"])

    def start(self, options, size_of_error=None):
        """Calls start in a child process, since sampling cannot be undone. Returns the code and the message."""
        code = f"""
import ctypes, sys
sys.path.insert(0, {str(API)!r})
import example
library = ctypes.CDLL({str(LIBRARY)!r})
error = example.Error(size={size_of_error} or ctypes.sizeof(example.Error))
class Longer(ctypes.Structure):
    _fields_ = [("known", example.Options), ("later", ctypes.c_char_p)]
{options}
print(library.flameprobe_start(ctypes.byref(options), ctypes.byref(error)), error.message.decode())
"""
        done = run([sys.executable, "-c", code], self.directory, env=clean_environment(FLAMEPROBE_LOG="quiet"))
        self.assertEqual(done.returncode, 0, done.stderr)
        answer, _, message = done.stdout.rstrip("\n").partition(" ")
        return int(answer), message

    def test_a_bad_option_is_refused_with_a_line(self):
        for options, said in (("options = example.Options(size=0)", "FLAMEPROBE_OPTIONS_INIT"),
                              ("options = example.Options(size=13)", "FLAMEPROBE_OPTIONS_INIT"),
                              ("options = example.Options(size=1 << 40)", "FLAMEPROBE_OPTIONS_INIT"),
                              ("options = example.Options(size=96, frequency=20001)", "FLAMEPROBE_FREQ='20001' is not accepted"),
                              ("options = Longer(example.Options(size=120), b'x')", "this version of the library")):
            with self.subTest(options):
                code, message = self.start(options)
                self.assertEqual(code, 1)
                self.assertIn(said, message)
                self.assertNotIn("default is used", message)

    def test_options_of_older_and_newer_headers(self):
        # What lies past the caller's size is not looked at: here it would be refused.
        for options in ("options = example.Options(size=16, frequency=99, output=b'%x')",
                        "options = example.Options(size=88, frequency=99, signal=b'bad')",
                        "options = Longer(example.Options(size=120, frequency=99), None)"):
            with self.subTest(options):
                self.assertEqual(self.start(options), (0, ""))

    def test_no_more_is_written_than_the_caller_has_room_for(self):
        code, message = self.start("options = example.Options(size=0)", size_of_error=12 + 10)
        self.assertEqual((code, message), (1, "flameprob"))
        self.assertEqual(self.start("options = example.Options(size=0)", size_of_error=12), (1, ""))


class Lives(Case):
    """Profiles that the program itself begins, ends and writes."""

    def live(self, mode, env=None):
        done = run([PROGRAMS / "lives", mode, self.directory / "result"], self.directory, env=env or clean_environment(),
                   timeout=60)
        self.assertEqual((done.returncode, done.stdout[-5:]), (0, "done\n"), done.stderr)
        return done.stdout

    def functions(self, stem):
        """The kinds of work, of the two, that a result has."""
        stacks = read_folded((self.directory / f"{stem}.folded").read_text())
        return [name for name in ("first_work", "second_work") if harness.shares(stacks, name)[0] >= 20]

    def frequency(self, stem):
        return harness.render(self.directory / f"{stem}.fprobe", "--info").stdout

    def test_other_options_begin_another_profile(self):
        for name, env in (("linked", clean_environment()), ("preloaded", profiled(START=0)),
                          ("waiting for a signal", clean_environment(FLAMEPROBE_SIGNAL="USR2"))):
            with self.subTest(name):
                self.live("other-options", env)
                self.assertEqual(self.functions("result"), ["first_work"])
                self.assertEqual(self.functions("result-second"), ["second_work"])
                self.assertIn("997", self.frequency("result"))
                self.assertIn("499", self.frequency("result-second"))
                self.assertEqual(list(self.directory.glob("flameprobe.*")), [], "a result under the default name")
                for path in self.directory.iterdir():
                    path.unlink()

    def test_one_path_for_two_profiles(self):
        self.live("same-path")
        self.assertEqual(self.functions("result"), ["first_work"])
        self.assertEqual(self.functions("result.2"), ["second_work"])

    def test_profile_after_profile_needs_no_more_memory(self):
        # With one arena: malloc may give each collector thread another, up to 8 for each CPU, and keeps them all.
        grown = int(self.live("many-profiles", clean_environment(MALLOC_ARENA_MAX=1)).split()[0])
        self.assertGreater(len(list(self.directory.glob("result*.folded"))), 50)
        self.assertLess(grown, 24 << 10, "KiB in fifty profiles")  # 1 to 14 MiB; 37 when they were kept

    def test_the_same_options_go_on(self):
        self.live("same-options")
        self.assertEqual(self.functions("result"), ["first_work", "second_work"])
        self.assertEqual({path.name for path in self.directory.iterdir()}, {"result.fprobe", "result.folded"})

    def test_bad_options_leave_the_profile_as_it_is(self):
        self.live("bad-options")
        self.assertEqual(self.functions("result"), ["first_work", "second_work"])

    def test_a_signal_among_the_options(self):
        self.live("by-signal")
        self.assertEqual(self.functions("result"), ["first_work", "second_work"])

    def test_dumps_with_a_path(self):
        self.live("dumped")
        self.assertEqual(self.functions("result-lives-1"), ["first_work"])
        self.assertEqual(self.functions("result-lives-2"), ["first_work", "second_work"])
        self.assertEqual(self.functions("result"), ["first_work", "second_work"])
        self.assertFalse((self.directory / "result-early.folded").exists())

    def test_before_main_and_after_it(self):
        for name, env in (("linked", clean_environment()), ("preloaded", profiled(START=0))):
            with self.subTest(name):
                self.live("whole-life", {**env, "LIVES_PATH": str(self.directory / "result")})
                for stem in ("result", "result-after"):
                    self.assertEqual(self.functions(stem), ["first_work", "second_work"])
                for path in self.directory.iterdir():
                    path.unlink()

    def test_many_threads_at_once(self):
        done = run([PROGRAMS / "together", self.directory / "result"], self.directory,
                   env=clean_environment(FLAMEPROBE_CHILDREN="on", FLAMEPROBE_LOG="quiet"), timeout=100)
        self.assertFalse(done.timed_out, "it hangs")
        self.assertEqual(done.returncode, 0, done.stderr)
        print(done.stdout.strip())
        self.assertRegex(done.stdout, r"^[1-9]\d* started, [1-9]\d* stopped, \d+ dumped$")
        self.assert_function(read_folded((self.directory / "result.997.folded").read_text()), "work", at_least=20)
        for path in self.directory.glob("*.folded"):
            read_folded(path.read_text())


class Installed(Case):
    """An installed copy, as users have it, and their projects built against it."""

    @classmethod
    def setUpClass(cls):
        cls.installed = Path(tempfile.mkdtemp(prefix="flameprobe-installed-"))
        cls.addClassCleanup(shutil.rmtree, cls.installed, ignore_errors=True)
        if shutil.which("meson") is None:
            raise unittest.SkipTest("meson is not installed")
        if not os.access(BUILD / "meson-logs", os.W_OK):
            raise unittest.SkipTest("the build directory is another user's, and meson writes there what it installs")
        done = run(["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", cls.installed], BUILD, env=dict(os.environ),
                   timeout=300)
        if done.returncode != 0:
            raise AssertionError(f"{done.stdout[-500:]}{done.stderr[-500:]}")

    def setUp(self):
        super().setUp()
        self.stage = self.directory / "stage"  # some tests change it
        shutil.copytree(self.installed, self.stage, symlinks=True)
        found = list(self.stage.rglob("flameprobe.pc"))
        self.assertEqual(len(found), 1, "flameprobe.pc is not installed")
        self.pkgconfig = found[0].parent
        self.libdir = self.pkgconfig.parent
        self.bindir = next(self.stage.rglob("bin/flameprobe")).parent
        self.prefix = self.bindir.parent

    def check_project(self, place):
        """`example` is linked with the library; `labels` needs nothing, and has its scopes once it is preloaded."""
        done = run([place / "example", self.directory / "result"], self.directory,
                   env=clean_environment(LD_LIBRARY_PATH=self.libdir))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("[checkout]", (self.directory / "result.folded").read_text())
        needed = subprocess.run(["readelf", "-d", place / "labels"], capture_output=True, text=True, check=True).stdout
        self.assertNotIn("flameprobe", needed)
        labels = [place / "labels", "guards", 10**8]
        self.assertEqual(run(labels, self.directory).returncode, 0)
        env = clean_environment(LD_PRELOAD=self.libdir / "libflameprobe.so", FLAMEPROBE_FREQ=499, FLAMEPROBE_FORMAT="folded")
        self.assertTrue(any("[guarded]" in frames for frames, _ in run(labels, self.directory, env=env).result().stacks()))

    def test_documents_are_installed(self):
        place = self.prefix / "share" / "doc" / "flameprobe"
        self.assertIn("MIT License", (place / "LICENSE").read_text())
        documents = {path.name for path in (place / "docs").glob("*.md")}
        self.assertEqual(documents, {path.name for path in (harness.ROOT / "docs").glob("*.md")})
        for text in [place / "README.md", *(place / "docs").glob("*.md")]:
            for image in re.findall(r"!\[[^]]*\]\(([^):]+)\)", text.read_text()):
                self.assertTrue((text.parent / image).is_file(), f"{image} of {text.name}")

    def test_errors_without_warnings(self):
        self.need("cc", "c++")
        body = "\n#include <flameprobe/flameprobe.h>\nint main(void) {\n struct flameprobe_error error = FLAMEPROBE_ERROR_INIT;\n" \
               " return flameprobe_stop(&error);\n}\n"
        for compiler, name in (("cc", "error.c"), ("c++", "error.cpp")):
            (self.directory / name).write_text(body)
            done = run([compiler, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", f"-I{self.prefix}/include", name],
                       self.directory, env=dict(os.environ))
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_pkg_config(self):
        self.need("pkg-config", "make", "cc", "c++")
        env = clean_environment(PKG_CONFIG_PATH=self.pkgconfig, PKG_CONFIG_SYSROOT_DIR=self.stage)
        built = run(["make", "-f", API / "make_project" / "Makefile"], self.directory, env=env)
        self.assertEqual(built.returncode, 0, built.stdout + built.stderr)
        self.check_project(self.directory)

    def test_cmake(self):
        self.need("cmake", "cc", "c++")
        config = next(self.stage.rglob("flameprobe-config.cmake")).parent
        for found_by in (f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-Dflameprobe_DIR={config}"):
            with self.subTest(found_by.split("=")[0]):
                place = self.fresh_directory(f"cmake-{len(found_by)}")
                configured = run(["cmake", "-S", API / "cmake_project", "-B", place, found_by], self.directory,
                                 env=dict(os.environ), timeout=200)
                self.assertEqual(configured.returncode, 0, configured.stdout + configured.stderr)
                found = re.search(r"(?m)^flameprobe_DIR:[A-Z]+=(.*)$", (place / "CMakeCache.txt").read_text())
                self.assertEqual(found and found[1], str(config))
                if SIZE == "quick" and found_by.startswith("-Dflameprobe_DIR"):
                    continue  # the same project by another way to the same file
                built = run(["cmake", "--build", place], self.directory, env=dict(os.environ), timeout=200)
                self.assertEqual(built.returncode, 0, built.stdout + built.stderr)
                self.check_project(place)
                profiled = run(["cmake", "--build", place, "--target", "profile-labels"], self.directory, env=dict(os.environ))
                self.assertEqual(profiled.returncode, 0, profiled.stdout + profiled.stderr)
                self.assertIn("[guarded]", (place / "profile-labels.folded").read_text())
                for path in self.directory.glob("flameprobe.labels.*"):
                    path.unlink()

    def test_meson(self):
        self.need("meson", "ninja", "cc", "c++")
        source, place = self.directory / "meson_project", self.directory / "meson"
        shutil.copytree(API / "meson_project", source)
        for name in ("example.c", "guards.cpp"):  # meson takes no sources from above a project
            shutil.copy(API / name, source)
        env = clean_environment(PKG_CONFIG_PATH=self.pkgconfig, PKG_CONFIG_SYSROOT_DIR=self.stage,
                                PATH=f"{self.bindir}:{os.environ.get('PATH', '')}")
        for argv in (["meson", "setup", place, source], ["ninja", "-C", place]):
            done = run(argv, self.directory, env=env, timeout=200)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.check_project(place)
        done = run(["meson", "compile", "-C", place, "profile-labels"], self.directory, env=env)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("[guarded]", (place / "profile-labels.folded").read_text())

    def check_command(self, command):
        doctor = run([command, "doctor"], self.directory).stdout
        self.assertRegex(doctor, r"(?m)^  library +/.*/libflameprobe\.so$")
        place = self.fresh_directory("run")
        done = run([command, "run", "-F", "499", "-o", place / "picture", "--", harness.host("ends"), "return", "300"], place)
        self.assertEqual((done.returncode, done.stdout), (6, "ending by return\n"), done.stderr)
        self.assertEqual(done.stderr.splitlines()[-1], f"flameprobe: {place / 'picture.svg'}")
        self.assert_function(read_folded((place / "picture.folded").read_text()), "work_ms", at_least=50)
        shutil.rmtree(place)

    def test_the_command_finds_its_library(self):
        """Below the prefix, through a link from elsewhere, and when the whole prefix has moved."""
        self.check_command(self.bindir / "flameprobe")
        link = self.directory / "flameprobe"
        link.symlink_to(self.bindir / "flameprobe")
        self.check_command(link)
        moved = self.directory / "moved"
        self.prefix.rename(moved)
        self.check_command(moved / "bin" / "flameprobe")

    def test_the_command_without_its_library(self):
        (self.libdir / "libflameprobe.so").unlink()
        done = run([self.bindir / "flameprobe", "run", "--", "true"], self.directory)
        if done.returncode == 0:
            self.skipTest("another copy is installed under the configured prefix")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("libflameprobe.so is not installed beside this program", done.stderr)


if __name__ == "__main__":
    unittest.main()
