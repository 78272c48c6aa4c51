"""cargo flameprobe, from its path and offline: a binary, an example, a benchmark and a test are run under FlameProbe."""

import os
import shutil
import tempfile
import unittest
from pathlib import Path

from harness import COMMAND, ROOT, SIZE, Case, clean_environment, read_folded, run, sized

CRATE = ROOT / "tools" / "cargo"
WORK = """
#[inline(always)]
fn mix(value: u64) -> u64 { (value ^ (value >> 31)).wrapping_mul(0x9e3779b97f4a7c15) }
#[inline(never)]
pub fn insert_keys(count: u64) -> usize {
    let mut keys = std::collections::HashMap::new();
    for key in 0..count { keys.insert(mix(unsafe { std::ptr::read_volatile(&key) }), key); }
    keys.len()
}
"""
CALL = "fn main() { let n = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(400_000); println!(\"{}\", sample::insert_keys(n)); }\n"


class Cargo(Case):
    installed = None  # once, for all tests: its bin has cargo-flameprobe

    def install(self, environment):
        Cargo.installed = Path(tempfile.mkdtemp(prefix="flameprobe-cargo-"))
        self.addClassCleanup(shutil.rmtree, Cargo.installed)
        done = run(["cargo", "install", "--offline", "--locked", "--debug", "--path", CRATE, "--root", Cargo.installed],
                   self.directory, env=environment, timeout=200)
        if done.returncode != 0 and "rustup could not choose" in done.stderr:
            raise unittest.SkipTest("this user has no Rust toolchain")
        self.assertEqual(done.returncode, 0, done.stderr)

    def setUp(self):
        super().setUp()
        self.need("cargo", "rustc")
        self.package = self.fresh_directory("sample")
        for path, text in {
            "Cargo.toml": '[package]\nname = "sample"\nversion = "0.1.0"\nedition = "2021"\n[profile.release]\nstrip = true\n'
                          '[[bench]]\nname = "keys"\nharness = false\n',
            "src/lib.rs": WORK, "src/main.rs": CALL, "examples/insert.rs": CALL,
            "benches/keys.rs": "fn main() { println!(\"{}\", sample::insert_keys(400_000)); }\n",
            "tests/many.rs": "#[test]\nfn many() { assert_eq!(sample::insert_keys(400_000), 400_000); }\n",
        }.items():
            (self.package / path).parent.mkdir(exist_ok=True)
            (self.package / path).write_text(text)
        # Of one toolchain: where cargo is rustup's and Debian's rustc is earlier in the PATH, cargo alone cannot build.
        rustc = Path(shutil.which("cargo")).with_name("rustc")
        environment = clean_environment(FLAMEPROBE=None, CARGO_NET_OFFLINE="true", CARGO_TARGET_DIR=self.directory / "target",
                                        RUSTC=rustc if rustc.exists() else None)
        if not (Cargo.installed and (Cargo.installed / "bin" / "cargo-flameprobe").exists()):
            self.install(environment)
        self.environment = {**environment, "FLAMEPROBE": str(COMMAND),
                            "PATH": f"{self.directory}:{Cargo.installed}/bin:{os.environ.get('PATH', '')}"}

    def flameprobe(self, *arguments, **changes):
        return run(["cargo", "flameprobe", *arguments], self.package, env={**self.environment, **changes}, timeout=200)

    def test_each_kind(self):
        (self.package / "results").mkdir()
        # Debug information of some MB, as an older rustc makes, is read from a hundred samples on.
        example = (["--example", "insert", "--", "3000000"], "example")
        for arguments, out in sized([example], [([], "binary"), example, (["--bench", "keys"], "bench"), (["--test", "many"], "test"),
                                                (["--dev", "--bin=sample", "--", "100000"], "dev")]):
            with self.subTest(out):
                done = self.flameprobe("-F", "999", "-o", f"results/{out}", *arguments)
                self.assertEqual(done.returncode, 0, done.stderr)
                html = self.package / "results" / f"{out}.html"
                self.assertTrue(html.is_file(), done.stderr)
                self.assertIn(f"{out}.html\n", done.stderr)
                stacks = read_folded(html.with_suffix(".folded").read_text())
                self.assert_function(stacks, "sample::insert_keys", at_least=5)
                if out == "example":
                    self.assertIn("3000000", done.stdout)
                    inlined = {frame for frames, _ in stacks for frame in frames if frame.endswith("_[i]")}
                    self.assertTrue(any("insert" in frame for frame in inlined), inlined)  # debug information, though stripped

    def test_opens_the_picture(self):
        (self.directory / "xdg-open").write_text(f"#!/bin/sh\necho \"$1\" >{self.directory}/opened\n")
        (self.directory / "xdg-open").chmod(0o755)
        done = self.flameprobe("--open", "-F", "999")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex((self.directory / "opened").read_text(), r"flameprobe\.sample\.\d+\.html$")

    def test_what_is_wrong_is_told_before_anything_is_built(self):
        done = self.flameprobe(FLAMEPROBE="/not-there/flameprobe")
        self.assertEqual(done.returncode, 2)
        self.assertIn("/not-there/flameprobe: ", done.stderr)
        self.assertEqual(self.flameprobe("--out").returncode, 2)
        self.assertIn("cargo flameprobe [OPTIONS]", self.flameprobe("--help").stdout)
        self.assertFalse((self.directory / "target" / "release" / "sample").exists())

    def test_own_tests(self):
        if SIZE != "all":
            self.skipTest("runs in tools/test all")
        done = run(["cargo", "test", "--offline", "--locked", "--manifest-path", CRATE / "Cargo.toml"], self.directory,
                   env=self.environment, timeout=200)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("0 failed", done.stdout)


if __name__ == "__main__":
    unittest.main()
