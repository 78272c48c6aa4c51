#!/usr/bin/env python3
"""check_log.py OUT LOG: what run_tests.py wrote in a guest, as a log of tests. A test that the guest began with and did not
end (the machine was ended before, or hung) has failed."""

import json
import sys
from pathlib import Path

GONE = "FAIL"


def results(log):
    planned, done = None, []
    for line in log.read_text(errors="replace").splitlines() if log.exists() else []:
        try:
            what = json.loads(line)
        except ValueError:  # cut in the middle
            continue
        if "planned" in what:
            planned = what["planned"]
        else:
            done.append(what)
    if planned is None:
        done.append({"name": f"the guest of {log}", "result": GONE, "stdout": "it told nothing", "stderr": ""})
    for name in planned or ():
        if name not in {one["name"] for one in done}:
            print(f"{GONE:<8} {name}: the guest was ended before it")
            done.append({"name": name, "result": GONE, "stdout": "the guest was ended before it", "stderr": ""})
    return done


if __name__ == "__main__":
    Path(sys.argv[1]).write_text("".join(json.dumps(one) + "\n" for one in results(Path(sys.argv[2]))))
