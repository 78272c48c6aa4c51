"""Work without end for attach.py: work.py FILE, where 8 bytes tell how many units are done."""

import hashlib
import json
import os
import re
import struct
import sys


def digest(data):
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def search(text):
    return sorted(re.findall(r"[a-f]+[0-9]+", text), key=len)


def unit(number):
    data = {str(i): list(range((i + number) % 40)) for i in range(60)}
    return len(search(digest(json.loads(json.dumps(data))) * 5))


def main():
    done, file = 0, os.open(sys.argv[1], os.O_WRONLY)
    while True:
        unit(done)
        done += 1
        os.pwrite(file, struct.pack("<q", done), 0)


main()
