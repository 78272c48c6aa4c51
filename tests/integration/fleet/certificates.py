"""Certificates for tests, made by openssl: an authority, and servers' and clients' certificates that it signed."""

import subprocess
from pathlib import Path

NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, stdin=subprocess.DEVNULL, capture_output=True)


class Authority:
    """Its certificate is `certificate`, a PEM file in a directory of its own."""

    def __init__(self, directory):
        self.directory = Path(directory)
        self.directory.mkdir()
        self.certificate, self.key = self.directory / "ca.pem", self.directory / "ca.key"
        openssl("req", "-x509", *NEW_KEY, "-keyout", self.key, "-out", self.certificate, "-days", "2", "-subj",
                "/CN=FlameProbe test authority")

    def issue(self, name, address="IP:127.0.0.1", days=2):
        """(certificate, key) for an address as subjectAltName has it. With 0 days it has expired a second later."""
        certificate, key = self.directory / f"{name}.pem", self.directory / f"{name}.key"
        request, extensions = self.directory / f"{name}.csr", self.directory / f"{name}.ext"
        extensions.write_text(f"subjectAltName={address}\n")
        openssl("req", "-new", *NEW_KEY, "-keyout", key, "-out", request, "-subj", f"/CN={name}")
        openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial", "-out",
                certificate, "-days", str(days), "-extfile", extensions)
        return certificate, key
