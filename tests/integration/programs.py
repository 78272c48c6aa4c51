"""Programs of others, as Debian ships them (without frame pointers, most of them stripped), each under a load:
a generator per program that gives (name, Run, executable's path) once it has ended. `env` is what it is started with."""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from harness import BUILD, EMULATED, ROOT, Run, clean_environment, run, sized, started, wait_until

PATH = "/usr/bin:/usr/sbin:/sbin:" + os.environ.get("PATH", "")  # Debian's first: a wrapper such as ccache is no compiler


class Missing(Exception):
    """A program or library that is not installed."""


def find(program):
    path = shutil.which(program, path=PATH)
    if path is None:
        raise Missing(program)
    return path


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listening(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def bound(port):
    """As listening(), but without a connection, which iperf3 would take for its only client."""
    return f":{port:04X} 00000000:0000 0A" in Path("/proc/net/tcp").read_text()


def load(argv, timeout=60):
    done = subprocess.run([str(a) for a in argv], env=clean_environment(), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=timeout)
    if done.returncode != 0:
        raise AssertionError(f"{argv[0]} failed: {done.stdout[-500:]} {done.stderr[-500:]}")
    return done.stdout


def words(count, seed=1):
    """Text that compresses like text: words in a fixed pseudo-random order."""
    state, text = seed, []
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        text.append(f"word{(state >> 40) % 9000:x}")
        if state >> 60 == 0:
            text.append("\n")
    return " ".join(text)


def ended(process, directory, begun, what):
    """Waits for the end of a server that was told to end, and returns its Run."""
    try:
        process.wait(30)
    except subprocess.TimeoutExpired as late:
        raise AssertionError(f"{what} does not end") from late
    log = "".join(p.read_text(errors="replace") for p in directory.glob("*.log"))
    return Run(process.returncode, "", log, directory, time.monotonic() - begun, process.pid)


REQUESTS = sized("10000", "30000", "2000")


def redis(directory, env, seconds, load_of=("-n", REQUESTS, "-c", "20", "-t", "set,get,lpush,lrange_100,zadd,mset"), pause=0):
    """`load_of`: options of redis-benchmark, which is run again and again with pauses in seconds."""
    server, benchmark, client = find("redis-server"), find("redis-benchmark"), find("redis-cli")
    port, begun = free_port(), time.monotonic()
    with started([server, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", directory],
                 directory, env) as process:
        wait_until(lambda: listening(port), what="redis-server listens")
        while time.monotonic() < begun + seconds:
            load([benchmark, "-p", port, "-q", *load_of])
            time.sleep(pause)
        subprocess.run([client, "-p", str(port), "shutdown", "nosave"], env=clean_environment(), timeout=20,
                       capture_output=True, check=False)
        return ended(process, directory, begun, "redis-server"), server


NGINX = """
daemon off;
worker_processes 2;
pid {dir}/nginx.pid;
error_log {dir}/nginx.log;
events {{ worker_connections 256; }}
http {{
    access_log {dir}/access.log;
    client_body_temp_path {dir}/t1; proxy_temp_path {dir}/t2; fastcgi_temp_path {dir}/t3;
    uwsgi_temp_path {dir}/t4; scgi_temp_path {dir}/t5;
    gzip on; gzip_types text/plain; default_type text/plain;
    server {{ listen 127.0.0.1:{port} reuseport; root {dir}/www; }}
}}
"""


def used_by_children(pid):
    """Seconds of CPU time, of those that live."""
    ticks = 0
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def nginx(directory, env, seconds):
    server, wrk = find("nginx"), find("wrk")
    port, begun = free_port(), time.monotonic()
    os.chmod(directory, 0o777)  # the workers of a master that is root run as another user
    os.chmod(directory.parent, 0o755)
    (directory / "www").mkdir()
    (directory / "www" / "page.txt").write_text(words(4000))
    (directory / "nginx.conf").write_text(NGINX.format(dir=directory, port=port))
    with started([server, "-p", directory, "-c", directory / "nginx.conf"], directory, env) as process:
        wait_until(lambda: listening(port), what="nginx listens")
        # The kernel spreads connections over the workers: so many that each worker has some. On a busy machine a worker gets
        # little CPU time, so the load goes on.
        for _ in range(5):
            load([wrk, "-t", 1, "-c", 32, "-d", f"{seconds}s", "-H", "Accept-Encoding: gzip", f"http://127.0.0.1:{port}/page.txt"],
                 timeout=seconds + 30)
            if used_by_children(process.pid) > 0.6:
                break
        os.kill(process.pid, 3)  # SIGQUIT: end gracefully
        return ended(process, directory, begun, "nginx"), server


@contextlib.contextmanager
def nginx_masters(directory, env, keeps=()):
    """nginx as a daemon of two workers; gives its Upgrade. `keeps`: variables of its environment that its configuration keeps,
    which else clears it. All masters are ended: they are children of this process (harness.py)."""
    server = find("nginx")
    os.chmod(directory, 0o777)
    os.chmod(directory.parent, 0o755)
    (directory / "www").mkdir(mode=0o777)
    (directory / "www" / "page.txt").write_text(words(4000))
    port = free_port()
    text = NGINX.format(dir=directory, port=port).replace("daemon off;", "".join(f"env {name};\n" for name in keeps))
    (directory / "nginx.conf").write_text(text)
    subprocess.run([server, "-p", directory, "-c", directory / "nginx.conf"], cwd=directory, env=env, check=True, timeout=60)
    upgrade = Upgrade(directory / "nginx.pid", port)
    try:
        yield upgrade
    finally:
        for pid in upgrade.masters:
            if Path(f"/proc/{pid}").exists():
                os.kill(pid, signal.SIGKILL)


class Upgrade:
    """nginx's upgrade of its binary while it serves: the next master (USR2), the end of the first one's workers (WINCH) and of
    the first (QUIT)."""

    def __init__(self, file, port):
        self.file, self.port = file, port
        self.masters = [wait_until(lambda: listening(port) and self.master(), what="nginx listens")]

    def master(self):
        text = self.file.read_text().strip() if self.file.exists() else ""
        return int(text) if text else 0

    def serve(self):
        """The number of answers; each is the whole page."""
        told = load([find("wrk"), "-t", 1, "-c", 16, "-d", "1s", "-H", "Accept-Encoding: gzip", f"http://127.0.0.1:{self.port}/page.txt"])
        if "Non-2xx" in told or "Socket errors" in told:
            raise AssertionError(told)
        return int(re.search(r"(\d+) requests in", told)[1])

    def children(self, pid):
        return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()

    def begin(self):
        os.kill(self.masters[0], signal.SIGUSR2)
        self.masters.append(wait_until(lambda: self.master() not in (0, self.masters[0]) and self.master(), what="the next master"))

    def retire_workers(self):
        """The next master, a child of the first, is its only child then."""
        os.kill(self.masters[0], signal.SIGWINCH)
        wait_until(lambda: self.children(self.masters[0]) == [str(self.masters[1])], 30, "the end of the first workers")

    @staticmethod
    def end(pid):
        os.kill(pid, signal.SIGQUIT)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def whole(argv, directory, env):
    ran = run(argv, directory, env, timeout=120)
    if ran.returncode != 0 or ran.timed_out:
        raise AssertionError(f"{argv[0]} ended with {ran.returncode}: {ran.stderr[-1000:]}")
    return ran, str(Path(argv[0]).resolve())


SCRIPT = """
import hashlib, json, re, threading, time
end = time.monotonic() + {seconds}
def goes_on():  # on a busy machine for longer, until there is something to sample
    now = time.monotonic()
    return now < end or (now < end + 60 and time.process_time() < {seconds} / 2)
def parse(text): return json.loads(text)
def digest(data): return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
def search(text): return sorted(re.findall(r'[a-f]+[0-9]+', text), key=len)
def work():
    data = {{str(i): list(range(i % 40)) for i in range(600)}}
    while goes_on():
        search(digest(parse(json.dumps(data))) * 50)
threads = [threading.Thread(target=work) for _ in range(2)]
[t.start() for t in threads]; work(); [t.join() for t in threads]
"""


def python(directory, env, seconds):
    if not Path("/usr/bin/python3").exists():
        raise Missing("/usr/bin/python3")
    (directory / "script.py").write_text(SCRIPT.format(seconds=seconds))
    return whole(["/usr/bin/python3", directory / "script.py"], directory, env)


def compressor(name, *options):
    def compress(directory, env, seconds):
        program = find(name)
        (directory / "data").write_text(words(250_000 * seconds))
        return whole([program, *options, directory / "data"], directory, env)
    return compress


def rust(directory, env, seconds):
    compiler = find("rustc")
    done = subprocess.run([compiler, "-O", "-o", directory / "rust_work", ROOT / "tests" / "targets" / "rust_work.rs"],
                          env=clean_environment(), capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise Missing(f"a rustc that works: {done.stderr[-300:]}")
    return whole([directory / "rust_work", 50 * seconds], directory, env)


def rust_tools(*tools):
    """An environment in which these of cargo and rustc work and are of one toolchain: one's cargo asks rustc for what
    another's does not know."""
    for place in dict.fromkeys(PATH.split(":")):
        paths = [Path(place) / tool for tool in tools]
        environment = dict(clean_environment(), PATH=f"{place}:{PATH}")
        if all(path.is_file() and subprocess.run([path, "--version"], env=environment, capture_output=True,
                                                 check=False).returncode == 0 for path in paths):
            return environment
    raise Missing(" and ".join(tools))


REGISTRY = Path("/usr/share/cargo/registry")  # where Debian's librust packages put their sources


def forwarder_built():
    """Once for each build directory: cargo itself sees that nothing has changed. tokio and what it needs are compiled too."""
    if not list(REGISTRY.glob("tokio-1.*")):
        raise Missing(f"tokio's sources under {REGISTRY}")
    environment = rust_tools("cargo", "rustc")
    place = BUILD / "tests" / "targets" / "tokio-forwarder"
    shutil.copytree(ROOT / "examples" / "workflows" / "tokio-forwarder", place / "source", dirs_exist_ok=True)
    done = subprocess.run(["cargo", "build", "--release", "--offline", "--manifest-path", place / "source" / "Cargo.toml",
                           "--target-dir", place, "--config", 'source.crates-io.replace-with="debian"',
                           "--config", f'source.debian.directory="{REGISTRY}"'],
                          env=dict(environment, CARGO_HOME=str(place / "home")), capture_output=True,
                          text=True, timeout=600)
    if done.returncode != 0:
        raise AssertionError(f"cargo failed: {done.stderr[-2000:]}")
    return place / "release" / "tokio-forwarder"


def forwarder(directory, env, seconds):
    """tokio's tasks between two workers, and iperf3 on both sides."""
    iperf, program = find("iperf3"), forwarder_built()
    port, target, begun = free_port(), free_port(), time.monotonic()
    with started([iperf, "-s", "-1", "-B", "127.0.0.1", "-p", target], directory, clean_environment()):
        wait_until(lambda: bound(target), what="iperf3 listens")
        with started([program, port, target], directory, env) as process:
            wait_until(lambda: bound(port), what="the forwarder listens")
            load([iperf, "-c", "127.0.0.1", "-p", port, "-P", "4", "-t", seconds], timeout=seconds + 30)
            process.terminate()
            return ended(process, directory, begun, "the forwarder"), str(program)


def compiler(directory, env, seconds):
    """make -j2 with gcc: a tree of short processes (gcc, cc1, as)."""
    make, gcc = find("make"), find("gcc")
    lines = [f"int f{i}(int a, int b) {{ for (int i = 0; i < a; ++i) b = (b ^ a) * {i + 3} + i % 7; return b; }}"
             for i in range(100 * seconds)]
    names = [f"part{n}" for n in range(4)]
    for name in names:
        (directory / f"{name}.c").write_text("\n".join(lines))
    (directory / "Makefile").write_text("all: " + " ".join(f"{n}.o" for n in names) + f"\n%.o: %.c\n\t{gcc} -O2 -c $< -o $@\n")
    return whole([make, "-j2"], directory, env)


@contextlib.contextmanager
def postgres_server(directory, env):
    """(process, pgbench as the server's user, its arguments to connect) of a new database cluster. Does not run as root."""
    bin_directories = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not bin_directories:
        raise Missing("postgresql")
    initdb, server, pgbench, ready = (bin_directories[-1] / name for name in ("initdb", "postgres", "pgbench", "pg_isready"))
    directory.chmod(0o777)
    directory.parent.chmod(0o755)
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    data, port = directory / "data", free_port()

    def command(*argv):
        done = subprocess.run([*user, *map(str, argv)], cwd=directory, env=clean_environment(), capture_output=True, text=True,
                              timeout=120, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{argv[0]} failed: {done.stderr[-1000:]}")
        return done.stdout

    command(initdb, "-D", data, "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C")
    with started([*user, server, "-D", data, "-p", port, "-k", directory, "-c", "listen_addresses="], directory, env) as process:
        wait_until(lambda: subprocess.run([ready, "-q", "-h", directory, "-p", str(port)], env=clean_environment(),
                                          check=False).returncode == 0, what="postgres accepts connections", seconds=60)

        def bench(*argv):
            return command(pgbench, *argv, "-h", directory, "-p", port, "-U", "postgres", "postgres")
        bench("-i", "-q", "-s", "1")
        yield process, bench, str(server)


def postgres(directory, env, seconds):
    """Its processes leave a result each."""
    begun = time.monotonic()
    with postgres_server(directory, env) as (process, pgbench, server):
        pgbench("-n", "-c", "4", "-T", seconds)
        process.send_signal(2)  # SIGINT: a fast shutdown
        return ended(process, directory, begun, "postgres"), server


def ripgrep(directory, env, seconds):
    program = find("rg")
    (directory / "data").write_text((words(20_000) + "\n") * (3 if EMULATED else 30) * seconds)
    return whole([program, "-j2", "-o", "-r", "$2 $1", "(word[0-9a-f]+) (word[0-9a-f]+)", "data"], directory, env)


@dataclass(frozen=True)
class Program:
    name: str
    start: object
    processes: int = 1  # that leave a result
    functions: tuple = ()  # exported, so that they have names even where the program is stripped


PROGRAMS = (
    Program("redis-server", redis),
    Program("nginx", nginx, 3),
    Program("python3", python, 1, ("_PyEval_EvalFrameDefault",)),
    Program("xz -T2", compressor("xz", "-T2", "-3", "-k", "--block-size=2MiB")),
    Program("zstd -T2", compressor("zstd", "-T2", "-15", "-k", "-q")),
    Program("postgres", postgres, 2),
    Program("ripgrep", ripgrep),
    Program("rust -O", rust, 1, ("count_words", "make_words", "rank")),
    Program("rust tokio", forwarder, 1, ("tokio::io::util::copy_bidirectional::transfer_one_direction",)),
)
COMPILER = Program("make -j2 gcc", compiler, 8)
