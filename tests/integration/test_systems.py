"""The README's commands on machines where nothing is installed (machines.py). What installs packages is also tried alone, with
programs in the place of apt and sudo."""

import re
import shutil
import time
import unittest
from pathlib import Path

from harness import ROOT, SIZE, Case, run
from machines import KEPT, RELEASES, Machine
from run import cpu_seconds

INSTALL = ROOT / "tools" / "packages" / "install"
LOCKED = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1 (apt-get)"


class InstallStep(Case):
    """tools/packages/install: as root, by sudo, and by a user who may not."""

    def setUp(self):
        super().setUp()
        self.tools = self.directory / "tools"
        self.tools.mkdir()
        for name in ("bash", "cat", "dirname", "env", "grep", "mktemp", "rm", "tee"):
            (self.tools / name).symlink_to(shutil.which(name))
        self.stub("sleep", "")
        self.stub("sudo", 'echo sudo >>said; exec "$@"')
        # As many answers that the lists are locked as there are lines in `locked`.
        self.stub("apt-get", f'echo "$@" >>said\nread -r first rest <locked || exit 0\necho "$rest" >locked\n'
                  f'[ -z "$first" ] || {{ echo "{LOCKED}" >&2; exit 100; }}')
        (self.directory / "locked").write_text("")
        self.be_user(1000)
        self.installed("")

    def stub(self, name, script):
        path = self.tools / name
        path.write_text(f"#!{shutil.which('bash')}\n{script}\n")
        path.chmod(0o755)

    def be_user(self, number):
        self.stub("id", f"echo {number}")

    def installed(self, names):
        self.stub("dpkg-query", f'for last; do :; done\ncase " {names} " in *" $last "* | " all ") echo installed ;; *) exit 1 ;; esac')

    def install(self, *lists):
        """(exit status, what it printed, what it ran)"""
        done = run([INSTALL, *lists], self.directory, env={"PATH": str(self.tools), "TMPDIR": str(self.directory)})
        said = self.directory / "said"
        return done.returncode, done.stdout + done.stderr, said.read_text().splitlines() if said.exists() else []

    def test_nothing_missing(self):
        (self.tools / "sudo").unlink()
        self.installed("all")
        self.assertEqual(self.install("build", "parts"), (0, "", []))

    def test_no_debian(self):
        (self.tools / "dpkg-query").unlink()
        status, printed, ran = self.install("build")
        self.assertEqual((status, ran), (0, []))
        self.assertIn("docs/install.md", printed)

    def test_root(self):
        self.be_user(0)
        status, printed, ran = self.install("parts")
        self.assertEqual((status, len(ran)), (0, 2), printed)
        self.assertIn("librsvg2-dev", printed)
        self.assertRegex(ran[1], "DPkg::Lock::Timeout=[0-9]+ install -y --no-install-recommends .*libmicrohttpd-dev")

    def test_sudo(self):
        _, _, ran = self.install("parts")
        self.assertEqual(ran[0::2], ["sudo", "sudo"])

    def test_no_sudo(self):
        (self.tools / "sudo").unlink()
        status, printed, ran = self.install("parts")
        self.assertEqual((status, ran), (1, []))
        self.assertRegex(printed, "there is no sudo.*As root:\n  apt-get update && apt-get install .*librsvg2-dev")

    def test_locked(self):
        (self.directory / "locked").write_text("1 2 3\n")
        status, printed, ran = self.install("parts")
        self.assertEqual((status, printed.count("waiting for it")), (0, 3), printed)
        self.assertEqual(len([line for line in ran if line.endswith(" update")]), 4)

    def test_refused(self):
        self.stub("apt-get", "echo 'E: Unable to locate package' >&2; exit 100")
        status, printed, _ = self.install("parts")
        self.assertEqual(status, 1)
        self.assertRegex(printed, "apt-get update failed, as said above. As root:")


class ConfigureStep(Case):
    """tools/configure, with a program in the place of meson."""

    def test_again(self):
        """tools/install goes on with what tools/demo compiled: told its kind of build again, meson changes the optimization."""
        (self.directory / "meson").write_text('#!/bin/sh\nmkdir -p build; echo >build/build.ninja; echo "$@" >>said\n')
        (self.directory / "meson").chmod(0o755)
        for options in ([], ["--prefix=/opt/a"]):
            done = run([ROOT / "tools" / "configure", "build", *options], self.directory, env={"PATH": f"{self.directory}:/usr/bin:/bin"})
            self.assertEqual(done.returncode, 0, done.stderr)
        first, again = (self.directory / "said").read_text().splitlines()
        self.assertRegex(first, "--buildtype=release -Doptimization=2 -Dunity=on -Dcpp_args=")
        if Path("/etc/debian_version").exists():
            self.assertRegex(first, "--libdir=lib/[a-z0-9_]+-linux-gnu ")
        self.assertEqual(again, f"setup --reconfigure build {ROOT} --prefix=/opt/a")


def readme_commands():
    """As they stand in its section on installing: without their comments."""
    section = (ROOT / "README.md").read_text().split("## Install", 1)[1].split("\n## ", 1)[0]
    block = section.split("```\n", 2)[1]
    return [line.split("#")[0].strip() for line in block.splitlines() if line.strip()]


def seconds_of_downloads(said):
    """As apt gives them: Fetched 61.2 MB in 1min 5s (941 kB/s)"""
    return sum(60 * int(minutes or 0) + int(seconds) for minutes, seconds in re.findall(r"^Fetched .* in (?:(\d+)min )?(\d+)s ", said, re.M))


HOME = "/home/stranger/flameprobe"
BUSY = "i=0; while [ $i -lt 3000000 ]; do i=$((i+1)); done"
# What a release has of the tests' packages is installed there: tools/packages/test.txt is of Debian 12.
TESTED_WITH = """ccache clang doctest-dev libunwind-dev libssl-dev binutils redis-server redis-tools nginx-light nginx wrk xz-utils zstd strace
    gdb procps python3-yaml luajit cargo rustc nodejs google-perftools libmimalloc2.0 libmimalloc3 valgrind dwz file perl locales mount"""
# Beside the units: of tests/integration/meson.build what needs no browser, no other compiler and no other build.
GROUPS = ["demo", "real programs", "true shares", "deep stacks", "stacks of their own", "lives of hosts", "ordinary user",
          "hosts of an ordinary user", "ends of hosts", "processes", "another user", "timers of hosts", "folder of a run", "accounts",
          "totals", "allocations", "limits", "perf refused", "kill", "runs", "collector task", "names of hosts", "bad settings",
          "waits", "several events", "locks", "stat", "names of code", "brief lives", "attach", "flameprobe run",
          "formats of a real run", "rendering, source", "rendering, names"]
# A few that fail beside the others run once more, alone, as in tools/test.
TESTS = """meson test -C build-tests --no-rebuild --print-errorlogs --num-processes $(($(nproc) * 2)) --timeout-multiplier 4 "$@"
mapfile -t failed < <(python3 tests/count_cases.py --failed build-tests)
[ ${#failed[@]} -eq 0 ] || [ ${#failed[@]} -gt 8 ] ||
  meson test -C build-tests --no-rebuild --print-errorlogs --logbase testlog-again --num-processes 1 --timeout-multiplier 4 "${failed[@]}"
"""


# What follows has the CPU time that other tests leave, and a tenth of one's share. sched(7): where sessions share a CPU, nice values
# count within one only.
ASIDE = "echo 10 2>/dev/null >/proc/self/autogroup; renice -n 10 $$ >/dev/null; "


class EmptyMachine(Case):
    """What says quickest that a stranger's first command works, and that the core links where the libraries are newer."""

    def succeeds(self, machine, command):
        done = machine.run(command, directory=HOME)
        self.assertEqual(done.returncode, 0, (done.stdout + done.stderr)[-3000:])
        return done.stdout

    def test_demo(self):
        machine = with_sources(Machine(self, "bookworm"))
        machine.run(ASIDE + "tools/demo 0 -Doptimization=0", directory=HOME)  # installs and compiles; there is nothing to draw
        picture = self.succeeds(machine, "tools/demo 2").splitlines()[-1]
        self.assertIn("<svg", machine.path(picture).read_text()[:2000])
        # Not even what is optional is there.
        page = machine.run(f"build-release/tools/render/flameprobe-render --source {picture[:-3]}fprobe -o /tmp/page.html", directory=HOME)
        self.assertEqual((page.returncode, page.stderr.count("capstone (libcapstone-dev) was missing")), (0, 1), page.stderr)

    def test_core_links(self):
        machine = with_sources(Machine(self, "trixie"))
        self.succeeds(machine, ASIDE + "tools/packages/install build && tools/configure build -Doptimization=0 && "
                      "ninja -C build preload/libflameprobe-core.so")


def with_sources(machine):
    machine.run("useradd --create-home --shell /bin/bash stranger")
    machine.copy_sources(HOME)
    return machine


class OnSystems(Case):
    def setUp(self):
        super().setUp()
        if SIZE != "all":
            self.skipTest("runs in tools/test systems")

    def succeeds(self, machine, command, user="root", directory=HOME, **more):
        more.setdefault("timeout", 7200)
        done = machine.run(command, user, directory, **more)
        self.assertEqual(done.returncode, 0, f"{command}: {(done.stdout + done.stderr)[-3000:]}")
        return done.stdout + done.stderr


class Systems(OnSystems):
    """In `tools/test systems` only: the README's commands, and what they installed, by each kind of user."""

    def readme(self, machine, user, options=""):
        """The README's commands, and what they leave."""
        for command in readme_commands():
            argv = command + (options if command == "tools/install" else "")
            with self.subTest(machine.release, user=user, command=argv):
                used, begun = cpu_seconds(), time.monotonic()
                said = self.succeeds(machine, argv, user)
                print(f"{machine.release}, {user}: {argv}: {time.monotonic() - begun:.0f} s, {seconds_of_downloads(said)} s of them for "
                      f"downloads; {cpu_seconds() - used:.0f} s of CPU time", flush=True)
                if command == "tools/demo":
                    picture = machine.path(said.strip().splitlines()[-1])
                    self.assertIn("shop::checkout", picture.read_text())
                    shutil.copy(picture, KEPT / f"demo-{machine.release}-{user}.svg")

    def profiles(self, machine, user, command):
        """What was installed works: run, in each engine, doctor, attach, top."""
        for engine in ("auto", "ring", "timer"):
            with self.subTest(machine.release, user=user, engine=engine):
                said = self.succeeds(machine, f"FLAMEPROBE_ENGINE={engine} {command} run -F 499 -o /tmp/{user}-{engine} -- sh -c '{BUSY}'", user, "/tmp")
                folded = machine.path(f"/tmp/{user}-{engine}.folded").read_text()
                self.assertGreater(sum(int(line.rpartition(" ")[2]) for line in folded.splitlines()), 100, said)
        with self.subTest(machine.release, user=user, command="doctor"):
            self.assertIn("It works", self.succeeds(machine, f"{command} doctor", user, "/tmp"))
        with self.subTest(machine.release, user=user, command="attach"):
            self.succeeds(machine, f"sh -c 'while :; do :; done' & {command} attach -d 2s -F 499 -o /tmp/{user}-attached $!; said=$?; "
                          "kill -9 $!; exit $said", user, "/tmp")
            self.assertIn("sh", machine.path(f"/tmp/{user}-attached.folded").read_text())
        with self.subTest(machine.release, user=user, command="top"):
            said = self.succeeds(machine, f"sh -c 'while :; do :; done' & {command} top --once $!; said=$?; kill -9 $!; exit $said", user, "/tmp")
            self.assertIn("sh", said)

    def check(self, release):
        empty = with_sources(Machine(self, release))
        with self.subTest(release, user="nobody who may install"):
            done = empty.run("chown -R stranger: . && exec setpriv --reuid=stranger --regid=stranger --init-groups tools/demo", directory=HOME)
            self.assertEqual((done.returncode, done.stderr.count("As root:")), (1, 1), done.stderr[-2000:])
        self.readme(empty, "root")
        self.profiles(empty, "root", "flameprobe")
        # Others find what root compiled, so that it is compiled once. A package of each list is missing again.
        other = Machine(self, release, above=empty)
        self.succeeds(other, "apt-get -q install -y sudo && apt-get -q remove -y node-d3-array libmicrohttpd-dev && rm -f /usr/local/bin/flameprobe* && "
                  f"echo 'stranger ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/stranger && chown -R stranger: {HOME}")
        self.readme(other, "stranger")
        self.profiles(other, "stranger", "flameprobe")
        alone = Machine(self, release, above=empty)
        alone.run(f"chown -R stranger: {HOME}; rm -f /usr/local/bin/flameprobe*")
        with self.subTest(release, user="no sudo", command="tools/install"):
            done = alone.run("tools/install", "stranger", HOME)
            self.assertEqual((done.returncode, "--prefix=" in done.stderr), (1, True), done.stderr)
        self.readme(alone, "stranger", " --prefix=/home/stranger/.local")
        self.profiles(alone, "stranger", "/home/stranger/.local/bin/flameprobe")


class Parts(OnSystems):
    """In `tools/test systems` only: without one of the libraries that can be missing all is built. What needs it says so in one
    line, and nothing else does."""

    # Of a Debian package what asks for it, and the exit status without it.
    ASKED = {
        "librsvg2-dev": ("flameprobe render *.fprobe -o a.png", 1),
        "libcapstone-dev": ("flameprobe render --source *.fprobe -o a.html", 0),
        "libcurl4-openssl-dev": ("flameprobe push --spool . --to http://127.0.0.1:1", 1),
        "libncurses-dev": ("flameprobe top --once 99999999", 1),
        "libmicrohttpd-dev": ("flameprobe live 99999999", 1),
    }

    def named(self, machine):
        """{package: (command, its exit status, its lines that name the package)} of those that are named at all"""
        found = {}
        for command, _ in self.ASKED.values():
            done = machine.run("PATH=$PWD/../tools/flameprobe:$PWD/../tools/render:$PATH; " + command, directory=f"{HOME}/build-release/demo")
            for package in self.ASKED:
                if lines := [line for line in done.stderr.splitlines() if package in line]:
                    found[package] = (command, done.returncode, len(lines))
        return found

    def test_bookworm(self):
        whole = with_sources(Machine(self, "bookworm"))
        self.succeeds(whole, "tools/packages/install build parts && tools/demo 2 -Doptimization=0 && ninja -C build-release")
        self.assertEqual(self.named(whole), {})
        for package, (command, status) in self.ASKED.items():
            with self.subTest(package):
                machine = Machine(self, "bookworm", above=whole)
                self.succeeds(machine, f"apt-get -q remove -y {package} && meson configure --clearcache build-release && "
                              "tools/configure build-release && ninja -C build-release")
                self.assertEqual(self.named(machine), {package: (command, status, 1)})


class OwnTests(OnSystems):
    """In `tools/test systems` only: the units, and what of the integration tests needs no browser. Warnings are errors."""

    def check(self, release):
        machine = with_sources(Machine(self, release))
        # Homes are closed since Debian 13; tests have programs run as nobody.
        self.succeeds(machine, "chmod 755 /home/stranger && tools/packages/install build parts")
        self.succeeds(machine, "apt-get -q install -y --no-install-recommends $(apt-cache --no-all-versions show "
                      f"{' '.join(TESTED_WITH.split())} | sed -n 's/^Package: //p')", DEBIAN_FRONTEND="noninteractive")
        self.succeeds(machine, "meson setup build-tests --werror -Dtests=enabled -Dunity=on -Dc_args=-g1 -Dcpp_args=\"-g1 $(tools/gcc-heap)\"",
                      timeout=600, CC="ccache gcc", CXX="ccache g++")
        listed = self.succeeds(machine, "meson test -C build-tests --list").splitlines()
        tests = [line.rpartition(" / ")[2] for line in listed if ":unit / " in line or line.rpartition(" / ")[2] in GROUPS]
        self.succeeds(machine, ["meson", "test", "-C", "build-tests", "--wrapper", "true", "--quiet", *tests], CCACHE_DIR="/ccache")
        done = machine.run(["bash", "-c", TESTS, "tests", *tests], directory=HOME, timeout=7200)
        counted = machine.run("python3 tests/count_cases.py build-tests", directory=HOME)
        log = KEPT / "logs" / f"{release}.txt"
        log.parent.mkdir(exist_ok=True)
        log.write_text(done.stdout + done.stderr + counted.stdout)  # kept for reading: what fails there is not always ours
        print(f"{release}: {counted.stdout.splitlines()[-1]}, {log}")
        self.assertEqual(counted.returncode, 0, counted.stdout[-3000:])


for _release in RELEASES:
    if _release != "bullseye":
        for _class in (Systems, OwnTests):
            setattr(_class, f"test_{_release}", lambda self, release=_release: self.check(release))


if __name__ == "__main__":
    unittest.main()
