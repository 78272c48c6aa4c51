"""The whole way from `flameprobe top` to the picture, as text: a redis under load that was started without FlameProbe.

    python3 tests/bench/whole/recording.py [--write]

--write puts it into docs/site/attach.md. BUILD is `build`, or FLAMEPROBE_BUILD."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "integration"))
from harness import COMMAND, RENDER, ROOT, clean_environment, started, wait_until  # noqa: E402  (the path above is where it lies)
from programs import free_port, listening  # noqa: E402

PAGE = ROOT / "docs" / "site" / "attach.md"
BEGIN, END = "<!-- tests/bench/whole/recording.py: begin -->", "<!-- tests/bench/whole/recording.py: end -->"
MOST = 10  # lines of each command


def typed(line, directory):
    """What the user types and sees, with our programs found as if they were installed."""
    programs = directory / "bin"
    environment = clean_environment(PATH=f"{programs}:{os.environ['PATH']}")
    run = subprocess.run(["sh", "-c", line], cwd=directory, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         check=False, timeout=120)
    if run.returncode != 0:
        raise SystemExit(f"$ {line}\n{run.stdout}")
    shown = run.stdout.rstrip().splitlines()
    shown = [text.replace(f"{directory}/", "") for text in shown]
    return [f"$ {line}", *(text[:118].rstrip() for text in shown[:MOST]), *(["..."] if len(shown) > MOST else []), ""]


def recorded():
    with tempfile.TemporaryDirectory(prefix="flameprobe-recording-") as place:
        directory, port = Path(place), str(free_port())
        (directory / "bin").mkdir()
        for program in (COMMAND, RENDER):
            (directory / "bin" / program.name).write_text(f'#!/bin/sh\nexec {program} "$@"\n')
            (directory / "bin" / program.name).chmod(0o755)
        environment = clean_environment()
        with started(["redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", place], place, environment) as server:
            wait_until(lambda: listening(int(port)), what="redis listens")
            with started(["redis-benchmark", "-p", port, "-t", "set,lrange_300", "-n", "100000000", "-c", "20", "-q"], place, environment):
                lines = [line for command in ("flameprobe top | head -3", f"flameprobe top --once {server.pid}",
                                              f"flameprobe attach -d 10s {server.pid}",
                                              f"flameprobe-render flameprobe.redis-server.{server.pid}.fprobe --top 5")
                         for line in typed(command, directory)]
    return "\n".join(["```", *lines[:-1], "```"])


def main():
    text = recorded()
    print(text)
    if sys.argv[1:] == ["--write"]:
        page = PAGE.read_text()
        PAGE.write_text(page[:page.index(BEGIN) + len(BEGIN)] + "\n" + text + "\n" + page[page.index(END):])


if __name__ == "__main__":
    main()
