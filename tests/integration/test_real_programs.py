"""Real programs under load: whole, readable stacks, a result for every process, and the picture beside it."""

import re
import unittest
from collections import Counter
from pathlib import Path

from figures import is_rooted, is_sample
from harness import GUEST, Case, profiled, render, run, sized
from programs import COMPILER, PROGRAMS, Missing
from real_programs import measure

SECONDS = sized(1, 3)
LONG = ("rust tokio", "postgres", "ripgrep")  # a build by cargo, a database that is made first, a program that few have
LONG += ("xz -T2",)  # another compressor with threads


class RealPrograms(Case):
    def check(self, program, processes):
        try:
            # nginx's master uses five milliseconds of CPU time and may not be sampled: it leaves a result all the same.
            figures, _, _, results = measure(program, self.fresh_directory("run"), profiled(FREQ=999, MIN_CPU=0, CHILDREN="separate"), SECONDS)
        except Missing as what:
            self.skipTest(f"{what} is not installed")
        self.assertGreaterEqual(len([r for r in results if "svg" in r.endings]), processes)
        for result in results:
            self.assertLessEqual({"fprobe", "folded", "svg"}, result.endings, result.stem.name)
            self.keep(result)
        self.assertGreater(figures.samples, 300)
        # Nearly all: on a busy machine a stack is cut now and then, and says so.
        self.assertGreaterEqual(figures.rooted_share, 0.995, f"{figures}")
        self.assertGreaterEqual(figures.named_share, 0.99, f"{figures}")
        stacks = [stack for result in results for stack in result.stacks()]
        for function in program.functions:
            self.assert_function(stacks, function)

    def keep(self, result):
        """For test_other_architecture, with its names: the program is not there."""
        if GUEST:
            kept = Path(GUEST) / f"{result.stem.name}.fprobe"
            for argv in (["--archive", result.path("fprobe"), "-o", kept], [kept, "-o", kept.with_suffix(".folded")],
                         [kept, "-o", kept.with_suffix(".svg")]):
                done = render(*argv)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_make_tree(self):
        """gcc -> cc1, as: short processes, each with a result of its own."""
        try:
            figures, _, _, results = measure(COMPILER, self.fresh_directory("run"), profiled(FREQ=999, CHILDREN="separate"), SECONDS)
        except Missing as what:
            self.skipTest(f"{what} is not installed")
        self.assertGreaterEqual(len([r for r in results if r.executable == "cc1"]), 4)
        # cc1 recurses for milliseconds into stacks deeper than any copy: about one sample in fifty is cut, and says so.
        self.assertGreaterEqual(figures.rooted_share, 0.96, f"{figures}")


HOT_JAVASCRIPT = """
function leafA(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) | 0; return s; }
function leafB(n) { let s = 1; for (let i = 0; i < n; i++) s = (s ^ (i * 17)) | 0; return s; }
function mid(k) { return leafA(3000 + (k & 15)) + leafB(1000 + (k & 7)); }
function outer(k) { return mid(k) + 1; }
const end = process.cpuUsage().user + 700000;
for (let k = 0, t = 0; process.cpuUsage().user < end; ) for (let j = 0; j < 50; j++) t += outer(k++);
"""
HOT_JAVA = """
public class Hot {
    static int leafA(int n) { int s = 0; for (int i = 0; i < n; i++) s = s * 31 + i; return s; }
    static int leafB(int n) { int s = 1; for (int i = 0; i < n; i++) s = s ^ i * 17; return s; }
    static int mid(int k) { return leafA(3000 + (k & 15)) + leafB(1000 + (k & 7)); }
    static int outer(int k) { return mid(k) + 1; }
    public static void main(String[] arguments) {
        int t = 0;
        for (int k = 0; k < 300_000; k++) t += outer(k);
        System.out.println(t != 0);
    }
}
"""
HOT_LUA = """
local function leafA(n) local s = 0; for i = 1, n do s = (s * 31 + i) % 65537 end return s end
local function leafB(n) local s = 1; for i = 1, n do s = (s + i * 17) % 65521 end return s end
local function mid(k) return leafA(3000 + k % 16) + leafB(1000 + k % 8) end
local function outer(k) return mid(k) + 1 end
local t, k, finish = 0, 0, os.clock() + 0.7
while os.clock() < finish do for j = 1, 50 do t = t + outer(k); k = k + 1 end end
local words = {}
for i = 1, 20000 do words[#words + 1] = string.format("%d:%s", i, string.rep("x", i % 50)) end
table.sort(words, function(a, b) return a > b end)
print(#table.concat(words) > 0)
"""
# The time is spent in C++ that compiled JavaScript and V8's builtins call.
NATIVES_JAVASCRIPT = """
const zlib = require("zlib");
const data = Buffer.alloc(1 << 16, "abcdefgh1234");
function leafA() { return zlib.deflateSync(data).length; }
function leafB() { return JSON.parse(JSON.stringify({ values: [1, 2, 3, { text: "x".repeat(3000) }] })).values.length; }
function mid(n) { let sum = 0; for (let i = 0; i < n; ++i) sum += leafA() + leafB(); return sum; }
function outer(n) { return mid(n) + 1; }
const end = process.cpuUsage().user + 800000;
while (process.cpuUsage().user < end) outer(10);
"""
MATCHES_PHP = """<?php
$text = str_repeat("foo bar12345 abcabcabc99 xyz <tag attr='v'> ", 2000);
for ($end = hrtime(true) + 700000000; hrtime(true) < $end;) preg_match_all('/(a|b|c)+[0-9]{2,}|(\\w+)\\s+<(\\w+)[^>]*>/', $text, $found);
echo count($found) > 0, "\n";
"""
GUEST_C = """
#include <time.h>
volatile unsigned long sink;
__attribute__((noinline)) void work(void) { for (unsigned long i = 0; i < 1000000; ++i) sink += i * i; }
int main(void) { while (clock() < CLOCKS_PER_SEC) work(); return 0; }
"""
CALLERS = {"leafA": "mid", "leafB": "mid", "mid": "outer"}


class JustInTime(Case):
    """Code without unwind tables, which moves, is replaced, and is entered through stubs and by jumps."""

    def stacks(self, where, *argv, **settings):
        ran = run(argv, self.fresh_directory(where), profiled(FREQ=997, CHILDREN="separate", **settings))
        # Of a later process with this pid it would be another user's file, which is not read.
        Path(f"/tmp/perf-{ran.pid}.map").unlink(missing_ok=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.result().stacks()

    def assert_whole(self, stacks, least):
        samples = sum(count for frames, count in stacks if is_sample(frames))
        rooted = sum(count for frames, count in stacks if is_sample(frames) and is_rooted(frames))
        self.assertGreater(samples, 100)
        self.assertGreaterEqual(rooted / samples, least, stacks)

    def assert_calls(self, stacks, function):
        """`function`: what gives the name of a hot function in a frame's, or None. Every edge between two of them is one of
        the program's."""
        edges = Counter()
        for frames, count in stacks:
            names = [function(frame) for frame in frames]
            for caller, called in zip(names, names[1:]):
                if caller is not None and called is not None:
                    edges[caller, called] += count
        self.assertGreater(sum(edges.values()), 30)
        self.assertEqual({edge: count for edge, count in edges.items() if CALLERS.get(edge[1]) != edge[0]}, {})

    def of_v8(self, frame):
        found = re.match(r"JS:\W?(leafA|leafB|mid|outer) ", frame)
        return found and found.group(1)

    def test_node(self):
        self.need("node")
        (self.directory / "hot.js").write_text(HOT_JAVASCRIPT)
        for times in range(sized(1, 20)):
            stacks = self.stacks(str(times), "node", "--perf-basic-prof", "--no-turbo-inlining", self.directory / "hot.js")
            self.assert_whole(stacks, 0.98)
            self.assert_calls(stacks, self.of_v8)

    def test_node_natives(self):
        self.need("node")
        (self.directory / "natives.js").write_text(NATIVES_JAVASCRIPT)
        for engine in ("auto", "timer"):  # timers learn of V8's new code from the stacks that lead there
            stacks = self.stacks(engine, "node", "--perf-basic-prof", "--no-turbo-inlining", self.directory / "natives.js", ENGINE=engine)
            self.assert_whole(stacks, 0.98 if engine == "auto" else 0.9)
            self.assert_calls(stacks, self.of_v8)

    def test_node_recursing(self):
        """2,000 levels: the copy ends in a frame of V8's."""
        self.need("node")
        (self.directory / "deep.js").write_text("""function down(n) { if (n > 0) return down(n - 1) + 1;
    let sum = 0; for (let i = 0; i < 20000; i++) sum += i * i % 7; return sum; }
const end = process.cpuUsage().user + 1e6;
while (process.cpuUsage().user < end) down(2000);
""")
        stacks = self.stacks("recursing", "node", self.directory / "deep.js")
        cut = sum(count for frames, count in stacks if "[truncated]" in frames)
        self.assertLess(cut, 0.1 * sum(count for _, count in stacks))
        whole = sum(count for frames, count in stacks if is_rooted(frames) and "[callers read later]" not in frames)
        self.assertGreater(whole, 0.5 * sum(count for _, count in stacks))

    def test_names_of_a_dump(self):
        """node --perf-prof writes jit-PID.dump instead of a map."""
        self.need("node")
        (self.directory / "hot.js").write_text(HOT_JAVASCRIPT)
        stacks = self.stacks("dump", "node", "--perf-prof", "--no-turbo-inlining", self.directory / "hot.js")
        self.assert_calls(stacks, self.of_v8)

    def test_java(self):
        self.need("java", "javac")
        (self.directory / "Hot.java").write_text(HOT_JAVA)
        compiled = run(["javac", "-d", self.directory, self.directory / "Hot.java"], self.directory)
        self.assertEqual(compiled.returncode, 0, compiled.stderr)
        for times in range(sized(1, 20)):
            stacks = self.stacks(str(times), "java", "-XX:+PreserveFramePointer", "-XX:+UnlockDiagnosticVMOptions",
                                 "-XX:+DumpPerfMapAtExit", "-XX:CompileCommand=dontinline,Hot::*", "-cp", self.directory, "Hot")
            self.assert_whole(stacks, 0.98)
            self.assert_calls(stacks, self.of_java)

    def of_java(self, frame):
        found = re.search(r"\bHot\.(leafA|leafB|mid|outer)\(", frame)
        return found and found.group(1)

    def test_pcre(self):
        """PCRE2's compiler keeps no frame pointer; its functions take their stack once, when they begin."""
        self.need("php")
        (self.directory / "match.php").write_text(MATCHES_PHP)
        stacks = self.stacks("pcre", "php", "-n", "-d", "pcre.jit=1", self.directory / "match.php")
        self.assert_whole(stacks, 0.98)
        compiled = sum(count for frames, count in stacks if "[JIT code]" in frames)
        self.assertGreater(compiled, 30, stacks)

    def test_qemu(self):
        """Translated blocks have no frame: they run in that of their entry."""
        self.need("qemu-x86_64", "gcc")
        (self.directory / "guest.c").write_text(GUEST_C)
        built = run(["gcc", "-static", "-O1", "-o", self.directory / "guest", self.directory / "guest.c"], self.directory)
        if built.returncode != 0:
            self.skipTest("no static C library here")
        stacks = self.stacks("qemu", "qemu-x86_64", self.directory / "guest")
        self.assert_whole(stacks, 0.98)
        translated = sum(count for frames, count in stacks if frames[-1] == "[JIT code]")
        self.assertGreater(translated, 30, stacks)

    def test_luajit(self):
        self.need("luajit")
        (self.directory / "hot.lua").write_text(HOT_LUA)
        for times in range(sized(1, 20)):
            self.assert_whole(self.stacks(str(times), "luajit", self.directory / "hot.lua"), 0.98)


for one in [p for p in PROGRAMS if GUEST or p.name not in sized(LONG, ())]:
    setattr(RealPrograms, "test_" + re.sub(r"\W+", "_", one.name), lambda self, p=one: self.check(p, p.processes))

if __name__ == "__main__":
    unittest.main()
