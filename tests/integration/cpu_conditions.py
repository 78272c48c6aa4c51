"""Checks that no source file but those of src/arch asks which CPU it is compiled for: cpu_conditions.py ROOT. The public header
of scopes does, since it stands alone, and only there a compiler that knows another CPU must be told so."""

import re
import sys
from pathlib import Path

root = Path(sys.argv[1])
CPU = re.compile(r"\b(?:__x86_64(?:__)?|__amd64(?:__)?|__i[3-6]86(?:__)?|__aarch64__|__arm(?:64)?__|__riscv\w*|__s390x?__|__powerpc\w*|"
                 r"__loongarch\w*|__LP64__|_M_X64|_M_ARM64)\b")
ALLOWED = {"include/flameprobe/scope.h"}

files = [path for folder in ("src", "preload", "include", "tools", "tests") for path in sorted((root / folder).rglob("*"))
         if path.suffix in (".c", ".cpp", ".h", ".hpp", ".S", ".in") and not path.is_relative_to(root / "src" / "arch")]
bad = [f"{path.relative_to(root)}:{number}: {line.strip()}" for path in files if str(path.relative_to(root)) not in ALLOWED
       for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1) if CPU.search(line)]
for line in bad:
    print(f"{line}: what depends on the CPU belongs into src/arch or a test's folder of that CPU")
if not files:
    print(f"no source files in {root}")
sys.exit(1 if bad or not files else 0)
