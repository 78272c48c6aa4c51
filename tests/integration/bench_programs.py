"""A server and its load for the bench: bench_programs.py serve PORT WORK | load PORT REQUESTS | work UNITS."""

import contextlib
import select
import signal
import socket
import sys
import time


def burn(amount):
    return sum(i * i for i in range(amount))


def serve(port, work):
    # A signal that comes just before accept() does not end it, whose handler Python runs between instructions of its own:
    # the server would wait for ever.
    signals, wake = socket.socketpair()
    wake.setblocking(False)
    signal.set_wakeup_fd(wake.fileno())
    with signals, wake, socket.create_server(("127.0.0.1", port)) as server:
        print("ready to serve", flush=True)
        while True:
            select.select([server, signals], [], [])
            connection, _ = server.accept()
            with connection, contextlib.suppress(ConnectionError):  # a load that was ended before its answer came
                while connection.recv(1):
                    burn(work)
                    connection.sendall(b".")


def load(port, requests, pause_ms=0):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        for _ in range(requests):
            time.sleep(pause_ms / 1000)
            connection.sendall(b"?")
            if not connection.recv(1):
                sys.exit("the server has hung up")
    print(f"served {requests:,} requests")


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    what, *numbers = sys.argv[1:]
    if what == "work":
        for _ in range(int(numbers[0])):
            burn(20000)
        print(f"done {numbers[0]} units")
    else:
        {"serve": serve, "load": load}[what](*map(int, numbers))


if __name__ == "__main__":
    main()
