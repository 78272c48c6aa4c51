"""Checks that each static of a function in the core is made while the core is loaded: core_statics.py CORE SOURCE. The compiler
guards it, and a child forked while another thread makes it would wait for ever."""

import re
import subprocess
import sys

core, source = sys.argv[1:]
names = subprocess.run(["nm", "-C", core], check=True, capture_output=True, text=True).stdout
guarded = set(re.findall(r"guard variable for (?:flameprobe::)?(.*?)(?:\[abi:\w+\])?\(.*\)::\w+$", names, re.M))
body = re.search(r"bool make_statics\(\).*?\n}.* = make_statics\(\);", open(source, encoding="utf-8").read(), re.S)[0]
made = set(re.findall(r"(\w+)\(\);", body))
for name in sorted(guarded - made):
    print(f"{core}: {name}() has a static that make_statics() in {source} does not make")
made.discard("make_statics")
for name in sorted(made - guarded):
    print(f"{source}: {name}() in make_statics() has no static")
sys.exit(0 if guarded == made else 1)
