"""Checks what libflameprobe-core.so, which is loaded into hosts, consists of: core_links.py CORE SRC. It records: nothing that
names or draws, no demangler, and no library but libc, libstdc++ and libgcc."""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

core, src = sys.argv[1], Path(sys.argv[2])
OURS_ELSEWHERE = ("outside", "symbolize", "render", "export")
FOREIGN = re.compile(r"(lzma_|ZSTD_|cplus_demangle|rust_demangle|d_demangle|d_print|dwfl_|"
                     r"g?elf_(begin|memory|getdata)|dwarf_(begin|getcfi|cfi_|frame_)|crc32_z|deflate|inflate(Init|End|$)|sqlite|curl_)")
MOST_BYTES = 1_500_000

problems = []
symbols = subprocess.run(["readelf", "-sW", core], check=True, capture_output=True, text=True).stdout
rows = [line.split() for line in symbols.splitlines()]
files = {row[7] for row in rows if len(row) == 8 and row[3] == "FILE"}
if not any("core" in name for name in files):
    problems.append("it has no symbols of files: this test says nothing")
# getenv(3) is not safe beside the host's setenv: the collector has what was read while the core was loaded.
problems += [f"{path} calls getenv: see src/session/at_load.hpp" for path in src.glob("*/**/*.cpp")
             if path.relative_to(src).parts[0] not in OURS_ELSEWHERE and path.name not in ("at_load.cpp", "family.cpp") and "getenv(" in path.read_text()]
problems += [f"{path} calls getenv in a thread of the host: see preload/load.cpp" for path in src.parent.glob("preload/**/*.cpp")
             if path.name != "load.cpp" and "getenv(" in path.read_text()]
for folder in OURS_ELSEWHERE:
    names = {path.name for path in (src / folder).glob("*.cpp")} - {path.name for path in src.glob("*/*.cpp") if path.parent.name not in OURS_ELSEWHERE}
    problems += [f"{name} of src/{folder} is linked" for name in files if name in names or f"{folder}-unity" in name]
problems += [f"{row[7]} is linked" for row in rows if len(row) == 8 and row[3] == "FUNC" and row[6] != "UND" and FOREIGN.match(row[7])]
# An executable that uses a variable of libc's has it itself (a copy relocation), which the core, bound deep, does not see.
constant = {"stderr", "__libc_single_threaded", "__libc_stack_end"}
problems += [f"it uses libc's variable {row[7]}: see host_environment() in session/family.cpp"
             for row in rows if len(row) >= 8 and row[3] == "OBJECT" and row[6] == "UND" and row[7].split("@")[0] not in constant]
dynamic = subprocess.run(["readelf", "-dW", core], check=True, capture_output=True, text=True).stdout
needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
problems += [f"it needs {name}" for name in needed if not re.match(r"(libc|ld-linux.*|libgcc_s|lib[atu]san|libubsan)\.so", name)]
if not any(re.match(r"lib[atu].*san", name) for name in needed):
    with tempfile.TemporaryDirectory() as place:
        stripped = shutil.copy(core, place)
        subprocess.run(["strip", stripped], check=True)
        size = Path(stripped).stat().st_size
        print(f"{size} bytes without symbols")
        if size > MOST_BYTES:
            problems.append(f"it has {size} bytes without symbols, more than {MOST_BYTES}")
for problem in sorted(set(problems)):
    print(f"{core}: {problem}")
sys.exit(1 if problems else 0)
