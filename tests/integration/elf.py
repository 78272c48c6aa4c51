"""Reads ELF section headers and build ids, to find out whether a file has symbols."""

import struct
from functools import lru_cache
from pathlib import Path

SHT_SYMTAB, SHT_NOTE, NT_GNU_BUILD_ID = 2, 7, 3


def sections(content):
    """(type, offset, size) of every section of a 64-bit little-endian file; none for anything else."""
    if content[:6] != b"\x7fELF\x02\x01":
        return
    table, = struct.unpack_from("<Q", content, 0x28)
    entry, count = struct.unpack_from("<HH", content, 0x3A)
    for i in range(count):
        kind, _, _, offset, size = struct.unpack_from("<IQQQQ", content, table + i * entry + 4)
        yield kind, offset, size


def build_id(content):
    for kind, offset, size in sections(content):
        if kind != SHT_NOTE or size < 16:
            continue
        name_size, id_size, note = struct.unpack_from("<III", content, offset)
        if note == NT_GNU_BUILD_ID and content[offset + 12:offset + 15] == b"GNU":
            start = offset + 12 + (name_size + 3) // 4 * 4
            return content[start:start + id_size].hex()
    return ""


@lru_cache(maxsize=None)
def has_symbols(path):
    """Whether the file has a symbol table, itself or in a separate debug file on this system. .dynsym alone does not count."""
    try:
        content = Path(path).read_bytes()
    except OSError:
        return False
    if any(kind == SHT_SYMTAB for kind, _, _ in sections(content)):
        return True
    identity = build_id(content)
    return bool(identity) and Path("/usr/lib/debug/.build-id", identity[:2], identity[2:] + ".debug").exists()
