#!/usr/bin/env python3
"""Makes a shared library with about MEGABYTES of debug information (DWARF 5, templates and inlined functions throughout)
in seconds: one unit is compiled once, and copies of the object, whose symbols differ, are linked together.

usage: make_debug_info.py OUTPUT [MEGABYTES]"""
import subprocess
import sys
import tempfile

UNIT = """
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>
namespace app {
template <int N> struct Key { long value[N % 5 + 1]; bool operator<(const Key& other) const { return value[0] < other.value[0]; } };
template <int N> struct Service {
    std::map<Key<N>, std::string> names;
    std::vector<Key<N>> keys;
    std::optional<Key<N>> last;
    static inline long mix(long a, long b) { return (a ^ b) * (N + 3); }
    inline long fold(const std::vector<long>& in) const {
        return std::accumulate(in.begin(), in.end(), long(N), [](long a, long b) { return mix(a, b) + N; });
    }
    __attribute__((noinline)) long handle(std::vector<long>& in, const std::string& name) {
        std::sort(in.begin(), in.end(), [](long a, long b) { return mix(a, N) < mix(b, N); });
        last = Key<N>{};
        last->value[0] = fold(in);
        names[*last] = name;
        keys.push_back(*last);
        return std::count_if(in.begin(), in.end(), [&](long v) { return v > last->value[0]; });
    }
};
template <int... N> long all(std::vector<long>& in, const std::string& name, std::integer_sequence<int, N...>) {
    return (Service<N>().handle(in, name) + ...);
}
}
long entry(std::vector<long>& in, const std::string& name) {
    return app::all(in, name, std::make_integer_sequence<int, SERVICES>());
}
"""


def run(*argv):
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)


def debug_megabytes(path, shared=True):
    """Without what copies share, the strings, if not `shared`."""
    listing = subprocess.run(["readelf", "-SW", path], check=True, capture_output=True, text=True).stdout
    rows = [line[line.find("]") + 1:].split() for line in listing.splitlines()]
    return sum(int(row[4], 16) for row in rows if row and row[0].startswith(".debug_")
               and (shared or not row[0].startswith((".debug_str", ".debug_line_str")))) / 1e6


def make(output, megabytes):
    with tempfile.TemporaryDirectory(prefix="flameprobe-bench-") as directory:
        source, one, trial = f"{directory}/unit.cpp", f"{directory}/unit.o", f"{directory}/trial.so"
        with open(source, "w", encoding="ascii") as file:
            file.write(UNIT)
        services = 4 if megabytes < 20 else 40
        run("g++", "-std=c++20", "-O2", "-g", "-gdwarf-5", "-fPIC", "-fno-lto", f"-DSERVICES={services}", "-c", source, "-o", one)
        link = ["g++", "-shared", "-nostdlib", "-Wl,--build-id"]
        run(*link, "-o", trial, one)
        objects = [one]
        strings = debug_megabytes(trial) - debug_megabytes(trial, shared=False)
        for number in range(1, max(1, round((megabytes - strings) / debug_megabytes(trial, shared=False)))):
            objects.append(f"{directory}/{number}.o")
            run("objcopy", f"--prefix-symbols=unit{number}_", one, objects[-1])
        run(*link, "-o", output, *objects)


if __name__ == "__main__":
    make(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 100)
    print(f"{sys.argv[1]}: {debug_megabytes(sys.argv[1]):.0f} MB of debug information")
