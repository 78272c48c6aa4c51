"""Programs under a load that does not end, and counters of what they have done: for attach.py. Each gives, once it works,
(its process, a function that counts its units of work so far)."""

import contextlib
import functools
import os
import signal
import socket
import struct
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path

from contenders import BUILD

from harness import clean_environment, started, wait_until  # noqa: E402  (contenders has added the path)
from programs import NGINX, Missing, find, free_port, listening, postgres_server, rust_tools, words  # noqa: E402

LOADS = Path(__file__).resolve().parent / "attached"


def lines_of(paths):
    """Counts the lines of files that grow, and reads each byte once."""
    seen = {}

    def count():
        for path in paths():
            at, lines = seen.get(path, (0, 0))
            with open(path, "rb") as file:
                file.seek(at)
                while piece := file.read(1 << 20):
                    at, lines = at + len(piece), lines + piece.count(b"\n")
            seen[path] = at, lines
        return sum(lines for _, lines in seen.values())
    return count


def by(user, argv, directory, env):
    """Starts it as this user; the library is the program's, not the launcher's."""
    if user and "LD_PRELOAD" in env:
        env = dict(env)
        user = [*user, "env", f"LD_PRELOAD={env.pop('LD_PRELOAD')}"]
    return started([*user, *argv], directory, env)


@contextlib.contextmanager
def redis(user, directory, env):
    server, benchmark, port = find("redis-server"), find("redis-benchmark"), free_port()
    with by(user, [server, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", directory], directory, env) as process:
        wait_until(lambda: listening(port), what="redis-server listens")
        with started([benchmark, "-p", port, "-t", "set", "-n", "1000000000", "-c", "20", "-P", "16", "-q"], directory, clean_environment()), \
                socket.create_connection(("127.0.0.1", port), 10) as client:
            def count():
                client.sendall(b"INFO stats\r\n")
                told = b""
                while b"total_commands_processed:" not in told or not told.endswith(b"\r\n\r\n"):
                    told += client.recv(1 << 16)
                return int(told.split(b"total_commands_processed:")[1].split()[0])
            yield process, count


@contextlib.contextmanager
def nginx(user, directory, env):
    server, wrk, port = find("nginx"), find("wrk"), free_port()
    (directory / "www").mkdir(mode=0o777)
    (directory / "www" / "page.txt").write_text(words(400))
    (directory / "nginx.conf").write_text(NGINX.format(dir=directory, port=port))
    with by(user, [server, "-p", directory, "-c", directory / "nginx.conf"], directory, env) as process:
        wait_until(lambda: listening(port), what="nginx listens")
        with started([wrk, "-t", 1, "-c", 16, "-d", "600s", "-H", "Accept-Encoding: gzip", f"http://127.0.0.1:{port}/page.txt"],
                     directory, clean_environment()):
            yield process, lines_of(lambda: [directory / "access.log"])


@contextlib.contextmanager
def postgres(_, directory, env):
    """An ordinary user's in any case: the server refuses to be root's."""
    with postgres_server(directory, env) as (process, pgbench, _):
        def load():
            with contextlib.suppress(AssertionError, subprocess.TimeoutExpired):  # until the server ends
                while True:
                    pgbench("-n", "-S", "-c", "4", "-T", "100", "-l", "--log-prefix", directory / "done")
        thread = threading.Thread(target=load)
        thread.start()
        try:
            yield process, lines_of(lambda: directory.glob("done.*"))
        finally:
            process.send_signal(signal.SIGINT)  # a fast shutdown
            process.wait(60)
            thread.join(120)


@contextlib.contextmanager
def counting(argv, user, directory, env):
    """A program that counts in a file."""
    file = directory / "count"
    file.write_bytes(bytes(8))
    file.chmod(0o666)
    with by(user, [*argv, file], directory, env) as process:
        yield process, lambda: struct.unpack("<q", file.read_bytes())[0]


def python(user, directory, env):
    return counting([find("python3"), LOADS / "work.py"], user, directory, env)


def node(user, directory, env):
    return counting([find("node"), LOADS / "work.js"], user, directory, env)


@functools.cache
def rust_program():
    program = BUILD / "tests" / "bench" / "whole" / "attached-rust"
    done = subprocess.run(["rustc", "-O", "-o", program, LOADS / "work.rs"], env=rust_tools("rustc"), capture_output=True, text=True,
                          timeout=120, check=False)
    if done.returncode != 0:
        raise Missing(f"a rustc that works: {done.stderr[-300:]}")
    return program


def rust(user, directory, env):
    return counting([rust_program()], user, directory, env)


def deep(user, directory, env):
    program = BUILD / "tests" / "bench" / "whole" / "attached-deep"
    if not program.exists():
        raise Missing(program)
    return counting([program], user, directory, env)


@dataclass(frozen=True)
class Attached:
    name: str
    start: object
    tree: bool = False
    stop: int = signal.SIGTERM


PROGRAMS = {
    "redis": Attached("redis-server, 16 requests a packet", redis),
    "nginx": Attached("nginx, 2 workers", nginx, True),
    "postgres": Attached("PostgreSQL", postgres, True, signal.SIGINT),
    "python3": Attached("python3", python),
    "node": Attached("node", node),
    "rust": Attached("Rust", rust),
    "deep": Attached("C++, deep stacks", deep),
}


def family(pid):
    """The process and all that come from it."""
    found = [pid]
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += [each for child in (task / "children").read_text().split() for each in family(int(child))]
    return found


def signal_all(pid, number):
    for each in family(pid):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{each}/comm").read_text() != "flameprobe\n":  # its collector
                os.kill(each, number)
