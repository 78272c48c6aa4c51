"""The Debian packages and the tarball: made, and tried in a bare root. In `tools/test packages` only: each is a build of its own.
Faults that only they have shown, and no development build, have a test here."""

import os
import re
import shutil
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path

import yaml

from harness import ROOT, SIZE, Case, read_folded, run
from machines import archive, left_out

BURN = ["perl", "-e", "my $n = 0; for my $i (1 .. 8_000_000) { $n += $i % 7 } print qq($n\\n)"]
QUICKLY = "-O1"  # nobody asks how fast these packages are


class Packages(Case):
    roots = {}  # bare ones, each made once and copied
    made = {}  # by options: the tarball and the one file, for all tests

    def setUp(self):
        super().setUp()
        if SIZE != "all":
            self.skipTest("runs in tools/test packages")
        self.source = self.directory / "flameprobe"
        shutil.copytree(ROOT, self.source, ignore=left_out)

    def bare_root(self, release):
        """A Debian with nothing but its essential packages."""
        self.need("debootstrap", "unshare")
        if os.geteuid() != 0 or archive() is None:
            self.skipTest("a bare root is made by root, from the archive that apt uses")
        if release not in self.roots:
            place = Path(tempfile.mkdtemp(prefix="flameprobe-bare-root-"))
            self.addClassCleanup(shutil.rmtree, place)
            done = run(["debootstrap", "--variant=minbase", release, place / "root", archive()], self.directory, timeout=600)
            if done.returncode != 0:
                self.skipTest(f"debootstrap cannot make a {release}: {done.stdout[-300:]}")
            self.roots[release] = place / "root"
        root = self.directory / release
        subprocess.run(["cp", "-a", self.roots[release], root], check=True)
        (root / "work").mkdir()
        return root

    def inside(self, root, argv, **environment):
        """Runs in the root, with its own mounts and a /proc. Only the program itself has the environment: nothing before it
        is profiled, or preloads what is not there."""
        script = 'mount -t proc proc "$1/proc" && root=$1 && shift && cd / && exec chroot "$root" "$@"'
        return run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script, "sh", root, "env", "-C", "/work",
                    *(f"{name}={value}" for name, value in environment.items()), *argv], self.directory,
                   env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"}, timeout=600)

    def check_profile(self, root, stem):
        stacks = read_folded((root / "work" / f"{stem}.folded").read_text())
        self.assert_function(stacks, "Perl_runops_standard", at_least=20)
        self.assertTrue((root / "work" / f"{stem}.svg").is_file())

    def test_debian(self):
        self.need("dpkg-buildpackage", "dh", "lintian")
        quickly = dict.fromkeys(("DEB_CFLAGS_APPEND", "DEB_CXXFLAGS_APPEND"), "-g1 " + QUICKLY)
        built = run(["dpkg-buildpackage", "-us", "-uc", "-b"], self.source, env=os.environ | quickly, timeout=2400,
                    cwd=self.source)
        self.assertEqual(built.returncode, 0, (built.stdout + built.stderr)[-3000:])
        packages = sorted(p for p in self.directory.glob("*.deb") if "dbgsym" not in p.name)
        self.assertEqual([p.name.split("_")[0] for p in packages], ["flameprobe", "libflameprobe-dev", "libflameprobe0"])
        changes = next(self.directory.glob("*.changes"))
        checked = run(["lintian", "--allow-root", "--fail-on", "error,warning", changes], self.directory, timeout=300)
        self.assertEqual((checked.returncode, checked.stdout.strip()), (0, ""), checked.stdout + checked.stderr)
        root = self.bare_root("bookworm")
        for package in packages:
            shutil.copy(package, root / "work")
        installed = self.inside(root, ["sh", "-c", "apt-get -q install -y --no-install-recommends ./*.deb"])
        self.assertEqual(installed.returncode, 0, (installed.stdout + installed.stderr)[-2000:])
        done = self.inside(root, ["flameprobe", "run", "-F", "499", "-o", "burned", "--", *BURN])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_profile(root, "burned")
        done = self.inside(root, BURN, LD_PRELOAD="libflameprobe.so", FLAMEPROBE_OUT="preloaded", FLAMEPROBE_FREQ="499")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.check_profile(root, "preloaded")

    def make(self, *options):
        """The tarball and the one file."""
        if options in self.made:
            return self.made[options]
        place = Path(tempfile.mkdtemp(prefix="flameprobe-tarball-"))
        self.addClassCleanup(shutil.rmtree, place)
        made = run([self.source / "tools" / "tarball" / "make", *options, place], self.directory,
                   env=os.environ | {"CFLAGS": QUICKLY, "CXXFLAGS": QUICKLY}, timeout=2400)
        if made.returncode == 77:
            self.skipTest(made.stderr.strip().splitlines()[-1])
        self.assertEqual(made.returncode, 0, made.stderr[-3000:])
        tarball, one = map(Path, made.stdout.splitlines()[-2:])
        self.assertLess(one.stat().st_size, 12_000_000)
        self.made[options] = tarball, one
        return tarball, one

    def test_one_file_for_aarch64(self):
        """On an emulated CPU, with the libc of a Debian 11; tools/test-arm64 shows what needs a kernel. The profile is of the file for
        this CPU: `tools/test packages` builds nothing else."""
        _, one = self.make("--arm64")
        _, here = self.make()
        emulated = ["qemu-aarch64", "-L", one.parent.parent / "debian-11", one]
        profile = self.directory / "burned.fprobe"
        profiling = run([here, "run", "-F", "499", "-f", "none", "-o", profile.with_suffix(""), "--", *BURN], self.directory)
        self.assertEqual(profiling.returncode, 0, profiling.stderr)
        for argv, told in ((["--version"], r"^flameprobe [0-9.]+, profiles of format \d+\n$"), (["doctor"], "paranoid level"),
                           (["render", profile, "--top", "50"], "Perl_runops_standard")):
            with self.subTest(argv=argv[0]):
                done = run([*emulated, *argv], self.directory)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stdout, told)
        there = run([*emulated, "render", profile, "--format", "svg", "-o", "-"], self.directory)
        self.assertEqual(there.returncode, 0, there.stderr)
        self.assertEqual(there.stdout, run([here, "render", profile, "--format", "svg", "-o", "-"], self.directory).stdout)

    def test_tarball(self):
        tarball, one = self.make()
        self.unpacked(tarball, "bookworm")
        root, command = self.unpacked(tarball, "bullseye")  # glibc 2.31
        for engine in ("timer", "ring"):
            library = str(Path(command).parents[1] / "lib" / "libflameprobe.so")
            done = self.inside(root, BURN, LD_PRELOAD=library, FLAMEPROBE_ENGINE=engine, FLAMEPROBE_OUT=engine, FLAMEPROBE_FREQ="199")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assert_function(read_folded((root / "work" / f"{engine}.folded").read_text()), "Perl_runops_standard", at_least=5)
        # What is left out of it says so.
        done = self.inside(root, [command, "live", "1"])
        self.assertEqual(done.returncode, 1)
        self.assertIn("made without libmicrohttpd", done.stderr)
        # As the Dockerfile of the examples sets it.
        docker = (ROOT / "examples" / "ci" / "Dockerfile").read_text()
        settings = dict(re.findall(r"(?m)^ENV (\w+)=(.*)$", docker))
        self.assertIn(f"ADD {tarball.name} /opt", docker)
        (root / "profiles").mkdir()
        done = self.inside(root, BURN, **settings)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(list((root / "profiles").glob("perl.*.svg"))), 1)
        self.check_pod(root)
        self.check_one_file(one)

    def check_one_file(self, one):
        """Alone with a Debian 11's libc and shell: no other library, no names of terminals, no /dev but null."""
        root, old = self.directory / "libc-only", self.roots["bullseye"]
        for folder in ("bin", "dev", "lib/x86_64-linux-gnu", "lib64", "proc", "tmp", "work"):
            (root / folder).mkdir(parents=True)
        for library in ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0"):
            shutil.copy(old / "lib/x86_64-linux-gnu" / library, root / "lib/x86_64-linux-gnu")
        # By its own name: the usual one is a link, which leads out of the root.
        shutil.copy(next((old / "lib/x86_64-linux-gnu").glob("ld-2.*.so")), root / "lib64/ld-linux-x86-64.so.2")
        shutil.copy(old / "bin/dash", root / "bin/sh")
        shutil.copy(one, root / "work/flameprobe")
        os.mknod(root / "dev/null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))

        def shell(script):
            enter = 'mount -t proc proc "$1/proc" && exec chroot "$1" /bin/sh -c "cd /work; $2"'
            done = run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", enter, "sh", root, script], self.directory,
                       env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout + done.stderr
        shell("./flameprobe run -F 499 -o run -- sh -c 'i=0; while [ $i -lt 600000 ]; do i=$((i+1)); done'; while [ -e /tmp/flameprobe-* ]; do :; done")
        said = shell("sh -c 'while :; do :; done' & ./flameprobe attach -d 2s -F 499 -o attached $! && ./flameprobe top --once $! && "
                     "./flameprobe stat -d 1s -p $! && ./flameprobe doctor && ./flameprobe render run.fprobe --top 3; said=$?; "
                     "kill -9 $!; exit $said")
        for what in ("seen for 3 s", "task-clock", "It works", "functions"):
            self.assertIn(what, said)
        for stem in ("run", "attached"):
            stacks = read_folded((root / "work" / f"{stem}.folded").read_text())
            self.assertGreater(sum(count for frames, count in stacks if frames[0].startswith("sh")), 20)
            self.assertIn("<svg", (root / "work" / f"{stem}.svg").read_text()[:2000])

    def unpacked(self, tarball, release):
        """A bare root without libdw where the tarball was unpacked and tried, and the command in it."""
        root = self.bare_root(release)
        found = list((root / "usr" / "lib").rglob("libdw*.so*"))
        self.assertEqual(found, [])
        self.assertEqual(run(["tar", "-xJf", tarball, "-C", root / "opt"], self.directory).returncode, 0)
        command = f"/opt/{tarball.name.removesuffix('.tar.xz')}/bin/flameprobe"
        done = self.inside(root, [command, "run", "-F", "499", "-o", "burned", "--", *BURN])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_profile(root, "burned")
        return root, command

    def check_pod(self, root):
        """The pod of the examples: what its init container does, then a server with what its container sets."""
        pod = yaml.safe_load((ROOT / "examples" / "ci" / "kubernetes-pod.yaml").read_text())["spec"]
        init, server = pod["initContainers"][0], pod["containers"][0]
        for mount in server["volumeMounts"]:
            (root / mount["mountPath"].strip("/")).mkdir(exist_ok=True)
        done = self.inside(root, init["command"])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = self.inside(root, BURN, **{variable["name"]: variable["value"] for variable in server["env"]})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(list((root / "profiles").glob("perl.*.svg"))), 2)


if __name__ == "__main__":
    unittest.main()
