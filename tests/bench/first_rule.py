#!/usr/bin/env python3
"""What the first look into a large unwind table takes: first_rule.py PROGRAM [--functions N] [--rounds N], PROGRAM built from
first_rule.cpp. It makes libraries of N functions, with and without a search table, and with .debug_frame alone. Of each it asks
for the rule of the last function, each time in a new process, and prints medians. Asserts nothing."""

import argparse
import statistics
import subprocess
import tempfile
from pathlib import Path

FUNCTION = """f{i}: .cfi_startproc
 push %rbp
 .cfi_def_cfa_offset 16
 .cfi_offset 6, -16
 mov %rsp, %rbp
 .cfi_def_cfa_register 6
 leave
 .cfi_def_cfa 7, 8
 ret
 .cfi_endproc
"""
KINDS = {"with a search table": (".eh_frame", ["-Wl,--eh-frame-hdr"]), "without a search table": (".eh_frame", ["-Wl,--no-eh-frame-hdr"]),
         ".debug_frame": (".debug_frame", ["-Wl,--no-eh-frame-hdr"])}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--functions", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=21)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        for name, (section, arguments) in KINDS.items():
            source, library = Path(place, "f.s"), Path(place, "f.so")
            source.write_text(f".cfi_sections {section}\n.text\n" + "".join(FUNCTION.format(i=i) for i in range(options.functions)) +
                              ".globl last\nlast:\n.section .note.GNU-stack\n")
            subprocess.run(["gcc", "-shared", "-nostdlib", *arguments, "-o", library, source], check=True)
            symbols = subprocess.run(["nm", library], capture_output=True, text=True, check=True).stdout.splitlines()
            end = next(int(line.split()[0], 16) for line in symbols if line.endswith(" last"))
            told = [subprocess.run([options.program, library, hex(end - 1)], capture_output=True, text=True, check=True).stdout.split()
                    for _ in range(options.rounds)]
            took, memory = (statistics.median(float(one[at]) for one in told) for at in (0, 1))
            print(f"{options.functions} functions, {name}: {took / 1000:.2f} ms of CPU time, {memory / 1024:.1f} MiB")


if __name__ == "__main__":
    main()
