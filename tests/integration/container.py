"""A container as runtimes make them: a mount namespace with a root of its own, in which are only a program, its libraries and a few
files, and a pid namespace whose first process is the program."""

import contextlib
import os
import sys
from pathlib import Path

from harness import clean_environment, started, wait_until

SCRIPT = r"""
import ctypes, os, re, shutil, subprocess, sys
root, files, program = sys.argv[1], [file for file in sys.argv[2].split(":") if file], sys.argv[3]
libc = ctypes.CDLL(None, use_errno=True)
def check(result):
    if result != 0: raise OSError(ctypes.get_errno(), "no namespace here")
ldd = [subprocess.run(["ldd", file], capture_output=True, text=True).stdout for file in [program, *files]]
libraries = {found for text in ldd for found in re.findall(r"(/\S+)", text)}
check(libc.unshare(0x20020000))  # CLONE_NEWNS | CLONE_NEWPID
child = os.fork()
if child != 0: sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
check(libc.mount(b"none", b"/", None, 0x44000, None))  # MS_REC | MS_PRIVATE
check(libc.mount(b"none", root.encode(), b"tmpfs", 0, None))
for file, place in [(program, "/app/program"), *[(file, "/bin/" + os.path.basename(file)) for file in files], *zip(libraries, libraries)]:
    os.makedirs(root + os.path.dirname(place), exist_ok=True)
    shutil.copy(file, root + place)
for folder in ("old", "proc", "tmp", "dev"): os.makedirs(root + "/" + folder)
open(root + "/dev/null", "w").close()
check(libc.mount(b"/dev/null", (root + "/dev/null").encode(), None, 4096, None))  # MS_BIND
os.chmod(root + "/tmp", 0o1777)
check(libc.mount(b"proc", (root + "/proc").encode(), b"proc", 0, None))
check(libc.syscall({"x86_64": 155, "aarch64": 41}[os.uname().machine], root.encode(), (root + "/old").encode()))  # pivot_root
os.chdir("/")
check(libc.umount2(b"/old", 2))  # MNT_DETACH
os.execv("/app/program", ["/app/program", *sys.argv[4:]])
"""


def container(case, program, *arguments, files=(), root="root"):
    """Starts the program; `files` are put into the container's /bin. Gives its pid here. Skips the test where it cannot be."""
    if os.geteuid() != 0:
        case.skipTest("needs root")
    root = case.fresh_directory(root)
    parent = case.enterContext(started([sys.executable, "-c", SCRIPT, root, ":".join(map(str, files)), program, *arguments],
                                       case.directory, clean_environment()))

    def child():
        with contextlib.suppress(OSError):  # of ldd, which ends
            found = Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()
            return next((int(pid) for pid in found if os.readlink(f"/proc/{pid}/exe").endswith("/app/program")), 0)
    pid = wait_until(lambda: parent.poll() is not None or child(), 30, "the container")
    if parent.poll() is None:
        return pid
    told = (case.directory / f"{Path(sys.executable).name}.log").read_text()
    if "no namespace here" in told:
        case.skipTest("no namespaces can be made here")
    raise AssertionError(told)
