"""An engine on loopback that accepts what is posted to it, or fails in the ways that a test asks for."""

import contextlib
import gzip
import http.server
import socket
import ssl
import threading
import time


def hang(handler, _):
    handler.engine.closing.wait(30)


def reset(handler, _):
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    handler.connection.close()


def cut(handler, _):
    """The answer's body ends too early."""
    handler.answer(200, {"Content-Length": "10"})


def cut_head(handler, _):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Le")


def garbage(handler, _):
    handler.wfile.write(bytes(range(256)) * 4)


def drip(handler, _):
    """A byte now and then, for longer than the uploader waits."""
    for byte in b"HTTP/1.1 200 OK\r\n" * 100:
        if handler.engine.closing.wait(0.1):
            return
        handler.wfile.write(bytes([byte]))


def flood(handler, _):
    """An answer without end."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while not handler.engine.closing.is_set():
        handler.wfile.write(b"more " * 10000)


def echo(handler, request):
    """Refuses, and says what it was sent."""
    handler.answer(400, {}, str(request["headers"]).encode())


class Engine:
    """`answers` are used up one by one, then 200: a status, (status, headers), (status, headers, text), or one of the
    functions above; functions are failures, so what they got is in `refused`. What is posted to .../v1/metrics is answered with
    `metrics_answer` and kept in `metrics`. `most` is the largest pprof taken; all else
    is 413. With `tls` ((certificate, key), and `client_ca`: a client certificate is asked for) it speaks TLS."""

    def __init__(self, *answers, most=None, tls=None, client_ca=None):
        self.answers, self.taken, self.refused, self.most = list(answers), [], [], most
        self.metrics, self.metrics_answer = [], 200
        self.fails = lambda request: False  # 503 instead of 200
        engine = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def setup(self):
                super().setup()
                self.engine = engine

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                request = {"path": self.path, "headers": dict(self.headers), "body": body, "time": time.monotonic()}
                if self.path.endswith("/v1/metrics"):
                    engine.metrics.append(request)
                    return self.answer(engine.metrics_answer, {}, b"{}")
                answer = engine.answers.pop(0) if engine.answers else 503 if engine.fails(request) else 200
                self.close_connection = True
                if callable(answer):
                    engine.refused.append(request)
                    with contextlib.suppress(OSError):  # the uploader has gone away
                        answer(self, request)
                    return
                if engine.most is not None and len(gzip.decompress(body)) > engine.most:
                    answer = 413
                status, headers, text = (*(answer if isinstance(answer, tuple) else (answer, {})), b"told\n")[:3]
                (engine.taken if status < 300 else engine.refused).append(request)
                self.answer(status, headers, text)

            def answer(self, status, headers, text=b"told\n"):
                self.send_response(status)
                for name, value in {"Content-Length": str(len(text)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.closing = threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # a failed handshake is what tests are about
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            if client_ca:
                context.verify_mode = ssl.CERT_REQUIRED
                context.load_verify_locations(client_ca)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.port}/in"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()


class Proxy:
    """Tunnels what CONNECT asks for to `port` on loopback; `asked` has the addresses."""

    def __init__(self, port):
        self.asked = []
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_CONNECT(self):
                proxy.asked.append(self.path)
                self.close_connection = True
                with socket.create_connection(("127.0.0.1", port)) as engine:
                    self.wfile.write(b"HTTP/1.1 200 here you are\r\n\r\n")
                    threading.Thread(target=pipe, args=(self.connection, engine), daemon=True).start()
                    pipe(engine, self.connection)

            def log_message(self, *_):
                pass

        def pipe(source, sink):
            with contextlib.suppress(OSError):
                while data := source.recv(65536):
                    sink.sendall(data)
                sink.shutdown(socket.SHUT_WR)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
