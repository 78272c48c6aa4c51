"""Checks that each static of a function in the core is made while the core is loaded: core_statics.py CORE SOURCE. The compiler
guards it, and a child forked while another thread makes it would wait for ever."""

import re
import subprocess
import sys

core, source = sys.argv[1:]
names = subprocess.run(["nm", "-C", core], check=True, capture_output=True, text=True).stdout
guarded = set(re.findall(r"guard variable for (?:flameprobe::)?(?:\(anonymous namespace\)::)?(.*?)(?:\[abi:\w+\])?\(.*\)::\w+$",
                         names, re.M))
text = open(source, encoding="utf-8").read()
statics, loaded = (re.search(begin + r".*?\n}", text, re.S)[0] for begin in (r"void make_statics\(\)", r"flameprobe_core_table\(\)"))
if "make_statics();" not in loaded:
    sys.exit(f"{source}: make_statics() is not called while the core is loaded")
made = set(re.findall(r"(\w+)\(\);", statics))
# Asked first, and made by that.
if "why_not();" in loaded:
    guarded.discard("why_not")
for name in sorted(guarded - made):
    print(f"{core}: {name}() has a static that make_statics() in {source} does not make")
made.discard("make_statics")
for name in sorted(made - guarded):
    print(f"{source}: {name}() in make_statics() has no static")
sys.exit(0 if guarded == made else 1)
