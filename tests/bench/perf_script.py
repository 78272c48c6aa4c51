#!/usr/bin/env python3
"""Writes a perf.data (pipe format, tools/perf/Documentation/perf.data-file-format.txt) in which one process that has FILE
mapped was sampled at each of the addresses on standard input, hex and in the file's own terms, for `perf script -i`.

usage: perf_script.py FILE < ADDRESSES > perf.data"""
import struct
import subprocess
import sys

ATTR, COMM, MMAP, SAMPLE = 64, 3, 1, 9
USER = 2  # PERF_RECORD_MISC_USER
PID, BASE = 4242, 0x7F0000000000
# Of sample_type. perf looks for inlined functions only where it unwinds by itself: so there are registers, and a stack
# at whose first word the unwinding ends.
IP, TID, TIME, CALLCHAIN, REGISTERS, STACK = 1, 2, 4, 32, 1 << 12, 1 << 13
MASK, STACK_AT = 0xFF0FFF, 0x7FFF00000000  # all general registers; 7 is the stack pointer, 8 the instruction pointer


def record(kind, misc, payload):
    return struct.pack("<IHH", kind, misc, 8 + len(payload)) + payload


def padded(text):
    raw = text.encode() + b"\0"
    return raw + b"\0" * (-len(raw) % 8)


def code_segment(path):
    """(offset, address, size) of the executable segment."""
    listing = subprocess.run(["readelf", "-lW", path], check=True, capture_output=True, text=True).stdout
    for line in listing.splitlines():
        fields = line.split()
        if fields and fields[0] == "LOAD" and "E" in fields[6:-1]:
            return tuple(int(fields[i], 16) for i in (1, 2, 4))
    raise SystemExit(f"{path}: no code")


def main():
    offset, address, size = code_segment(sys.argv[1])
    out = sys.stdout.buffer
    out.write(b"PERFILE2" + struct.pack("<Q", 16))
    # perf_event_attr: software, its size, cpu-clock, period, sample_type, no flags, ..., sample_regs_user, sample_stack_user
    attr = struct.pack("<IIQQQ", 1, 112, 0, 1, IP | TID | TIME | CALLCHAIN | REGISTERS | STACK).ljust(80, b"\0")
    attr = (attr + struct.pack("<QI", MASK, 64)).ljust(112, b"\0")
    out.write(record(ATTR, 0, attr + struct.pack("<Q", 0)))
    out.write(record(COMM, 0, struct.pack("<II", PID, PID) + padded("bench")))
    out.write(record(MMAP, USER, struct.pack("<IIQQQ", PID, PID, BASE + address // 4096 * 4096, -(-size // 4096) * 4096 + 4096,
                                             offset // 4096 * 4096) + padded(sys.argv[1])))
    for time, line in enumerate(sys.stdin):
        ip = BASE + int(line, 16)
        registers = [0] * 7 + [STACK_AT, ip] + [0] * (MASK.bit_count() - 9)
        sample = struct.pack("<QIIQQ", ip, PID, PID, time + 1, 0) + struct.pack("<Q20Q", 2, *registers)
        out.write(record(SAMPLE, USER, sample + struct.pack("<Q", 64) + b"\0" * 64 + struct.pack("<Q", 64)))


if __name__ == "__main__":
    main()
