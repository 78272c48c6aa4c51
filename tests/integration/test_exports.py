"""A host may export any name: nothing of ours calls it, or is called through it (the libraries that we bring are linked in,
with hidden names, and libc's functions are called past the host's)."""

import platform
import re
import subprocess
import sys
import unittest
from pathlib import Path

from harness import ENGINES, LIBRARY, Case, host, ordinary_user, profiled, run, sized

# How ldconfig and the assembler call it.
WORD, JUMP = {"x86_64": ("x86-64", "jmp abort@PLT"), "aarch64": ("AArch64", "b abort")}[platform.machine()]
CORE = LIBRARY.with_name("libflameprobe-core.so")
ALLOC = LIBRARY.parent / "alloc" / "libflameprobe-alloc.so"
PLUGIN = host("constructor").with_name("libhost-forking-plugin.so")
BROUGHT = ("libdw.so.1", "libelf.so.1", "libz.so.1", "liblzma.so.5", "libzstd.so.1", "libbz2.so.1.0", "libstdc++.so.6",
           "libm.so.6")
WORK = """
#include <stdio.h>
#include <time.h>
int work(void) {
    volatile int x = 0;
    for (clock_t end = clock() + CLOCKS_PER_SEC / 5; clock() < end;) for (int i = 0; i < 100000; ++i) x = x * 3 + i;
    return x;
}
int main(void) { work(); puts("fine"); return 7; }
"""


def names_of(library, *options):
    listed = subprocess.run(["nm", "-D", *options, library], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in listed.splitlines()}


def needed_by(library):
    listed = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.*)\]", listed)


class Exports(Case):
    def brought(self):
        """Each name of what we bring."""
        self.need("cc", "nm", "ldconfig")  # a bare machine has no cache of libraries either
        known = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True,
                               env={"PATH": "/usr/sbin:/sbin:/usr/bin:/bin"}).stdout
        found = dict(re.findall(rf"^\s*(\S+) \(libc6,{WORD}[^)]*\) => (\S+)", known, re.MULTILINE))
        names = set().union(*(names_of(found[name], "--defined-only") for name in BROUGHT if name in found))
        names |= names_of(CORE, "--defined-only") | names_of(ALLOC, "--defined-only")  # what is looked up by its name
        names |= {name for name in names_of(LIBRARY, "--defined-only") if name.startswith("flameprobe_")}
        names -= names_of(found["libc.so.6"], "--defined-only")
        self.assertLessEqual({"adler32", "inflateInit2_", "elf_begin", "dwarf_end", "lzma_code", "log", "_ZSt9terminatev", "flameprobe_chain_v1"}, names)
        return names

    def of_libc(self):
        """Each function of libc that only the core calls: libflameprobe.so itself is preloaded, and has the host's."""
        called = names_of(CORE, "--undefined-only") - names_of(LIBRARY, "--undefined-only")
        listed = subprocess.run(["nm", "-D", "--defined-only", self.libc()], capture_output=True, text=True, check=True).stdout
        functions = {line.split()[2].split("@")[0] for line in listed.splitlines() if line.split()[1] in "TWi"}
        names = {name for name in called & functions if not name.startswith("_")}
        self.assertLessEqual({"poll", "read", "munmap", "close"}, names)
        return names - {"calloc", "realloc"}  # libc's own functions call these

    def libc(self):
        mapped = next(line for line in Path("/proc/self/maps").read_text().splitlines() if "/libc.so" in line or "/libc-" in line)
        return mapped.split()[-1]

    def build(self, names):
        """A library that exports these names, and aborts in each; and a program with compressed debug sections."""
        self.need("cc", "nm")
        self.directory.chmod(0o777)
        lines = [f'.globl "{name}"\n.type "{name}", %function\n"{name}":' for name in sorted(names) if name.isidentifier()]
        (self.directory / "names.S").write_text(".text\n" + "\n".join(lines) + f'\n{JUMP}\n.section .note.GNU-stack,""\n')
        (self.directory / "work.c").write_text(WORK)
        for command in (["-shared", "-o", "libnames.so", "names.S"], ["-O1", "-g", "-gz", "-o", "work", "work.c"]):
            subprocess.run(["cc", *command], cwd=self.directory, check=True)

    def check(self, engine, *user):
        env = profiled(ENGINE=engine, FREQ=499, FORMAT="svg,folded,html,pprof,json", OUT=f"result.{engine}.{len(user)}")
        env["LD_PRELOAD"] = f"{self.directory / 'libnames.so'}:{LIBRARY}"
        # env(1) with what it runs: setpriv itself must not be preloaded.
        variables = [f"{name}={env.pop(name)}" for name in list(env) if name.startswith(("LD_", "FLAMEPROBE_"))]
        ran = run([*user, "env", *variables, self.directory / "work"], self.directory, env, timeout=60)
        self.assertEqual((ran.returncode, ran.stdout), (7, "fine\n"), ran.stderr)
        stem = self.directory / f"result.{engine}.{len(user)}"
        self.assertIn("work", Path(f"{stem}.folded").read_text(), ran.stderr)
        self.assertTrue(Path(f"{stem}.svg").exists(), ran.stderr)

    def check_every_engine(self, names):
        self.build(names)
        for engine in ENGINES:
            with self.subTest(engine=engine):
                self.check(engine)

    def check_as_ordinary_user(self, names):
        user = ordinary_user(self)
        self.build(names)
        for engine in sized(("auto",), ("auto", *ENGINES)):  # who has rings and timers together
            with self.subTest(engine=engine):
                self.check(engine, *user)

    def test_every_name(self):
        self.check_every_engine(self.brought())

    def test_every_name_as_ordinary_user(self):
        self.check_as_ordinary_user(self.brought())

    def test_names_of_libc(self):
        self.check_every_engine(self.of_libc())

    def test_names_of_libc_as_ordinary_user(self):
        self.check_as_ordinary_user(self.of_libc())

    def test_core_needs_libc_only(self):
        self.assertEqual([name for name in needed_by(CORE) if not re.match(r"libc\.so|ld-linux", name)], [])

    def test_core_exports_its_table_only(self):
        self.assertEqual(names_of(CORE, "--defined-only"), {"flameprobe_core_table"})


class Constructors(Case):
    """A constructor that dlopen runs, with the dynamic linker's lock: the collector does not need it."""

    def test_fork(self):
        ran = run([host("constructor"), PLUGIN], self.directory, profiled(FREQ=499), timeout=60)
        self.assertEqual((ran.returncode, ran.stdout, ran.timed_out), (0, "opened\n", False), ran.stderr)
        stacks = ran.result().stacks()
        processes = {frames[0] for frames, _ in stacks}
        self.assertEqual(len(processes), 2, processes)
        for function in ("constructor_work", "work_after_constructor"):
            self.assert_function(stacks, function, at_least=20)

    def test_end(self):
        ran = run([host("constructor"), PLUGIN, "ends"], self.directory, profiled(FREQ=499), timeout=60)
        self.assertEqual((ran.returncode, ran.stdout, ran.timed_out), (3, "", False), ran.stderr)
        self.assert_function(ran.result().stacks(), "constructor_work", at_least=20)


if __name__ == "__main__":
    sys.exit(unittest.main())
