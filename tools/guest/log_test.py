#!/usr/bin/env python3
"""log_test.py LOG NAME COMMAND...: runs a test and adds what it said to LOG, a line in the form of meson's testlog.json."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path


def run(name, command, environment, seconds):
    """The line. A test that is longer than its time is ended and has failed."""
    begun = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=seconds, env=environment,
                              stdin=subprocess.DEVNULL, check=False)
        result = {0: "OK", 77: "SKIP"}.get(done.returncode, "FAIL")
        out, err = done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        result = "TIMEOUT"
        out, err = ((text or b"").decode(errors="replace") for text in (late.stdout, late.stderr))
    print(f"{result:<8} {name} ({time.monotonic() - begun:.0f} s)", flush=True)
    if result not in ("OK", "SKIP"):
        print("\n".join("    " + line for line in (out + err).splitlines()[-60:]), flush=True)
    return {"name": name, "result": result, "stdout": out, "stderr": err}


def log(path, what):
    with Path(path).open("a") as file:
        file.write(json.dumps(what) + "\n")


if __name__ == "__main__":
    log(sys.argv[1], run(sys.argv[2], sys.argv[3:], dict(os.environ), 600))
