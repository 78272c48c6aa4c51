"""The table of runtimes: runtimes.py [--freq HZ] [--engines E,E] [RUNTIME...]

Programs of languages with stacks, code or threads of their own, and those of real_programs.py, are run with every engine, as
root and as an ordinary user. A cell has the samples, how many of them are whole, and how many of the frames in files that
have symbols are named. Exit status 1 if a program did not end as it does alone."""

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from figures import Figures, is_sample
from harness import AS_ORDINARY_USER, ENGINES, clean_environment, profiled, run
from programs import PATH, Missing, find
from test_real_programs import HOT_JAVA, HOT_JAVASCRIPT, HOT_LUA, MATCHES_PHP, NATIVES_JAVASCRIPT

RUBY = """
def leaf(n) s = 0; i = 0; while i < n; s = (s * 31 + i) & 0xffff; i += 1; end; s end
def mid(k) leaf(2000 + (k & 15)) + [3, 1, 2].map { |x| x * k }.sum end
def now() Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) end
t = k = 0
finish = now + 0.8
while now < finish do 50.times { t += mid(k); k += 1 } end
fiber = Fiber.new { loop { |i| Fiber.yield (1..20).map(&:to_s).sort } }
20000.times { fiber.resume }
"""
PHP = """<?php
function leaf($n) { $s = 0; for ($i = 0; $i < $n; $i++) $s = ($s * 31 + $i) & 0xffff; return $s; }
function mid($k) { return leaf(3000 + ($k & 15)); }
for ($end = hrtime(true) + 1000000000, $k = 0; hrtime(true) < $end;) for ($j = 0; $j < 50; $j++) mid($k++);
"""
HASKELL = """
import qualified Data.Map.Strict as M
import Data.List (foldl')
step m i = M.insertWith (+) (i `mod` 5003) i m
main = print (M.foldl' (+) 0 (foldl' step M.empty [1 .. 3000000 :: Int]))
"""
OCAML = """
module M = Map.Make(Int)
let rec fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)
let () =
  let m = ref M.empty in
  for i = 1 to 400000 do m := M.add (i * 7919 mod 100003) i !m done;
  Printf.printf "%d %d\\n" (M.cardinal !m) (fib 36)
"""
ERLANG = """
-module(hot). -export([main/0]).
fib(N) when N < 2 -> N;
fib(N) -> fib(N - 1) + fib(N - 2).
main() -> fib(31), lists:sort([erlang:phash2(X) || X <- lists:seq(1, 600000)]), halt().
"""
COROUTINES_LUA = """
local function values(n) return coroutine.wrap(function() for i = 1, n do coroutine.yield(i * i % 97) end end) end
local finish, t = os.clock() + 0.8, 0
while os.clock() < finish do
    for value in values(2000) do t = t + value end
    local s = {}
    for i = 1, 500 do s[i] = string.rep("a", i % 30) end
    table.sort(s)
end
"""
PERL = r"""
my $text = "foo bar12345 abcabcabc99 xyz <tag attr='v'> " x 2000;
for (my $end = (times)[0] + 0.8; (times)[0] < $end;) {
    while ($text =~ /(a|b|c)+[0-9]{2,}|(\w+)\s+<(\w+)[^>]*>/g) { ++$found }
    my %h;
    $h{$_ % 997} .= "x" for 1 .. 20000;
}
"""
SCHEME = """
(define (leaf n) (let loop ((i 0) (s 0)) (if (= i n) s (loop (+ i 1) (modulo (+ (* s 31) i) 65537)))))
(define end (+ (get-internal-run-time) internal-time-units-per-second))
(let loop ((k 0)) (if (< (get-internal-run-time) end) (begin (leaf 5000) (loop (+ k 1)))))
"""
LISP = """
(defun leaf (n) (let ((s 0)) (declare (fixnum s n)) (dotimes (i n s) (setf s (mod (+ (* s 31) i) 65537)))))
(defun mid (k) (+ 1 (leaf (+ 3000 (logand k 15)))))
(let ((end (+ (get-internal-run-time) internal-time-units-per-second))) (loop for k from 0 while (< (get-internal-run-time) end) do (mid k)))
"""
RACKET = """#lang racket/base
(define (leaf n) (let loop ([i 0] [s 0]) (if (= i n) s (loop (+ i 1) (modulo (+ (* s 31) i) 65537)))))
(define end (+ (current-process-milliseconds) 1000))
(let loop ([k 0]) (when (< (current-process-milliseconds) end) (+ 1 (leaf 5000)) (loop (+ k 1))))
"""
CHICKEN = """
(import (chicken time))
(define (leaf n) (let loop ((i 0) (s 0)) (if (= i n) s (loop (+ i 1) (modulo (+ (* s 31) i) 65537)))))
(define (mid k) (+ 1 (leaf (+ 3000 k))))
(let ((end (+ (current-process-milliseconds) 1000))) (let loop ((k 0)) (if (< (current-process-milliseconds) end) (begin (mid (modulo k 15)) (loop (+ k 1))))))
"""
GO = """
package main
import "C" // linked dynamically: else nothing can be preloaded
import ("fmt"; "sort"; "sync")
func work(n int) int { s := make([]int, 0); for i := 0; i < n; i++ { s = append(s, i*7919%10007) }; sort.Ints(s); return len(s) }
func main() { var w sync.WaitGroup; for g := 0; g < 4; g++ { w.Add(1); go func() { defer w.Done(); for i := 0; i < 60; i++ { work(20000) } }() }; w.Wait(); fmt.Println("ok") }
"""
C = """
#include <time.h>
volatile unsigned long sink;
__attribute__((noinline)) void work(void) { for (int i = 0; i < 100000; i++) sink += i; }
int main(void) { while (clock() < CLOCKS_PER_SEC) work(); return 0; }
"""
PYTHON = """
import json, re, threading, time
def leaf(n): return sum(i * 31 & 0xffff for i in range(n))
def mid(k): return leaf(2000 + (k & 15)) + len(re.sub("[0-9]+", "n", json.dumps(list(range(k % 50)))))
def work():
    k, end = 0, time.thread_time() + 0.4
    while time.thread_time() < end: mid(k); k += 1
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
RUST = """
use std::collections::HashMap;
#[inline(never)]
fn words(n: u64) -> HashMap<String, u64> {
    let mut found = HashMap::new();
    for i in 0..n { *found.entry(format!("word{}", i * 7919 % 997)).or_insert(0) += i; }
    found
}
fn main() {
    let threads: Vec<_> = (0..2).map(|_| std::thread::spawn(|| {
        let mut sum = 0;
        for i in 0..60 { let mut all: Vec<_> = words(20000 + i).into_iter().collect(); all.sort(); sum += all.len(); }
        sum
    })).collect();
    println!("{}", threads.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>());
}
"""
LINES = "".join(f"line {n} foo{n % 97} bar12345 abcabcabc99 xyz <tag attr='v'>\n" for n in range(400_000))


@dataclass(frozen=True)
class Runtime:
    """`files`: made before; `build`: run once; {dir} is their directory."""

    name: str
    argv: tuple
    files: tuple = ()
    build: tuple = ()


RUNTIMES = (
    Runtime("C", ("{dir}/c",), (("c.c", C),), ("gcc", "-O1", "-g", "-o", "{dir}/c", "{dir}/c.c")),
    Runtime("C, musl", ("{dir}/musl",), (("c.c", C),), ("musl-gcc", "-O1", "-g", "-o", "{dir}/musl", "{dir}/c.c")),
    Runtime("C, 32 bit", ("{dir}/c32",), (("c.c", C),), ("gcc", "-m32", "-O1", "-g", "-o", "{dir}/c32", "{dir}/c.c")),
    Runtime("Rust", ("{dir}/rs",), (("hot.rs", RUST),), ("rustc", "-O", "-o", "{dir}/rs", "{dir}/hot.rs")),
    Runtime("Python", ("python3", "{dir}/hot.py"), (("hot.py", PYTHON),)),
    Runtime("Go", ("{dir}/go",), (("hot.go", GO),), ("go", "build", "-o", "{dir}/go", "{dir}/hot.go")),
    Runtime("Haskell", ("{dir}/hs",), (("Hot.hs", HASKELL),), ("ghc", "-O1", "-o", "{dir}/hs", "{dir}/Hot.hs")),
    Runtime("OCaml", ("{dir}/ml",), (("hot.ml", OCAML),), ("ocamlopt", "{dir}/hot.ml", "-o", "{dir}/ml")),
    Runtime("Erlang", ("erl", "+JPperf", "true", "-noshell", "-pa", "{dir}", "-s", "hot", "main"), (("hot.erl", ERLANG),), ("erlc", "-o", "{dir}", "{dir}/hot.erl")),
    Runtime("Ruby", ("ruby", "{dir}/hot.rb"), (("hot.rb", RUBY),)),
    Runtime("Perl", ("perl", "{dir}/hot.pl"), (("hot.pl", PERL),)),
    Runtime("PHP", ("php", "-n", "{dir}/hot.php"), (("hot.php", PHP),)),
    Runtime("PHP, JIT", ("php", "-n", "-d", "zend_extension=opcache", "-d", "opcache.enable_cli=1", "-d", "opcache.jit=tracing",
                         "-d", "opcache.jit_buffer_size=32M", "-d", "opcache.file_update_protection=0", "{dir}/hot.php"), (("hot.php", PHP),)),
    Runtime("PHP with PCRE's JIT", ("php", "-n", "-d", "pcre.jit=1", "{dir}/match.php"), (("match.php", MATCHES_PHP),)),
    Runtime("grep -P", ("grep", "-cP", r"(a|b|c)+[0-9]{2,}|(\w+)\s+<(\w+)[^>]*>", "{dir}/lines"), (("lines", LINES),)),
    Runtime("Lua, LuaJIT", ("luajit", "{dir}/hot.lua"), (("hot.lua", HOT_LUA),)),
    Runtime("coroutines, LuaJIT", ("luajit", "{dir}/co.lua"), (("co.lua", COROUTINES_LUA),)),
    Runtime("Scheme, Guile", ("guile", "--no-auto-compile", "{dir}/hot.scm"), (("hot.scm", SCHEME),)),
    Runtime("Lisp, SBCL", ("sbcl", "--script", "{dir}/hot.lisp"), (("hot.lisp", LISP),)),
    Runtime("Racket", ("racket", "{dir}/hot.rkt"), (("hot.rkt", RACKET),)),
    Runtime("Scheme, Chicken", ("{dir}/chicken",), (("chicken.scm", CHICKEN),), ("csc", "-O2", "-o", "{dir}/chicken", "{dir}/chicken.scm")),
    Runtime("node", ("node", "--perf-basic-prof", "{dir}/hot.js"), (("hot.js", HOT_JAVASCRIPT),)),
    Runtime("node, natives", ("node", "--perf-basic-prof", "{dir}/natives.js"), (("natives.js", NATIVES_JAVASCRIPT),)),
    Runtime("Java", ("java", "-XX:+PreserveFramePointer", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit", "-cp", "{dir}", "Hot"),
            (("Hot.java", HOT_JAVA),), ("javac", "-d", "{dir}", "{dir}/Hot.java")),
)


def command(parts, directory):
    program, *rest = (part.replace("{dir}", str(directory)) for part in parts)
    return [find(program), *rest]


def prepared(runtime, directory):
    """Its command; Missing where its compiler or interpreter is not there."""
    for name, text in runtime.files:
        (directory / name).write_text(text)
    if runtime.build:
        built = subprocess.run(command(runtime.build, directory), capture_output=True, text=True, cwd=directory,
                               env=dict(clean_environment(), PATH=PATH, HOME=str(directory), GOCACHE=str(directory / "cache"),
                                        RUSTUP_HOME=os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup"))))
        if built.returncode != 0:
            raise Missing(f"{runtime.build[0]} that builds it: {built.stderr[-200:]}")
    return command(runtime.argv, directory)


def cell(argv, directory, engine, user, frequency, status):
    """(what the table says, whether it ended as alone)"""
    with tempfile.TemporaryDirectory(prefix="flameprobe-runtimes-") as name:
        place = Path(name)
        place.chmod(0o777)
        ran = run([*user, *argv], place, profiled(ENGINE=engine, FREQ=frequency, FORMAT="folded", HOME=None), timeout=120)
        for left in place.parent.glob(f"perf-{ran.pid}.map"):
            left.unlink(missing_ok=True)
        if ran.returncode != status:
            return f"ends with {ran.returncode}", False
        stacks = [stack for result in ran.results().values() for stack in result.stacks() if is_sample(stack[0])]
        if not stacks:
            return "not sampled", True
        figures = Figures().add(stacks, argv[0])
        # Where stacks begin differs from runtime to runtime; those that do not reach their beginning say so.
        whole = sum(hits for frames, hits in stacks if "[truncated]" not in frames) / figures.samples
        return f"{figures.samples}: {whole:.1%}, {figures.named_share:.1%}", True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--freq", type=int, default=499)
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("runtimes", nargs="*")
    options = parser.parse_args()
    users = [("root", []), ("user", AS_ORDINARY_USER)] if os.geteuid() == 0 else [("user", [])]
    ways = list(itertools.product(options.engines.split(","), users))
    print("| samples: whole, named | " + " | ".join(f"{engine}, {user}" for engine, (user, _) in ways) + " |")
    print("|-|" + "-|" * len(ways))
    bad = []
    for runtime in RUNTIMES:
        if options.runtimes and runtime.name not in options.runtimes:
            continue
        with tempfile.TemporaryDirectory(prefix="flameprobe-runtimes-") as name:
            directory = Path(name)
            directory.chmod(0o755)
            try:
                argv = prepared(runtime, directory)
            except Missing as what:
                print(f"({runtime.name} is left out: no {what})", file=sys.stderr)
                continue
            status = run(argv, directory, clean_environment()).returncode
            cells = [cell(argv, directory, engine, user, options.freq, status) for engine, (_, user) in ways]
            print(f"| {runtime.name} | " + " | ".join(text for text, _ in cells) + " |", flush=True)
            if not all(same for _, same in cells):
                bad.append(runtime.name)
    if bad:
        raise SystemExit(f"ended otherwise than alone: {', '.join(bad)}")


if __name__ == "__main__":
    main()
