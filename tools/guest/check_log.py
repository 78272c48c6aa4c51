#!/usr/bin/env python3
"""join_logs.py OUT LOG...: one log of tests of what run_tests.py wrote in several guests. A test that a guest began with and
did not end (the machine was ended before, or hung) has failed."""

import json
import sys
from pathlib import Path

GONE = "FAIL"


def results(log):
    planned, done = [], []
    for line in log.read_text(errors="replace").splitlines() if log.exists() else []:
        try:
            what = json.loads(line)
        except ValueError:  # cut in the middle
            continue
        if "planned" in what:
            planned = what["planned"]
        else:
            done.append(what)
    if not planned:
        done.append({"name": f"the guest of {log}", "result": GONE, "stdout": "it told nothing", "stderr": ""})
    for name in planned:
        if name not in {one["name"] for one in done}:
            print(f"{GONE:<8} {name}: the guest was ended before it")
            done.append({"name": name, "result": GONE, "stdout": "the guest was ended before it", "stderr": ""})
    return done


if __name__ == "__main__":
    out, *logs = map(Path, sys.argv[1:])
    out.write_text("".join(json.dumps(one) + "\n" for log in logs for one in results(log)))
