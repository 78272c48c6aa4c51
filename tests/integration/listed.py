"""Every test of this folder is run by something: meson, or the emulated machines. Exit status 1 if one is forgotten."""

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RUNNERS = [*(ROOT / "tests").rglob("meson.build"), ROOT / "tools" / "test-arm64", ROOT / "tools" / "guest" / "run_tests.py"]

runners = "\n".join(path.read_text() for path in RUNNERS)
# A folder's list may have names without `test_`.
named = set(re.findall(r"[a-z][a-z0-9_]*", runners))
forgotten = [path for path in sorted(HERE.rglob("test_*.py")) if not {path.stem, path.stem.removeprefix("test_")} & named]
for path in forgotten:
    print(f"{path.relative_to(ROOT)} is in no meson.build", file=sys.stderr)
sys.exit(1 if forgotten else 0)
