"""Names are those of the code that ran: of files that were replaced or are gone."""

import math
import os
import shutil
import subprocess
import unittest
from pathlib import Path

from figures import is_sample
from harness import LIBRARY, ENGINES, SAME_USER, Case, clean_environment, ordinary_user, profiled, read_folded, render, run, shares, sized, target

TRUE = ("hash_key", "compare_row")
OTHERS = ("unrelated_first", "unrelated_second", "_start", "frame_dummy")


def folded(profile):
    return read_folded(render(profile, "-o", "-", "--format", "folded").stdout)


def preloaded(place):
    """Before a program: FlameProbe is preloaded into that alone, not into what changes the user before it."""
    settings = profiled(OUT=place / "x", FREQ=499, KERNEL="off", FORMAT="folded")
    return ["env", *(f"{name}={value}" for name, value in settings.items() if name.startswith(("FLAMEPROBE_", "LD_PRELOAD")))]


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

    def users(self):
        """This one, and an ordinary one if it is root."""
        user = ordinary_user(self)
        return [SAME_USER] if user == SAME_USER else [SAME_USER, user]

    def assert_leaves(self, stacks, functions, share=0.85):
        stacks = [(frames, count) for frames, count in stacks if is_sample(frames)]
        hits = sum(shares(stacks, function, leaf=True)[0] for function in functions)
        every = sum(count for _, count in stacks)
        self.assertGreater(every, 20)
        self.assertGreaterEqual(hits / every, share, sorted({frames[-1] for frames, _ in stacks}))

    def test_a_program_that_is_replaced(self):
        """By a new file under its name, while it runs: the profile keeps the names."""
        for engine in ENGINES:
            with self.subTest(engine=engine):
                place = self.fresh_directory(engine)
                program = place / "server"
                shutil.copy(target("rebuilt"), program)

                def replace():
                    shutil.copy(target("rebuilt-later"), place / "new")
                    os.rename(place / "new", program)

                stem, _ = self.halves(program, place, engine, replace)
                self.assert_leaves(read_folded(stem.with_suffix(".folded").read_text()), TRUE)
                self.assert_leaves(folded(stem.with_suffix(".fprobe")), TRUE)

    def test_a_program_without_a_file(self):
        for user in self.users():
            with self.subTest(user=user[0]):
                place = self.fresh_directory(user[0])
                place.chmod(0o777)
                self.directory.chmod(0o755)
                program = os.memfd_create("worker")
                self.addCleanup(os.close, program)
                os.write(program, target("rebuilt").read_bytes())
                run([*user, *preloaded(place), f"/proc/self/fd/{program}"], place, stdin=subprocess.DEVNULL, pass_fds=[program])
                profile = place / "x.fprobe"
                self.assert_leaves(folded(profile), TRUE)

    def test_a_library_that_is_gone(self):
        """Deleted while it is loaded, or unloaded and then deleted; an ordinary user has its dynamic symbols at least."""
        for user in self.users():
            for when in ("first", "last"):
                with self.subTest(user=user[0], when=when):
                    place = self.fresh_directory(f"{user[0]}-{when}")
                    place.chmod(0o777)
                    self.directory.chmod(0o755)
                    ran = run([*user, *preloaded(place), target("gone"), target("libgone-library.so"), place / "copy.so", when], place)
                    self.assertEqual(ran.returncode, 0, ran.stderr)
                    self.assertFalse((place / "copy.so").exists())
                    profile = place / "x.fprobe"
                    self.assert_leaves(read_folded(profile.with_suffix(".folded").read_text()), ["library_work"])
                    self.assert_leaves(folded(profile), ["library_work"])

    def test_a_library_in_anothers_place(self):
        """Loaded at the address where the first one was, and of its name. In a new file: each has its names, also where no perf record
        tells of it. In the first one's file: the old code does not get the new one's names."""
        note = b"\x14\0\0\0\x03\0\0\0GNU\0"
        kinds = [(engine, how, with_id) for engine in ENGINES for how in ("new", "over") for with_id in (True, False)]
        for engine, how, with_id in kinds:
            with self.subTest(engine=engine, how=how, with_id=with_id):
                place = self.fresh_directory(f"{engine}-{how}-{with_id}")
                for name in ("library", "other"):
                    content = target(f"libgone-{name}.so").read_bytes()
                    (place / name).write_bytes(content if with_id else content.replace(note, note.replace(b"GNU", b"???")))
                ran = run([target("gone"), place / "library", place / "copy.so", how, place / "other"], place,
                          profiled(OUT=place / "x", FREQ=499, ENGINE=engine, FORMAT="folded", KERNEL="off"))
                self.assertEqual(ran.returncode, 0, ran.stderr)
                for stacks in (read_folded((place / "x.folded").read_text()), folded(place / "x.fprobe")):
                    hits, every = shares(stacks, "another_work", leaf=True)
                    self.assertLess(hits / every, 0.9)
                    if how == "new":
                        self.assert_leaves(stacks, ("library_work", "another_work"))
                        self.assertGreater(hits / every, 0.1)
                    else:
                        self.assert_leaves(stacks, ("[unknown in copy.so (replaced)]", "another_work"))

    def test_a_thread_that_is_renamed(self):
        """Each sample is under the name that the thread had then; without perf's records a name is read now and then."""
        for engine, share in zip(ENGINES, (0.98, 0.6, 0.6)):
            with self.subTest(engine=engine):
                place = self.fresh_directory(engine)
                ran = run([target("renamed")], place, profiled(OUT=place / "x", FREQ=499, ENGINE=engine, FORMAT="folded"))
                self.assertEqual(ran.returncode, 0, ran.stderr)
                stacks = read_folded((place / "x.folded").read_text())
                for name, job in (("import", "job_import"), ("export", "job_export")):
                    named = [stack for stack in stacks if stack[0][0] == name]
                    hits, every = shares(named, job)
                    self.assertGreater(hits, 50, sorted({frames[0] for frames, _ in stacks}))
                    self.assertGreaterEqual(hits / every, share)

    def test_code_that_was_moved(self):
        """Into anonymous memory in its place, equal to the file's: it is the file, with whole stacks."""
        for engine, late in ((engine, late) for engine in ENGINES for late in ([], ["late"])):
            with self.subTest(engine=engine, late=late):
                place = self.fresh_directory("-".join([engine, *late]))
                ran = run([target("moved"), *late], place, profiled(OUT=place / "x", FREQ=499, ENGINE=engine, FORMAT="folded", KERNEL="off"))
                self.assertEqual(ran.returncode, 0, ran.stderr)
                for stacks in (read_folded((place / "x.folded").read_text()), folded(place / "x.fprobe")):
                    self.assert_leaves(stacks, ("moved_first", "moved_second"))
                    hits, every = shares(stacks, "[truncated]")
                    self.assertLess(hits / every, 0.05)

    def test_run_time_code_by_its_time(self):
        """A compiler's dump says when a function came to an address that others had before. Memory that the kernel shows as a
        file is memory."""
        kinds = ("private", "shared", "memfd")
        every = [(engine, memory) for engine in ENGINES for memory in kinds]
        for engine, memory in sized(every[:len(kinds) + 1], every):
            with self.subTest(engine=engine, memory=memory):
                place = self.fresh_directory(f"jit-{engine}-{memory}")
                ran = run([target("jitted"), place, memory], place,
                          profiled(OUT=place / "x", FREQ=499, ENGINE=engine, FORMAT="folded", KERNEL="off"))
                self.assertEqual(ran.returncode, 0, ran.stderr)
                for stacks in (read_folded((place / "x.folded").read_text()), folded(place / "x.fprobe")):
                    every = sum(hits for _, hits in stacks)
                    for name in ("made_a", "made_b", "made_c"):
                        hits = shares(stacks, name, leaf=True)[0]
                        # A third each; where one has another's name, none or two.
                        self.assertAlmostEqual(hits / every, 1 / 3, delta=0.02 + 4.5 * math.sqrt(2 / 9 / every), msg=name)

    def test_run_time_code_that_a_parent_compiled(self):
        """Its names are in the map of the process that it was forked from."""
        for engine in ENGINES:
            with self.subTest(engine=engine):
                place = self.fresh_directory(f"forked-{engine}")
                ran = run([target("jitted"), "forked"], place, profiled(OUT=place / "x", FREQ=499, ENGINE=engine, FORMAT="folded", KERNEL="off"))
                self.addCleanup(Path(f"/tmp/perf-{ran.pid}.map").unlink)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                for stacks in (read_folded((place / "x.folded").read_text()), folded(place / "x.fprobe")):
                    self.assert_leaves(stacks, ("made_before_the_fork",))

    def test_unwind_tables_in_a_separate_debug_file(self):
        """.debug_frame, where a program has no .eh_frame: of its own debug file, and of no other."""
        self.need("objcopy")
        for kind, rooted in (("build id", True), ("no build id", True), ("another's", False)):
            with self.subTest(kind=kind):
                place = self.fresh_directory(kind.replace(" ", "-").replace("'", ""))
                program, debug = place / "server", place / "server.debug"
                shutil.copy(target("untabled"), program)
                if kind != "build id":
                    run(["objcopy", "--remove-section=.note.gnu.build-id", program], place)
                run(["objcopy", "--only-keep-debug", program, debug], place)
                self.assertEqual(run(["objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", program], place).returncode, 0)
                if kind == "another's":
                    debug.write_bytes(debug.read_bytes() + b"changed")
                ran = run([program], place, profiled(OUT=place / "x", FREQ=499, FORMAT="folded", KERNEL="off"))
                self.assertEqual(ran.returncode, 0, ran.stderr)
                stacks = read_folded((place / "x.folded").read_text())
                cut, every = shares(stacks, "[truncated]")
                self.assertGreater(every, 50)
                if rooted:
                    self.assertLess(cut / every, 0.02)
                    self.assert_leaves(stacks, ("leaf",))
                else:
                    # Of the start in ld.so and libc some samples are whole.
                    own = [stack for stack in stacks if stack[0][-1] == "[unknown in server]"]
                    cut, every = shares(own, "[truncated]")
                    self.assertGreater(every, 50)
                    self.assertEqual(cut, every, own)

    def test_where_threads_start(self):
        """libstdc++ has no symbol for that: it is proven by its own code."""
        ran = run([target("waits"), "1"], self.directory, profiled(OUT=self.directory / "x", FREQ=499, FORMAT="folded", EVENT="offcpu"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        names = {frame for frames, _ in read_folded((self.directory / "x.folded").read_text()) for frame in frames}
        self.assertTrue(any("execute_native_thread_routine" in name for name in names), names)
        self.assertFalse([name for name in names if name.startswith("[libstdc++")])

    def test_a_program_that_the_dynamic_linker_is_told_to_run(self):
        """The result, and what it says of the program, are the program's."""
        linker = next((path for path in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1") if Path(path).exists()), None)
        if linker is None:
            self.skipTest("the dynamic linker is not found")
        ran = run([linker, target("rebuilt")], self.directory, profiled(FREQ=499, OUT=self.directory / "%e"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("flame graph of rebuilt, pid", (self.directory / "rebuilt.svg").read_text())

    def test_another_namespaces_proc(self):
        """Whose process 1 is another one: its name is not the program's."""
        self.need("unshare")
        inside = ["unshare", "--pid", "--fork"]
        if run([*inside, "true"], self.directory).returncode != 0:
            self.skipTest("no pid namespace can be made here")
        outer = Path("/proc/1/comm").read_text().strip()
        ran = run([*inside, "env", f"LD_PRELOAD={LIBRARY}", target("rebuilt")], self.directory,
                  clean_environment(FLAMEPROBE_OUT=self.directory / "x", FLAMEPROBE_FORMAT="folded", FLAMEPROBE_FREQ=499))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        roots = {frames[0] for frames, _ in read_folded((self.directory / "x.folded").read_text())}
        self.assertNotIn(outer, roots)
        self.assertIn("rebuilt", roots)

    def test_a_program_that_is_rebuilt_later(self):
        place = self.fresh_directory("later")
        program = place / "server"
        shutil.copy(target("rebuilt"), program)
        stem, _ = self.halves(program, place, ENGINES[0], lambda: None)
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
