"""Checks that no file is opened in a way that waits: opens.py ROOT. A path that others can make may be a FIFO by then. What is
opened by a literal path below /proc, /sys, /dev or /etc, made anew, or a directory, is none; other places are listed with why."""

import re
import sys
from pathlib import Path

root = Path(sys.argv[1])
KNOWN = {
    "src/base/proc.cpp": "/proc/TID",
    "src/base/host_process.cpp": "/proc/PID",
    "src/base/output_directory.cpp": "its own flags are added",
    "src/capture/blocked_reader.cpp": "/proc/PID/task",
    "src/export/output_file.cpp": "/dev/stdout and the like, where the user says so",
    "src/outside/byte_stream.hpp": "what the user names to a command, be it a pipe",
    "tools/flameprobe/bench/bench_file.cpp": "what the user names to a command, be it a pipe",
    "tools/push/http_client.cpp": "what the user names to a command, be it a pipe",
    "tools/flameprobe/bench/readiness.cpp": "in a directory of the user's own (outside/own_directory.hpp)",
    "tools/flameprobe/bench/run_record.cpp": "in a directory of the user's own",
    "tools/flameprobe/bench/profiles.cpp": "in a directory of the user's own",
    "tools/flameprobe/live/profile_of_process.cpp": "/proc/PID/task",
    "tools/flameprobe/attach/refusal.cpp": "/proc/PID",
    "tools/flameprobe/program.cpp": "a program, which is about to be executed",
    "tools/render/memory_budget.cpp": "/sys/fs/cgroup",
    "tools/one/remover.cpp": "/proc/PID",
}
CALL = re.compile(r"(?:::open(?:at2?)?|\bfopen|\bifstream(?: \w+)?)\s*\((?:[^();]|\((?:[^();]|\([^();]*\))*\))*\)")
HARMLESS = re.compile(r'O_NONBLOCK|O_PATH|O_EXCL|O_DIRECTORY|\(\s*"/(?:proc|sys|dev|etc)?[/"]|nothing\b')
problems, met = [], set()
for path in sorted([*root.glob("src/**/*.[ch]pp"), *root.glob("tools/**/*.[ch]pp"), *root.glob("preload/**/*.[ch]pp")]):
    name, text = str(path.relative_to(root)), path.read_text(encoding="utf-8")
    for call in CALL.finditer(text):
        if ("O_" not in call[0] and "::open" in call[0]) or HARMLESS.search(call[0]):
            continue
        met.add(name)
        if name not in KNOWN:
            line = text.count("\n", 0, call.start()) + 1
            problems.append(f"{name}:{line}: {call[0]} may wait at a FIFO: add O_NONBLOCK, or see base/regular_file.hpp")
problems += [f"{name} is listed in {Path(__file__).name}, but opens nothing that way" for name in sorted(set(KNOWN) - met)]
print("\n".join(problems))
sys.exit(1 if problems else 0)
