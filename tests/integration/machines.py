"""Machines on which nothing is installed: bare root file systems of distributions, made by mmdebstrap from the archive that apt uses
here. They are kept in build-systems; what is changed in one lies in a folder of the test's own, laid over it. /ccache is kept, for
what compiles with ccache. Entering one needs root's rights, and makes namespaces of its own: what was started in it ends with the
command."""

import contextlib
import fcntl
import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

from harness import ROOT, run

KEPT = ROOT / "build-systems"
# name of the release: [its name for people, its archive beside Debian's]
RELEASES = {
    "bullseye": ["Debian 11", "debian"],
    "bookworm": ["Debian 12", "debian"],
    "trixie": ["Debian 13", "debian"],
    "testing": ["Debian testing", "debian"],
    "noble": ["Ubuntu 24.04", "ubuntu"],
    "resolute": ["Ubuntu 26.04", "ubuntu"],
}
UBUNTU_KEYS = "usr/share/keyrings/ubuntu-archive-keyring.gpg"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MOUNT = """set -e
mount -t overlay overlay -o "lowerdir=$2,upperdir=$3/upper,workdir=$3/work" "$1"
mount -t proc proc "$1/proc"
mount --rbind /sys "$1/sys"
mount --rbind /dev "$1/dev"
mkdir -p "$1/ccache" "$4"
mount --bind "$4" "$1/ccache"
cd /
root=$1
shift 4
exec chroot "$root" "$@"
"""


def _called(argv, **popen):
    return subprocess.run(argv, capture_output=True, text=True, check=False, **popen)


@functools.cache
def archive():
    """The Debian archive that apt uses here, without a slash at its end."""
    found = [line.rstrip("/") for line in
             _called(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]).stdout.split()]
    return next((line for line in found if line.endswith("/debian")), None)


@functools.cache
def obstacle():
    """Why no machine can be made or entered here; None if it can."""
    for program in ("mmdebstrap", "unshare", "apt-get"):
        if shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin") is None:
            return f"{program} is not installed"
    if os.geteuid() != 0:
        return "empty machines are made and entered by root"
    if archive() is None:
        return "apt names no Debian archive here"
    KEPT.mkdir(exist_ok=True)
    trial = KEPT / f"trial.{os.getpid()}"
    for folder in ("lower", "upper", "work", "root"):
        (trial / folder).mkdir(parents=True)
    try:
        entered = _called(["unshare", "--mount", "--pid", "--fork", "mount", "-t", "overlay", "overlay", "-o",
                           f"lowerdir={trial}/lower,upperdir={trial}/upper,workdir={trial}/work", str(trial / "root")])
    finally:
        shutil.rmtree(trial)
    return None if entered.returncode == 0 else "no file system can be laid over another one here: " + entered.stderr.strip()[-200:]


@contextlib.contextmanager
def _alone(name):
    with open(KEPT / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _apt_settings():
    """How this machine reaches archives."""
    lines = _called(["apt-config", "dump"]).stdout.splitlines()
    return [line.rstrip(";") for line in lines if re.match(r"Acquire::(https?(::|[ ])|Check-)", line) and not line.endswith('"";')]


def kept(case, release):
    """The root file system, made now if there is none; skips the test where it cannot be had."""
    if reason := obstacle():
        case.skipTest(reason)
    root = KEPT / release
    with _alone(release):
        if root.exists():
            return root
        distribution = RELEASES[release][1]
        keys = []
        if distribution == "ubuntu":
            keys = [f"--keyring={ubuntu_keys(case)}", "--components=main,universe"]
        begun = KEPT / f"{release}.new"
        shutil.rmtree(begun, ignore_errors=True)
        settings = [f"--aptopt={line}" for line in _apt_settings()]
        made = _called(["mmdebstrap", "--quiet", "--variant=apt", "--include=passwd", *settings, *keys, release, str(begun),
                        archive().removesuffix("debian") + distribution])
        if made.returncode != 0:
            shutil.rmtree(begun, ignore_errors=True)
            case.skipTest(f"mmdebstrap cannot make {' '.join(RELEASES[release][:1])}: {made.stderr.strip()[-300:]}")
        begun.rename(root)
    return root


def ubuntu_keys(case):
    """Installed here, or from the package of Debian 13."""
    here = Path("/") / UBUNTU_KEYS
    if here.exists():
        return here
    found = KEPT / "ubuntu-keys" / UBUNTU_KEYS
    if not found.exists():
        machine = Machine(case, "trixie")
        done = machine.run("cd /tmp && apt-get -q update && apt-get -q download ubuntu-keyring && dpkg -x ubuntu-keyring_*.deb keys")
        if done.returncode != 0:
            case.skipTest("the keys of Ubuntu's archive are not to be had: " + done.stderr.strip()[-300:])
        shutil.copytree(machine.upper / "tmp" / "keys", KEPT / "ubuntu-keys", dirs_exist_ok=True)
    return found


def left_out(directory, names):
    """Ignores build directories, but not sources such as src/symbolize/build_facts.cpp."""
    return [name for name in names if name in (".git", "results", "__pycache__")
            or Path(directory) == ROOT and name.startswith("build")]


class Machine:
    """A release with changes of its own, above those of `above` if given. It goes away with the test."""

    def __init__(self, case, release, above=None):
        self.release = release
        lower = kept(case, release)
        self.place = KEPT / f"machine.{os.getpid()}.{id(self)}"
        for folder in ("upper", "work", "root"):
            (self.place / folder).mkdir(parents=True)
        case.addCleanup(shutil.rmtree, self.place, ignore_errors=True)
        self.upper = self.place / "upper"
        self.lower = [*([above.upper, *above.lower[:-1]] if above else []), lower]

    def path(self, inside):
        """Of a file that was made in it, for reading here."""
        return next((layer / inside.lstrip("/") for layer in (self.upper, *self.lower) if (layer / inside.lstrip("/")).exists()),
                    self.upper / inside.lstrip("/"))

    def run(self, command, user="root", directory="/", timeout=1800, **environment):
        """A command's argv, or a line for bash."""
        argv = command if isinstance(command, list) else ["bash", "-c", command]
        home = "/root" if user == "root" else f"/home/{user}"
        as_user = [] if user == "root" else ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]
        settings = [f"{name}={value}" for name, value in environment.items()]
        return run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", MOUNT, "sh", self.place / "root",
                    ":".join(map(str, self.lower)), self.place, KEPT / "ccache" / self.release, *as_user,
                    "env", "-i", "-C", directory, f"PATH={PATH}", f"HOME={home}", f"USER={user}", "LC_ALL=C.UTF-8", "TERM=dumb", *settings, *argv], self.place, timeout=timeout)

    def copy_sources(self, inside):
        shutil.copytree(ROOT, self.upper / inside.lstrip("/"), ignore=left_out, dirs_exist_ok=True)
