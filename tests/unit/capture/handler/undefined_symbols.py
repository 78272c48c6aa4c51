#!/usr/bin/env python3
"""Checks what the handler's library refers to outside itself against a list with reasons: undefined_symbols.py LIB LIST"""
import subprocess
import sys

library, listed = sys.argv[1:]
allowed = {}
for line in open(listed, encoding="utf-8"):
    line = line.split("#", 1)
    if line[0].strip():
        allowed[line[0].strip()] = line[1].strip() if len(line) > 1 else ""

defined, undefined = set(), set()
for line in subprocess.run(["nm", "--format=posix", library], check=True, capture_output=True, text=True).stdout.splitlines():
    fields = line.split()
    if len(fields) < 2 or fields[0].endswith(":"):
        continue
    (undefined if fields[1] in "Uvw" else defined).add(fields[0])
if not any("on_signal" in name for name in defined):
    sys.exit(f"{library} does not hold the handler: is this the right library?")

bad = sorted(undefined - defined - set(allowed))
for name in bad:
    print(f"{library} refers to {name}, which is not listed in {listed}")
unreasoned = sorted(name for name, reason in allowed.items() if not reason)
for name in unreasoned:
    print(f"{listed}: {name} has no reason")
sys.exit(1 if bad or unreasoned else 0)
