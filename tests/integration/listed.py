"""Every test of this folder is run by something: meson, or the emulated machines. Of a module that meson takes by its classes or
tests, each of these is. Exit status 1 if one is forgotten."""

import ast
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MESON = [*(ROOT / "tests").rglob("meson.build")]
RUNNERS = [*MESON, ROOT / "tools" / "test-arm64", ROOT / "tools" / "guest" / "run_tests.py"]


def tests_of(path):
    """[(class, test)]"""
    classes = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)]
    return [(one.name, node.name) for one in classes for node in one.body
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]


meson = "\n".join(path.read_text() for path in MESON)
# A folder's list may have names without `test_`.
named = set(re.findall(r"[a-z][a-z0-9_]*", "\n".join(path.read_text() for path in RUNNERS)))
forgotten = []
for path in sorted(HERE.rglob("test_*.py")):
    parts = set(re.findall(rf"\b{path.stem}\.([A-Z][\w.]*)", meson))
    if not {path.stem, path.stem.removeprefix("test_")} & named:
        forgotten.append(path.relative_to(ROOT))
    elif parts and not re.search(rf"\b{path.stem}\b(?![.\w])", meson):
        forgotten += [f"{path.stem}.{where}.{test}" for where, test in tests_of(path) if not {where, f"{where}.{test}"} & parts]
for name in forgotten:
    print(f"{name} is in no meson.build", file=sys.stderr)
sys.exit(1 if forgotten else 0)
