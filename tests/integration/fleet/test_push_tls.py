"""flameprobe push over TLS: own authority, client certificates, what is not verified gets nothing, proxies."""

import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from certificates import Authority
from engine import Proxy
from push_case import PushCase


class Tls(PushCase):
    def setUp(self):
        super().setUp()
        self.need("openssl")
        self.authority = Authority(self.directory / "ca")
        self.record()

    def refused(self, engine, *options, says="", **environment):
        """No byte of the profile left, and the window stays."""
        done = self.push("--once", *options, url=engine.url, **environment)
        self.assertEqual((done.returncode, len(self.windows())), (1, 1), done.stderr)
        self.assertIn(says, done.stderr)
        self.assertEqual((engine.taken, engine.refused), ([], []))

    def test_only_who_the_named_authority_signed_gets_profiles(self):
        stranger = Authority(self.directory / "stranger")
        self.refused(self.engine(tls=stranger.issue("stranger")), "--ca", self.authority.certificate, says="certificate")
        self.refused(self.engine(tls=self.authority.issue("unknown")), says="certificate")  # to the system
        wrong = self.engine(tls=self.authority.issue("other.example", "DNS:other.example"))
        self.refused(wrong, "--ca", self.authority.certificate, says="SSL")
        expired = self.authority.issue("expired", days=0)
        time.sleep(1.1)  # a certificate's times are whole seconds
        self.refused(self.engine(tls=expired), "--ca", self.authority.certificate, says="certificate")
        engine = self.engine(tls=self.authority.issue("engine"))
        done = self.push("--once", "--ca", self.authority.certificate, url=engine.url)
        self.assertEqual((done.returncode, done.stderr, len(engine.taken)), (0, "", 1))

    def test_a_client_certificate(self):
        ca = ("--ca", self.authority.certificate)
        engine = self.engine(tls=self.authority.issue("engine"), client_ca=self.authority.certificate)
        self.refused(engine, *ca)
        certificate, key = self.authority.issue("host-1", "DNS:host-1")
        done = self.push("--once", *ca, "--cert", certificate, "--key", key, url=engine.url)
        self.assertEqual((done.returncode, done.stderr, len(engine.taken)), (0, "", 1))

    def test_a_proxy_carries_tls_and_sees_no_more_than_the_address(self):
        engine = self.engine(tls=self.authority.issue("engine"))
        proxy = Proxy(engine.port)
        self.addCleanup(proxy.close)
        done = self.push("--once", "--ca", self.authority.certificate, url=engine.url, https_proxy=proxy.url, no_proxy="")
        self.assertEqual((done.returncode, done.stderr, len(engine.taken)), (0, "", 1))
        self.assertEqual(proxy.asked, [f"127.0.0.1:{engine.port}"])

    def test_a_proxy_for_plain_http(self):
        proxy = self.engine()
        done = self.push("--once", url="http://engine.example/in", http_proxy=f"http://127.0.0.1:{proxy.port}")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(proxy.taken[0]["path"], "http://engine.example/in")

    def test_files_that_are_not_there(self):
        for options in (("--ca", "nowhere.pem"), ("--cert", "nowhere.pem", "--key", "nowhere.key"),
                        ("--token-file", "nowhere")):
            done = self.push("--once", *options, url="https://127.0.0.1:9/")
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"{options[1]}: cannot be read", done.stderr)


if __name__ == "__main__":
    unittest.main()
