"""An engine on loopback that takes what is posted to it, and fails as it is told."""

import gzip
import http.server
import socket
import threading
import time


class Engine:
    """`answers` are used up one by one, then 200: a status, (status, headers), "hang", "reset" or "cut"."""

    def __init__(self, *answers):
        self.answers, self.taken, self.refused = list(answers), [], []
        engine = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                answer = engine.answers.pop(0) if engine.answers else 200
                request = {"path": self.path, "headers": dict(self.headers), "body": body, "time": time.monotonic()}
                if answer == "hang":
                    engine.refused.append(request)
                    engine.closing.wait(30)
                    return
                if answer == "reset":
                    engine.refused.append(request)
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                    self.connection.close()
                    return
                status, headers = answer if isinstance(answer, tuple) else (200 if answer == "cut" else answer, {})
                (engine.taken if status < 300 and answer != "cut" else engine.refused).append(request)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "10" if answer == "cut" else "5")
                self.end_headers()
                self.wfile.write(b"told\n")
                self.close_connection = True

            def log_message(self, *_):
                pass

        self.closing = threading.Event()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/in"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()
