"""Scopes and the linked library from end to end: exactness by known truth, and an example in each language."""

import ctypes
import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import harness
from harness import BUILD, LIBRARY, Case, clean_environment, profiled, read_folded, run

sys.path.insert(0, str(Path(__file__).parent / "api"))
import scope_truth  # noqa: E402

API = Path(__file__).parent / "api"
PROGRAMS = BUILD / "tests" / "integration" / "api"


def scopes_of(stacks):
    """Samples by the scopes they carry, outermost first."""
    found = {}
    for frames, count in stacks:
        # Notes of ours look alike.
        scopes = tuple(f[1:-1] for f in frames if f.startswith("[") and f.endswith("]") and " in " not in f
                       and f not in ("[truncated]", "[lost]", "[kernel, not permitted]"))
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
        # One in a thousand labels is outside by chance: of 200, more than 3 are once in 10,000 runs.
        self.assertLessEqual(len(outside), 3, outside)

    def test_ring(self):
        for program in ("exact_shares_O2", "exact_shares_O0", "exact_shares_clang"):
            if not (PROGRAMS / program).exists():
                continue
            with self.subTest(program=program):
                self.check(program, "ring", 3989, 2500)

    def test_timer(self):
        # At most one sample a tick of the kernel: above its rate each counts for several, and chance with it.
        self.check("exact_shares_O2", "timer", 199, 9000)

    def test_signal(self):
        self.check("exact_shares_O2", "signal", 997, 6000)


class Languages(Case):
    def stacks(self, argv, env=None):
        stem = self.directory / "result"
        done = run([*argv, stem], self.directory, env=env or clean_environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        return scopes_of(read_folded(Path(f"{stem}.folded").read_text()))

    def assert_scopes(self, found, *expected):
        for scopes in expected:
            self.assertGreater(found.get(scopes, 0), 20, f"{scopes} in {found}")
        unexpected = {scopes: n for scopes, n in found.items() if scopes and scopes not in expected}
        self.assertFalse(unexpected, found)

    def test_c(self):
        self.assert_scopes(self.stacks([PROGRAMS / "example_c"]), ("checkout",), ("checkout", "pay"), ("tenant=acme",))

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
        if "c\"...\" literals" in built.stderr or "c-string literals" in built.stderr:
            self.skipTest("this rustc is older than 1.77, which brought C string literals")
        self.assertEqual(built.returncode, 0, built.stderr)
        self.assert_scopes(self.stacks([program]), ("checkout",), ("checkout", "pay"), ("tenant=acme",))

    def test_python(self):
        self.assert_scopes(self.stacks([sys.executable, API / "example.py", LIBRARY]), ("checkout",), ("checkout", "pay"))


class WithoutLibrary(Case):
    """Programs with guards in them, which know nothing of the library."""

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
        """Of what callers allocate. ctypes lays structures out as the compiler does."""
        sys.path.insert(0, str(API))
        import example
        self.assertEqual(ctypes.sizeof(example.Error), 512)
        self.assertEqual(ctypes.sizeof(example.Options), 88)
        sizes = run([PROGRAMS / "sizes"], self.directory).stdout.split()
        self.assertEqual(sizes, ["24", "88", "512"])

    def test_a_bad_option_is_refused_with_a_line(self):
        library = ctypes.CDLL(str(LIBRARY))
        import example
        error = example.Error(size=ctypes.sizeof(example.Error))
        options = example.Options(size=0)
        self.assertEqual(library.flameprobe_start(ctypes.byref(options), ctypes.byref(error)), 1)
        self.assertIn(b"FLAMEPROBE_OPTIONS_INIT", error.message)


class Installed(Case):
    """Projects of users, built against an installed copy."""

    def setUp(self):
        super().setUp()
        self.prefix = self.directory / "prefix"
        done = run(["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", self.directory / "stage"], BUILD,
                   env=dict(os.environ), timeout=300)
        if done.returncode != 0:
            self.skipTest(f"meson install --no-rebuild: {done.stdout[-300:]}{done.stderr[-300:]}")
        found = list((self.directory / "stage").rglob("flameprobe.pc"))
        self.assertEqual(len(found), 1, "flameprobe.pc is not installed")
        self.pkgconfig = found[0].parent
        self.libdir = self.pkgconfig.parent
        self.stage = self.directory / "stage"

    def check(self, program):
        env = clean_environment(LD_LIBRARY_PATH=self.libdir)
        done = run([program, self.directory / "result"], self.directory, env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("[checkout]", (self.directory / "result.folded").read_text())

    def test_pkg_config(self):
        self.need("pkg-config", "cc")
        env = clean_environment(PKG_CONFIG_PATH=self.pkgconfig, PKG_CONFIG_SYSROOT_DIR=self.stage)
        flags = run(["pkg-config", "--cflags", "--libs", "flameprobe"], self.directory, env=env)
        self.assertEqual(flags.returncode, 0, flags.stderr)
        built = run(["cc", API / "example.c", *flags.stdout.split(), "-o", "example"], self.directory, env=env)
        self.assertEqual(built.returncode, 0, built.stderr)
        self.check(self.directory / "example")

    def test_cmake(self):
        self.need("cmake", "cc")
        root = next(self.stage.rglob("flameprobe-config.cmake")).parent
        configured = run(["cmake", "-S", API / "cmake_project", "-B", self.directory / "cmake", f"-Dflameprobe_DIR={root}"],
                         self.directory, env=dict(os.environ), timeout=200)
        self.assertEqual(configured.returncode, 0, configured.stdout + configured.stderr)
        built = run(["cmake", "--build", self.directory / "cmake"], self.directory, env=dict(os.environ), timeout=200)
        self.assertEqual(built.returncode, 0, built.stdout + built.stderr)
        self.check(self.directory / "cmake" / "example")


if __name__ == "__main__":
    unittest.main()
