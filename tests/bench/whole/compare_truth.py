"""What `flameprobe compare` finds, by real runs: compare_truth.py [--pairs 200] [--repeat 10] [--seconds 1.5] [--freq 15000]
[--keep DIR] [--interleaved]

A program of forty functions (planted.c), of which `hot` is a fifth, is measured by `flameprobe bench` again and again as it is,
and in between with 5 % more in `hot`. Every two measurements of the same are compared with `--fail-above 1%`: what fails is a
false alarm. And each one as it is with one that was changed: `hot` is to be found. Benches are compared in pairs, so that 21
of them give 210 comparisons. Fewer runs a side are the first ones of the same benches. With --keep the benches stay in DIR,
and what is there already is not measured again: another version of `compare` can judge the same benches. With --interleaved
all are values of one bench, whose runs take turns, and `compare --by` judges.

Prints a table; exit status 1 where more than 5 % of the first fail, or less than 95 % of the second are found."""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "integration"))
from harness import BUILD, COMMAND, clean_environment  # noqa: E402  (the path above is where it lies)

PROGRAM = BUILD / "tests" / "bench" / "whole" / "planted"
ROW = "| {:<22} | {:>9} | {:>11} | {:>11} | {:>9} | {:>13} |"


def units_for(seconds):
    """Of this machine, by a run without FlameProbe."""
    units = 1000
    while True:
        before = os.times().children_user
        subprocess.run([PROGRAM, str(units), "100"], env=clean_environment(), check=True, timeout=300, stdout=subprocess.DEVNULL)
        used = os.times().children_user - before
        if used > min(seconds, 0.3):
            return max(1, round(units * seconds / used))
        units *= 3


def bench(directory, options, *arguments):
    report = directory / "report.json"
    if not report.exists():
        done = subprocess.run([COMMAND, "bench", "-r", str(options.repeat), "-F", str(options.freq), "--work", r"done (\d+) units",
                               "-o", directory, *arguments], check=False, env=clean_environment(), capture_output=True,
                              text=True, timeout=7200)
        if done.returncode != 0:
            raise SystemExit(f"flameprobe bench: {done.stderr[-1000:]}")
    return json.loads(report.read_text())


def one_by_one(place, options, units, values):
    return {value: bench(place / value, options, "--", PROGRAM, str(units), value) for value in values}


def interleaved(place, options, units, values):
    """By value, the report as if it were the only one."""
    report = bench(place / "interleaved", options, "--sweep", f"hot={','.join(values)}", "--", PROGRAM, str(units), "{hot}")
    return {scenario["sweep"]["hot"]: {**report, "scenarios": [scenario], "scaling": []} for scenario in report["scenarios"]}


def first_runs(report, count):
    report = json.loads(json.dumps(report))
    for scenario in report["scenarios"]:
        scenario["runs"] = scenario["runs"][:count]
        for function in scenario["functions"]:
            function["runs"] = function["runs"][:count]
    return report


def compare(place, before, after, options):
    """(whether it failed, functions that were found)."""
    sides = {"both": {**before, "scenarios": before["scenarios"] + after["scenarios"]}} if options.interleaved else {
        "before": before, "after": after}
    for name, report in sides.items():
        (place / f"{name}.json").write_text(json.dumps(report))
    by = ["--by", "hot"] if options.interleaved else []
    done = subprocess.run([COMMAND, "compare", *by, *(f"{name}.json" for name in sides), "--fail-above", "1%", "-o",
                           "change.json"], cwd=place, check=False, env=clean_environment(), capture_output=True, text=True,
                          timeout=60)
    if done.returncode not in (0, 3):
        raise SystemExit(f"flameprobe compare: {done.stderr}")
    findings = json.loads((place / "change.json").read_text())["comparisons"][0]["findings"]
    return done.returncode == 3, [finding["name"] for finding in findings]


def table(place, runs, same, changed, options):
    """A row for each kind of comparison; whether both are as promised."""
    equal = [compare(place, *pair, options) for pair in itertools.islice(itertools.combinations(same, 2), options.pairs)]
    planted = [compare(place, *pair, options) for pair in itertools.islice(itertools.product(same, changed), options.pairs)]
    found = sum("hot" in names for _, names in planted)
    wrong = sum(len(set(names) - {"hot", ""}) for _, names in planted)
    print(ROW.format("itself", runs, len(equal), sum(failed for failed, _ in equal), "", sum(bool(n) for _, n in equal)))
    print(ROW.format("5 % more in `hot`", runs, len(planted), "", found, wrong), flush=True)
    return sum(failed for failed, _ in equal) <= 0.05 * len(equal), found >= 0.95 * len(planted)


def spread(reports):
    """Standard deviation of the cost per unit, within benches and between their means, as shares of it."""
    costs = [[run["cpu_ns_per_unit"] for run in report["scenarios"][0]["runs"]] for report in reports]
    means = [sum(c) / len(c) for c in costs]
    mean = sum(means) / len(means)
    within = sum((x - m) ** 2 for c, m in zip(costs, means) for x in c) / max(1, sum(len(c) - 1 for c in costs))
    between = sum((m - mean) ** 2 for m in means) / max(1, len(means) - 1)
    return within ** 0.5 / mean, between ** 0.5 / mean


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=1.5, help="of CPU time a run")
    parser.add_argument("--freq", type=int, default=15000)
    parser.add_argument("--keep", type=Path, metavar="DIR")
    parser.add_argument("--interleaved", action="store_true")
    parser.add_argument("--small", action="store_true", help="to see that it works")
    options = parser.parse_args()
    if options.small:
        options.pairs, options.repeat, options.seconds = 1, 2, 0.2
    benches = next(n for n in itertools.count(2) if n * (n - 1) // 2 >= options.pairs)
    # The program reads the number before the dash.
    values = [value for n in range(benches) for value in ([f"100-{n}"] + ([f"105-{n}"] if n % 2 == 1 else []))]
    with tempfile.TemporaryDirectory(prefix="flameprobe-truth-") as name:
        place = options.keep or Path(name)
        reports = (interleaved if options.interleaved else one_by_one)(place, options, units_for(options.seconds), values)
        same, changed = ([report for value, report in reports.items() if value.startswith(start)] for start in ("100", "105"))
        samples = [run["samples"] for report in same for run in report["scenarios"][0]["runs"]]
        within, between = spread(same)
        print(f"{benches} {'values' if options.interleaved else 'benches'} as it is, {len(changed)} changed; "
              f"{sum(samples) // len(samples):,} samples a run; cost per unit varies by {within:.2%} from run to run, by "
              f"{between:.2%} between means")
        print(ROW.format("compared with", "runs each", "comparisons", "above 1 %", "hot found", "other findings"))
        print(ROW.format(*["---"] * 6))
        good = [table(place, runs, [first_runs(r, runs) for r in same], [first_runs(r, runs) for r in changed], options)
                for runs in dict.fromkeys((min(3, options.repeat), options.repeat))]
    if not options.small and not (all(equal for equal, _ in good) and good[-1][1]):
        sys.exit(1)


if __name__ == "__main__":
    main()
