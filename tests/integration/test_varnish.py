"""Varnish's threads all register one alternate signal stack, for the handler that reports a panic. Under load, as root and as an
ordinary user, in every engine, its worker lives on and leaves a picture."""

import os
import socket
import threading
import time

from harness import ENGINES, Case, ordinary_user, profiled, sized, started, wait_until

VCL = """vcl 4.1;
backend none none;
sub vcl_recv { set req.http.x = regsub(req.url, "[0-9]+", "n"); return (synth(200, "here")); }
"""
CONNECTIONS = 4


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def connect(port):
    try:
        return socket.create_connection(("127.0.0.1", port), timeout=20)
    except OSError:
        return None


def ask(connection, number):
    """The status of one answer; the connection stays open."""
    connection.sendall(b"GET /%d HTTP/1.1\r\nHost: here\r\n\r\n" % number)
    with connection.makefile("rb") as answer:
        status = int(answer.readline().split()[1])
        length = 0
        while line := answer.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        answer.read(length)
    return status


class Varnish(Case):
    def load(self, port, seconds):
        answers = []

        def client():
            count, end = 0, time.monotonic() + seconds
            while time.monotonic() < end:
                with connect(port) as connection:
                    for number in range(50):  # then another thread of the server
                        count += ask(connection, number) == 200
            answers.append(count)

        clients = [threading.Thread(target=client) for _ in range(CONNECTIONS)]
        for one in clients:
            one.start()
        for one in clients:
            one.join()
        self.assertEqual(len(answers), CONNECTIONS, "a connection broke")
        return sum(answers)

    def check(self, engine, user):
        self.need("varnishd", "gcc")
        directory = self.fresh_directory(f"{engine}-{'-'.join(user)[:8]}")
        os.chmod(directory, 0o777)
        (directory / "here.vcl").write_text(VCL)
        port = free_port()
        env = profiled(ENGINE=engine, FREQ=997, FORMAT="folded", CHILDREN="on")
        preload = env.pop("LD_PRELOAD")
        argv = [*user, "env", f"LD_PRELOAD={preload}", "/usr/sbin/varnishd", "-F", "-j", "none", "-a", f"127.0.0.1:{port}",
                "-f", directory / "here.vcl", "-n", directory / "state", "-s", "malloc,16m", "-p", "thread_pool_min=20"]
        with started(argv, directory, env) as process:
            wait_until(lambda: (found := connect(port)) is not None and found.close() is None, 60, "the server's port")
            self.assertGreater(self.load(port, sized(1, 5)), 100)
            process.terminate()
            self.assertEqual(process.wait(60), 0)
        log = "".join(path.read_text() for path in directory.glob("*.log"))
        self.assertNotRegex(log, "died|[Pp]anic")
        workers = [path for path in directory.glob("flameprobe.*.folded") if "WRK_Thread" in path.read_text()
                   or "cache-worker" in path.read_text()]
        self.assertTrue(workers, sorted(path.name for path in directory.iterdir()))

    def test_as_an_ordinary_user(self):
        user = ordinary_user(self)
        os.chmod(self.directory, 0o755)
        for engine in sized(("auto",), ("auto", *ENGINES)):  # auto has the rings and the timers
            with self.subTest(engine=engine):
                self.check(engine, user)

    def test_every_engine(self):
        for engine in sized(("timer",), ENGINES):  # the host alternate_stacks is in each
            with self.subTest(engine=engine):
                self.check(engine, [])
