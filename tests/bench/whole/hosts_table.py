"""What FlameProbe is to every host of tests/hosts: hosts_table.py [--engines ring,timer,signal] [--only WORD] [--freq 997] [--small]

Each host runs alone and then in every engine. The cells say whether it did the same (output and exit status), how many files it
left, and the CPU time of all that ran for it, the collectors too."""

import argparse
import os
import resource
import tempfile
from pathlib import Path

from contenders import machine

from harness import clean_environment, host, profiled, run  # noqa: E402  (contenders has added the path)
from test_hosts import ENDS, HOSTS  # noqa: E402


def every_host():
    return [argv for argv, _ in HOSTS] + [("ends", mode) for mode in ENDS] + [("sigprof",), ("eintr", "1000")]


def measured(argv, env, directory):
    os.chmod(directory, 0o777)  # for hosts that drop their rights
    filled = [a.format(dir=directory, plugin=host("plugin").with_name("libhost-plugin.so")) for a in argv]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = run([host(filled[0]), *filled[1:]], directory, env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ran, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def verdict(ran, alone):
    if ran.timed_out:
        return "hangs"
    if ran.returncode != alone.returncode:
        return f"ends with {ran.returncode}"
    return "same" if ran.stdout == alone.stdout else "other output"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", default="ring,timer,signal")
    parser.add_argument("--only", default="")
    parser.add_argument("--freq", default="997")
    parser.add_argument("--small", action="store_true", help="only to see that it works")
    options = parser.parse_args()
    if options.small:
        options.engines, options.only = "ring", "ends return"
    engines = options.engines.split(",")
    print(machine() + f", load {os.getloadavg()[0]:.1f}, {options.freq} Hz\n")
    print("| host | status | CPU, alone |", *(f" {engine} |" for engine in engines), sep="")
    print("|-|-|-|" + "-|" * len(engines))
    different = 0
    for argv in every_host():
        name = " ".join(argv).replace("{dir}", "DIR").replace("{plugin}", "PLUGIN")
        if options.only not in name:
            continue
        with tempfile.TemporaryDirectory(prefix="flameprobe-bench-") as directory:
            alone, cpu = measured(argv, clean_environment(), directory)
        if alone.returncode == 77:
            print(f"| {name} | needs other rights | |" + " |" * len(engines), flush=True)
            continue
        cells = []
        for engine in engines:
            with tempfile.TemporaryDirectory(prefix="flameprobe-bench-") as directory:
                ran, cpu_with = measured(argv, profiled(ENGINE=engine, FREQ=options.freq), directory)
                files = len([path for path in Path(directory).iterdir() if path.name.startswith("flameprobe.")])
            said = verdict(ran, alone)
            different += said != "same"
            cells.append(f"{said}, {files} files, {cpu_with:.2f} s")
        print(f"| {name} | {alone.returncode} | {cpu:.2f} s | " + " | ".join(cells) + " |", flush=True)
    print(f"\n{different} of the runs under FlameProbe differ.")


main()
