"""Bad input: one clear line, the documented exit status, never a crash, never an earlier result overwritten."""

import gzip
import json
import os
import random
import shutil
import struct
import unittest

from harness import RENDER, Case, host, profiled, render, run, sized

GOOD = "main;parse;read 5\nmain;parse 2\nmain;work 10\n"

BAD_FOLDED = {
    "empty": b"",
    "only-newlines": b"\n\n\n",
    "no-count": b"main;parse\nmain;work\n",
    "count-is-no-number": b"main;parse five\n",
    "only-zero-counts": b"main;parse 0\n",
    "garbage": random.Random(1).randbytes(20000),
    "zeros": bytes(5000),
    "elf": None,  # filled in below: a program is a foreign file that people do pass by mistake
    "png": b"\x89PNG\r\n\x1a\n" + random.Random(2).randbytes(3000),
}


class RenderCase(Case):
    def bad(self, *argv, status=1, mentions=()):
        """One line on stderr, the status, and an existing output left as it was."""
        output = self.directory / "earlier.svg"
        output.write_text("an earlier result")
        ran = render(*argv, "-o", output)
        self.assertEqual(ran.returncode, status, ran.stderr)
        self.assertEqual(len(ran.stderr.splitlines()), 1, ran.stderr)
        for text in mentions:
            self.assertIn(str(text), ran.stderr)
        self.assertEqual(output.read_text(), "an earlier result")
        self.assertEqual({p.name for p in self.directory.iterdir() if ".tmp" in p.name}, set())
        return ran.stderr


class BadFolded(RenderCase):
    def test_bad_files(self):
        for name, content in BAD_FOLDED.items():
            with self.subTest(name=name):
                path = self.directory / f"{name}.folded"
                path.write_bytes(content if content is not None else RENDER.read_bytes()[:100000])
                self.bad(path, mentions=(path.name,))

    def test_more_memory_than_it_may_use(self):
        """A budget keeps an input from taking what other programs need."""
        if b"__asan_init" in RENDER.read_bytes():
            self.skipTest("AddressSanitizer's own memory is more than any budget")
        path = self.directory / "large.folded"
        path.write_text("".join(f"main;a{i};b{i};c{i} 1\n" for i in range(300_000)))
        said = self.bad(path, "--max-memory", "48M", mentions=("large.folded", "memory"))
        self.assertNotIn("bad_alloc", said)
        self.assertEqual(render(path, "--max-memory", "2G", "--top", "1").returncode, 0)

    def test_missing_file(self):
        self.bad(self.directory / "nothing.folded", mentions=("nothing.folded",))

    def test_directory(self):
        self.bad(self.directory, mentions=(self.directory,))

    def test_unreadable_among_good(self):
        (self.directory / "good.folded").write_text(GOOD)
        self.bad(self.directory / "good.folded", self.directory / "nothing.folded", mentions=("nothing.folded",))

    def test_toolkit_output_is_good(self):
        path = self.directory / "toolkit.folded"
        path.write_text("main;parse;read\t5\nmain;parse 2  \nmain;work 10\r\nmain;gone 0\nmain;less -4\n")
        ran = render(path, "-o", "-", "--format", "folded")
        self.assertEqual((ran.returncode, ran.stdout), (0, "main;parse 2\nmain;parse;read 5\nmain;work 10\n"), ran.stderr)

    def test_output_that_cannot_be_written(self):
        (self.directory / "good.folded").write_text(GOOD)
        for output in (self.directory / "no" / "such" / "directory.svg", "/dev/full", "/proc/nothing.svg"):
            with self.subTest(output=str(output)):
                ran = render(self.directory / "good.folded", "-o", output, "--format", "svg")
                self.assertEqual(ran.returncode, 1, ran.stderr)
                self.assertEqual(len(ran.stderr.splitlines()), 1, ran.stderr)
                self.assertIn(str(output), ran.stderr)

    def test_usage(self):
        (self.directory / "good.folded").write_text(GOOD)
        good = self.directory / "good.folded"
        for argv in ((), (good, "--no-such-option"), (good, "--top", "many"), (good, "--format", "gif"),
                     (good, "-o"), (good, "--min-samples", "-1"), ("--diff", good)):
            with self.subTest(argv=[str(a) for a in argv]):
                self.assertEqual(render(*argv).returncode, 2)

    def test_an_input_is_not_replaced(self):
        good = self.directory / "good.folded"
        good.write_text(GOOD)
        (self.directory / "link.folded").symlink_to(good)
        for argv in ((good, "-o", good, "--format", "svg"), ("good.folded", "-o", "./good.folded"), ("link.folded", good, "-o", "good.folded")):
            with self.subTest(argv=[str(a) for a in argv]):
                ran = run([RENDER, *argv], self.directory)
                self.assertEqual((ran.returncode, ran.stdout), (2, ""))
                self.assertIn("is an input: name another output", ran.stderr)
                self.assertEqual(good.read_text(), GOOD)

    def test_too_few_samples(self):
        (self.directory / "good.folded").write_text(GOOD)
        self.bad(self.directory / "good.folded", "--min-samples", "18", status=3)
        ran = render(self.directory / "good.folded", "--min-samples", "17", "-o", "-", "--format", "folded")
        self.assertEqual(ran.returncode, 0, ran.stderr)


class BadSpool(RenderCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        case = cls("test_truncated")
        case.setUp()
        ran = run([host("family"), "fork"], case.directory, profiled(FREQ=499, CHILDREN="off", FORMAT="none"))
        cls.spool = ran.result().path("fprobe").read_bytes()
        case.doCleanups()

    def survive(self, name, content):
        """Exit 0 or 1; 1 with one line that names the file; in no case a signal."""
        path = self.directory / f"{name}.fprobe"
        path.write_bytes(content)
        output = self.directory / "earlier.folded"
        output.write_text("an earlier result")
        ran = render(path, "-o", output)
        self.assertIn(ran.returncode, (0, 1), f"{name}: {ran.returncode} {ran.stderr}")
        if ran.returncode == 1:
            self.assertEqual(len(ran.stderr.splitlines()), 1, ran.stderr)
            self.assertIn(path.name, ran.stderr)
            self.assertEqual(output.read_text(), "an earlier result")
        return ran.returncode

    def test_truncated(self):
        size = len(self.spool)
        places = sorted({*range(0, 64, sized(3, 1)), *range(64, size, max(1, size // sized(20, 60))),
                         *range(size - sized(10, 40), size)})
        good = 0
        for place in places:
            with self.subTest(place=place):
                good += self.survive(f"cut-{place}", self.spool[:place]) == 0
        self.assertGreater(good, 0, "no cut file gave a picture: what came before the cut is lost")

    def test_damaged(self):
        chance = random.Random(3)
        for number in range(sized(40, 150)):
            with self.subTest(number=number):
                damaged = bytearray(self.spool)
                for _ in range(chance.choice((1, 1, 4, 64))):
                    damaged[chance.randrange(len(damaged))] = chance.randrange(256)
                self.survive(f"damaged-{number}", damaged)

    def test_foreign(self):
        for name, content in {**BAD_FOLDED, "elf": RENDER.read_bytes()[:100000]}.items():
            with self.subTest(name=name):
                self.assertEqual(self.survive(name, content), 1)

    def test_doubled(self):
        self.survive("doubled", self.spool + self.spool)


class BadSettings(Case):
    """A bad value costs one line on stderr; the default is used and the host runs on."""

    BAD = [("FREQ", "0"), ("FREQ", "-5"), ("FREQ", "20001"), ("FREQ", "99x"), ("FREQ", ""), ("FREQ", "99999999999999999999"),
           ("FORMAT", "gif"), ("FORMAT", "svg,,gif"), ("ENGINE", "fast"), ("UNWIND", "magic"), ("STACK", "lots"),
           ("EVENT", "lightning"), ("KERNEL", "maybe"), ("START", "yes"), ("SIGNAL", "SIGNOTHING"), ("SIGNAL", "KILL"),
           ("DUMP_EVERY", "soon"), ("DUMP_EVERY", "0s"), ("MAX_SIZE", "1K"), ("CHILDREN", "some"), ("OUT", "here.%q")]

    def test_bad_values(self):
        for number, (name, value) in enumerate(self.BAD):
            with self.subTest(name=name, value=value):
                directory = self.fresh_directory(f"{name}-{number}")
                ran = run([host("ends"), "return", "100"], directory, profiled(**{name: value}))
                self.assertEqual((ran.returncode, ran.stdout), (6, "ending by return\n"))
                lines = ran.stderr.splitlines()
                self.assertEqual(len(lines), 1, ran.stderr)
                self.assertIn(f"FLAMEPROBE_{name}", lines[0])
                self.assertIn(value, lines[0])
                self.assertIn("svg", ran.result().endings)

    def test_misspelt_name(self):
        ran = run([host("ends"), "return", "200"], self.directory, profiled(FREQUENCY=99))
        self.assertEqual((ran.returncode, ran.stdout), (6, "ending by return\n"))
        self.assertEqual(len(ran.stderr.splitlines()), 1, ran.stderr)
        self.assertIn("FLAMEPROBE_FREQUENCY='99' is not a variable of FlameProbe; did you mean FLAMEPROBE_FREQ?", ran.stderr)

    def test_good_values_say_nothing(self):
        ran = run([host("ends"), "return", "200"], self.directory, profiled(FREQ=199, FORMAT="folded", KERNEL="off"))
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (6, "ending by return\n", ""))
        self.assertEqual(ran.result().endings, {"fprobe", "folded"})


PERF_SCRIPT = b"""# captured on: Thu Nov 26 08:50:35 2026
#
my server  4711/4712 [001] 12.345678:    1010101 cycles:u:\r
\tffffffff81a2b3c4 entry_SYSCALL_64_after_hwframe+0x6e ([kernel.kallsyms])\r
\t          401136 std::vector<int, A<(B)1> >::push_back(int&&)+0x12 (/usr/bin/my (old) server)
\t          401100 work(int) (inlined)
\t          4010f0 main+0x20 (/usr/bin/my (old) server)
\t    7f00deadbeef [unknown] (/usr/lib/libodd.so.1)

my server  4711 [001] 12.345679:    1010101 cycles:u:
\t          4010f0 main+0x20 (/usr/bin/my server)

other 17 12.345680:          1 page-faults:
\t          4010f0 main+0x20 (/usr/bin/my server)

swapper     0 [000] 12.4:     250000 cycles:u:  ffffffff81a00000 default_idle+0xb ([kernel.kallsyms])
"""
PERF_FOLDED = """my server;[unknown in libodd.so.1];main;work(int)_[i];std::vector<int, A<(B)1> >::push_back(int&&);entry_SYSCALL_64_after_hwframe_[k] 1
my server;main 1
swapper;default_idle_[k] 1
"""


class Others(RenderCase):
    """What other profilers write is read, or named with what makes it readable."""

    def folded(self, name, content):
        path = self.directory / name
        path.write_bytes(content)
        ran = render(path, "-o", "-", "--format", "folded")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.stdout, ran.stderr

    def test_folded_text_as_editors_and_archives_leave_it(self):
        expected = "main;parse 2\nmain;parse;read 5\nmain;work 10\n"
        plain = GOOD.encode()
        large = b"".join(b"main;f%d 1\n" % i for i in range(60_000))
        for name, content in {"bom": b"\xef\xbb\xbf" + plain, "crlf": plain.replace(b"\n", b"\r\n"), "gz": gzip.compress(plain),
                              "members": gzip.compress(plain[:18]) + gzip.compress(plain[18:]),
                              "bom.gz": gzip.compress(b"\xef\xbb\xbf" + plain)}.items():
            with self.subTest(name=name):
                self.assertEqual(self.folded(name, content), (expected, ""))
        self.assertEqual(self.folded("large.gz", gzip.compress(large))[0].count("\n"), 60_000)
        self.assertEqual(render("-", "-o", "-", "--format", "folded", stdin=(self.directory / "gz").open("rb")).stdout, expected)

    def test_perf_script(self):
        for name, content in {"script": PERF_SCRIPT, "script.gz": gzip.compress(PERF_SCRIPT)}.items():
            out, said = self.folded(name, content)
            self.assertEqual(out, PERF_FOLDED)
            self.assertIn("only samples of cycles:u are shown; 1 of other events are left out", said)

    def test_perf_script_with_any_fields(self):
        """Without call chains, whose threads' names are set to the right; with the fields that -F names; names that look like parts
        of a header; records that are no samples."""
        chain = "\t          4010f0 main+0x20 (/usr/bin/x)\n\n"
        leaf = "          4010f0 main+0x20 (/usr/bin/x)\n"
        for name, text, expected in (
                ("no chains", f"              dd  4711 [001] 12.345678:     250000 cpu-clock:pppH: {leaf}" * 3, "dd;main 3\n"),
                ("no time", f"x  4711/4712  cycles:u: \n{chain}", "x;main 1\n"), ("no event", f"x 4711 12.345678: \n{chain}", "x;main 1\n"),
                ("no chains, no event", f"               x  4711 12.345678: {leaf}", "x;main 1\n"),
                ("pid only", f"my x  4711 \n{chain}my x  4711 \n{chain}", "my x;main 2\n"), ("mode", f"x 4711 [000] U  1.5: cycles: \n{chain}", "x;main 1\n"),
                ("names", f"Worker 3: idle  4711 [001] 12.3: 1 cycles: \n{chain}a 1 [x] 2  4711 12.3: 1 cycles: \n{chain}", "Worker 3: idle;main 1\na 1 [x]_2;main 1\n"),
                ("records", f"x 0 [000] 0.0: PERF_RECORD_COMM exec: x:4711/4711\nx 4711 [000] 1.5: 1 cycles: \n{chain}", "x;main 1\n")):
            with self.subTest(name=name):
                self.assertEqual(self.folded("fields", text.encode()), ("".join(sorted(expected.splitlines(True))), ""))
        out, said = self.folded("unread", f"x 4711 1.5: 1 cycles: \n{chain}what is this\n{chain}x 4711 1.6: 1 cycles: \n{chain}".encode())
        self.assertEqual(out, "x;main 2\n")
        self.assertIn("1 line is no beginning of a sample", said)
        header = "# ========\n# captured on    : Sun Nov 29 03:27:03 2026\n# header version : 1\n# nrcpus online : 2\n# ========\n#\n"
        self.assertEqual(self.folded("header", (header + f"x 4711 1.5: 1 cycles: \n{chain}").encode()), ("x;main 1\n", ""))
        for name, text in (("header only", header), ("no samples", header + "x 0 [000] 0.0: PERF_RECORD_COMM exec: x:4711/4711\n")):
            (self.directory / name).write_text(text)
            self.bad(self.directory / name, mentions=(name, "is a text of perf script without samples"))

    def test_what_has_no_end_or_is_below_zero(self):
        self.bad("/dev/zero", mentions=("/dev/zero", "this is no text"))
        out, said = self.folded("negative", GOOD.encode() + b"main;gone -5\n")
        self.assertEqual(out.count("\n"), 3)
        self.assertIn("1 line with a count below zero left out", said)

    def test_pprof(self):
        folded = self.directory / "good.folded"
        folded.write_text(GOOD + "main;work;inner_[i] 3\n")
        made = self.directory / "good.pb.gz"
        self.assertEqual(render(folded, "-o", made).returncode, 0)
        expected = render(folded, "-o", "-", "--format", "folded").stdout
        self.assertEqual(self.folded("again.pb.gz", made.read_bytes()), (expected, ""))
        raw = gzip.decompress(made.read_bytes())
        self.assertEqual(self.folded("again.pb", raw), (expected, ""))
        for name, content, why in (("half.pb", raw[:len(raw) // 2], "damaged or cut off"),
                                   ("half.gz", made.read_bytes()[:60], "its gzip data is cut off")):
            (self.directory / name).write_bytes(content)
            self.bad(self.directory / name, mentions=(name, why))

    def test_a_difference_as_pprof(self):
        """Stacks below zero are told, with those above and without."""
        def varint(value):
            value %= 2**64
            digits = [value >> shift & 127 for shift in range(0, 64, 7)]
            while len(digits) > 1 and digits[-1] == 0:
                digits.pop()
            return bytes([digit | 128 for digit in digits[:-1]] + digits[-1:])

        def field(key, value):
            return varint(key << 3 | 2) + varint(len(value)) + value if isinstance(value, bytes) else varint(key << 3) + varint(value)

        def sample(location, value):
            return field(2, field(1, varint(location)) + field(2, varint(value)))
        texts = b"".join(field(6, text) for text in (b"", b"samples", b"count", b"up", b"down"))
        places = b"".join(field(4, field(1, place) + field(4, field(1, place))) + field(5, field(1, place) + field(2, place + 2)) for place in (1, 2))
        kind = field(1, field(1, 1) + field(2, 2))
        out, said = self.folded("both.pb", kind + sample(1, 5) + sample(2, -3) + places + texts)
        self.assertEqual(out, "up 5\n")
        self.assertIn("1 stack is below zero", said)
        (self.directory / "less.pb").write_bytes(kind + sample(2, -3) + places + texts)
        self.bad(self.directory / "less.pb", mentions=("less.pb", "is a difference of profiles", "--diff"))
        for name, content, why in (("none.pprof", kind + places + texts, "is a pprof profile without samples"), ("empty.gz", b"", "is empty"),
                                   ("nothing.gz", gzip.compress(b""), "is empty")):
            (self.directory / name).write_bytes(content)
            self.bad(self.directory / name, mentions=(name, why))

    def test_what_is_not_read_is_named(self):
        for content, what in ((b"PERFILE2" + bytes(200), "perf script -i FILE"),
                              (b'{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[]}}', "speedscope's JSON"),
                              (b'{"meta":{"interval":1,"processType":0},"threads":[]}', "Firefox Profiler's JSON"),
                              (b'[{"name": "x", "ph": "X"}]', "is JSON"), (GOOD.encode("utf-16"), "iconv -f UTF-16"),
                              (json.dumps({"shared": {}}, indent=1, separators=(" ,", " : ")).encode(), "speedscope's JSON"),
                              (b'{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"}}]}', "Chrome's JSON"),
                              (b"BZh91AY" + bytes(50), "bzcat"), (b"\x04\x22\x4d\x18" + bytes(50), "lz4cat"), (b"FLR\0" + bytes(50), "Java Flight Recorder"),
                              (struct.pack("<8Q", 0, 3, 0, 10000, 0, 5, 1, 4096), "pprof -proto"), (b"heap_v2/524288\n", "pprof -proto"),
                              (b"\x28\xb5\x2f\xfd" + bytes(50), "zstdcat"), (b"<?xml version='1.0'?>\n<svg xmlns='x'></svg>\n", "is a picture: give the .fprobe"),
                              (b"<!doctype html>\n<html></html>\n", "is a picture"), (b"\x89PNG\r\n\x1a\n" + bytes(40), "is a picture"),
                              (b"\x7fELF\x02\x01\x01" + bytes(60), "is a program"), (b"PK\x03\x04" + bytes(60), "is a zip archive"),
                              (b"a/x".ljust(257, b"\0") + b"ustar\0" + bytes(300), "is a tar archive")):
            path = self.directory / "foreign"
            for packed in (content, gzip.compress(content)):
                path.write_bytes(packed)
                self.bad(path, mentions=("foreign", what))

    def test_damaged_ones_end_with_a_sentence(self):
        made = self.directory / "good.pb.gz"
        (self.directory / "good.folded").write_text(GOOD)
        render(self.directory / "good.folded", "-o", made)
        raw, chance = gzip.decompress(made.read_bytes()), random.Random(4)
        for _ in range(sized(40, 400)):
            damaged = bytearray(chance.choice((raw, PERF_SCRIPT, made.read_bytes())))
            for _ in range(3):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
            path = self.directory / "damaged"
            path.write_bytes(damaged)
            ran = render(path, "-o", "-", "--format", "folded")
            self.assertIn(ran.returncode, (0, 1), ran.stderr)


class BadPlaces(Case):
    """Results that cannot be written: said in one line, and the host is as it would have been."""

    def host_is_fine(self, env, argv=("return", "300"), **popen):
        ran = run([host("ends"), *argv], self.directory, env, **popen)
        self.assertEqual((ran.returncode, ran.stdout), (6, "ending by return\n"), ran.stderr)
        return ran

    def test_no_such_directory(self):
        (self.directory / "file").write_text("not a directory")
        places = [self.directory / "no" / "such", self.directory / "file" / "below", "/proc/flameprobe", "/dev/full/x"]
        if os.geteuid() != 0:
            (self.directory / "locked").mkdir(mode=0o555)
            places.append(self.directory / "locked" / "out")
        for place in places:
            with self.subTest(place=str(place)):
                ran = self.host_is_fine(profiled(OUT=place))
                self.assertEqual(len(ran.stderr.splitlines()), 1, ran.stderr)
                self.assertIn(str(place), ran.stderr)

    def limited(self, size):
        import resource
        return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    def test_file_size_limit(self):
        for size in (0, 1, 100, 4096, 20000):
            with self.subTest(size=size):
                self.host_is_fine(profiled(FREQ=4000), preexec_fn=self.limited(size))
                for path in self.directory.glob("*.svg"):
                    self.assertTrue(path.read_text().rstrip().endswith("</svg>"), "a broken picture is left")
                for path in self.directory.glob("flameprobe.*"):  # where no result could be written, the run's folder too
                    shutil.rmtree(path) if path.is_dir() else path.unlink()

    def test_earlier_result_survives_a_failure(self):
        out = self.directory / "fixed"
        self.host_is_fine(profiled(OUT=out, FREQ=999))
        before = {p.name: p.read_bytes() for p in self.directory.glob("fixed*")}
        self.assertEqual(set(before), {"fixed.svg", "fixed.txt", "fixed.folded", "fixed.fprobe"})
        self.host_is_fine(profiled(OUT=out, FREQ=999), preexec_fn=self.limited(100))
        for name, content in before.items():
            self.assertEqual((self.directory / name).read_bytes(), content, name)

    def test_full_disk(self):
        ran = self.in_own_mounts("mount -t tmpfs -o size=4k none {dir} && cd {dir} && (head -c 9999 /dev/zero > full; true)", ":")
        self.one_line(ran, "No space left on device")

    def test_read_only_disk(self):
        ran = self.in_own_mounts("mount -t tmpfs -o ro none {dir} && cd {dir}", ":")
        self.one_line(ran, "Read-only file system")

    def one_line(self, ran, why):
        lines = [line for line in ran.stderr.splitlines() if line.startswith("flameprobe:")]
        self.assertEqual(len(lines), 1, ran.stderr)
        self.assertIn(why, lines[0])

    def test_without_proc(self):
        kept = self.fresh_directory("kept")
        self.in_own_mounts(f"mount -t tmpfs none /proc && cd {kept}", ":")
        self.assertEqual({p.suffix for p in kept.glob("flameprobe.host-ends.*")}, {".fprobe", ".folded", ".svg", ".txt"})

    def in_own_mounts(self, before, after):
        self.need("unshare")
        place = self.fresh_directory("place")
        unshare = ["unshare", "--map-root-user", "--mount"] if os.geteuid() != 0 else ["unshare", "--mount"]
        if run([*unshare, "mount", "-t", "tmpfs", "none", place], self.directory).returncode != 0:
            self.skipTest("this user may not make mount namespaces here")
        env = profiled(FREQ=4000)
        preload = env.pop("LD_PRELOAD")
        script = f"{before} && LD_PRELOAD={preload} {host('ends')} return 500; status=$?; {after}; exit $status"
        ran = run([*unshare, "sh", "-c", script.format(dir=place)], self.directory, env)
        self.assertEqual((ran.returncode, ran.stdout), (6, "ending by return\n"), ran.stderr)
        return ran

    def test_no_samples_no_picture(self):
        ran = run(["/bin/true"], self.directory, profiled())
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual(list(self.directory.glob("*.svg")) + list(self.directory.glob("*.folded")), [])


if __name__ == "__main__":
    unittest.main()
