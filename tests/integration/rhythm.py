"""A program that repeats its work at the sampling period (tests/targets/rhythm): how far the samples of its eight functions
are from their CPU time."""

import json
import math

from harness import named, profiled, render, run, target


def scores(engine, frequency, rhythm_ns, milliseconds, directory):
    """(z of each function, samples): the difference between the function's hits and its share of the CPU time, which the
    program tells, in standard errors of as many independent samples."""
    ran = run([target("rhythm"), rhythm_ns, milliseconds], directory, profiled(ENGINE=engine, FREQ=frequency, FORMAT="json"))
    if ran.returncode != 0:
        raise AssertionError(ran.stderr)
    used = [int(line) for line in ran.stdout.split()]
    told = json.loads(render(ran.result().path("fprobe"), "--focus", "part_", "--format", "json", "-o", "-").stdout)
    samples = told["stack_samples"]
    found = []
    for part, time_ns in enumerate(used):
        share = time_ns / sum(used)
        hits = sum(row["total"] for row in told["functions"] if named([row["name"]], f"part_{part}"))
        found.append((hits - samples * share) / math.sqrt(samples * share * (1 - share)))
    return found, samples
