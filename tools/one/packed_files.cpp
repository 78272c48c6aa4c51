#include "packed_files.hpp"

// Of packed.S, which the script `pack` writes.
extern "C" const char packed_libflameprobe[], packed_libflameprobe_end[], packed_libflameprobe_core[],
    packed_libflameprobe_core_end[], packed_libflameprobe_alloc[], packed_libflameprobe_alloc_end[];

namespace flameprobe {

const std::array<PackedFile, 3>& packed_files() {
    static const std::array files = {
        PackedFile{"libflameprobe.so", {packed_libflameprobe, packed_libflameprobe_end}},
        PackedFile{"libflameprobe-core.so", {packed_libflameprobe_core, packed_libflameprobe_core_end}},
        PackedFile{"libflameprobe-alloc.so", {packed_libflameprobe_alloc, packed_libflameprobe_alloc_end}}};
    return files;
}

}  // namespace flameprobe
