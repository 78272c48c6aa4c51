#!/usr/bin/env python3
"""initramfs.py KERNEL INIT OUT: a cpio archive (newc) of busybox, the modules of virtio's serial ports and INIT as
/.guest/init, to which the guest's root and what it shall run are appended.

KERNEL is where a kernel's package and busybox-static were unpacked."""
import lzma
import sys
from pathlib import Path

MODULES = ("virtio", "virtio_ring", "virtio_mmio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci",
           "virtio_console")


class Archive:
    def __init__(self):
        self.entries = []

    def add(self, name, mode, data=b"", device=(0, 0)):
        encoded = name.encode() + b"\0"
        fields = (len(self.entries) + 1, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(encoded), 0)
        entry = b"070701" + b"".join(b"%08X" % field for field in fields) + encoded
        entry += b"\0" * (-len(entry) % 4) + data
        self.entries.append(entry + b"\0" * (-len(entry) % 4))


def main(kernel, init, out):
    archive = Archive()
    for folder in (".guest", "dev", "proc", "sys"):
        archive.add(folder, 0o040755)
    archive.add("dev/console", 0o020600, device=(5, 1))
    archive.add(".guest/busybox", 0o100755, (kernel / "bin/busybox").read_bytes())
    # A kernel has some of them built in; they are loaded in this order.
    order = []
    for module in MODULES:
        if found := next(kernel.rglob(f"{module}.ko*"), None):
            code = found.read_bytes()
            archive.add(f".guest/{module}.ko", 0o100644, lzma.decompress(code) if found.suffix == ".xz" else code)
            order.append(module)
    archive.add(".guest/order", 0o100644, "\n".join(order).encode() + b"\n")
    archive.add(".guest/init", 0o100755, init.read_bytes())
    archive.add("TRAILER!!!", 0)
    out.write_bytes(b"".join(archive.entries))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
