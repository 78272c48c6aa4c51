"""filtered.py kill|allow NAME... -- VARIABLE=VALUE... PROGRAM ARGUMENT...: becomes the program, in a filter of system calls that kills the process
for these, or for all others: what systemd's SystemCallFilter= makes (seccomp(2), by libseccomp)."""

import ctypes
import os
import sys

KILL_PROCESS, ALLOW, NOT_HERE = 0x80000000, 0x7FFF0000, -1
LIBSECCOMP = "libseccomp.so.2"


def enter(kills, names):
    seccomp = ctypes.CDLL(LIBSECCOMP)
    seccomp.seccomp_init.restype = ctypes.c_void_p
    seccomp.seccomp_init.argtypes = [ctypes.c_uint32]
    seccomp.seccomp_rule_add.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint]
    seccomp.seccomp_load.argtypes = [ctypes.c_void_p]
    listed, others = (KILL_PROCESS, ALLOW) if kills else (ALLOW, KILL_PROCESS)
    filter = seccomp.seccomp_init(others)
    for name in names:
        number = seccomp.seccomp_syscall_resolve_name(name.encode())
        if number > NOT_HERE and seccomp.seccomp_rule_add(filter, listed, number, 0) != 0:
            raise SystemExit(f"no rule for {name}")
    if (error := seccomp.seccomp_load(filter)) != 0:
        raise SystemExit(f"the filter is refused: {os.strerror(-error)}")


if __name__ == "__main__":
    at = sys.argv.index("--")
    program = sys.argv[at + 1:]
    variables = dict(os.environ)
    while "=" in program[0]:
        name, _, variables[name] = program.pop(0).partition("=")
    enter(sys.argv[1] == "kill", sys.argv[2:at])
    os.execve(program[0], program, variables)
