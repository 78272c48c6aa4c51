#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace flameprobe {

/// A line of /proc/PID/maps (proc(5)).
struct MapsLine {
    std::uint64_t start = 0, end = 0, offset = 0, device = 0, inode = 0;
    bool readable = false, executable = false;
    std::string_view path;  // or [stack], [vdso], ...; empty: none

    bool operator==(const MapsLine&) const = default;
};

/// The mappings of the host, in address order. The views live as long as the object, which cannot be copied.
struct ProcMaps {
    explicit ProcMaps(std::string of_proc);
    ProcMaps(ProcMaps&&) = default;
    ProcMaps& operator=(ProcMaps&&) = default;

    std::vector<char> text;
    std::vector<MapsLine> lines;
};

/// What lay at a line of memory without a file, if the lines around it are one file's, with room for just that part.
std::optional<MapsLine> file_around(const ProcMaps& maps, std::size_t line);

Result<ProcMaps> read_proc_maps();

}  // namespace flameprobe
