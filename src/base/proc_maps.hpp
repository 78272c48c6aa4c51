#pragma once

#include <sys/sysmacros.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/host_process.hpp"
#include "base/paths.hpp"
#include "base/proc.hpp"
#include "base/result.hpp"

namespace flameprobe {

/// A line of /proc/PID/maps (proc(5)).
struct MapsLine {
    std::uint64_t start = 0, end = 0, offset = 0, device = 0, inode = 0;
    bool readable = false, executable = false;
    std::string_view path;  // or [stack], [vdso], ...; empty: none

    bool operator==(const MapsLine&) const = default;
};

/// Takes a number and the character behind it from `line`.
template <class Number>
bool take_maps_number(std::string_view& line, int base, char behind, Number& out) {
    const char* const last = line.data() + line.size();
    const auto [end, error] = std::from_chars(line.data(), last, out, base);
    if (error != std::errc{} || end == last || *end != behind) return false;
    line.remove_prefix(static_cast<std::size_t>(end + 1 - line.data()));
    return true;
}

// "start-end perms offset major:minor inode   path"
inline bool parse_maps_line(std::string_view line, MapsLine& out) {
    unsigned major = 0, minor = 0;
    if (!take_maps_number(line, 16, '-', out.start) || !take_maps_number(line, 16, ' ', out.end) || line.size() < 5)
        return false;
    out.readable = line[0] == 'r';
    out.executable = line[2] == 'x';
    line.remove_prefix(5);
    if (!take_maps_number(line, 16, ' ', out.offset) || !take_maps_number(line, 16, ':', major) ||
        !take_maps_number(line, 16, ' ', minor) || !take_maps_number(line, 10, ' ', out.inode))
        return false;
    out.device = makedev(major, minor);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    out.path = line;
    return true;
}

/// The mappings of the host, in address order. The views live as long as the object, which cannot be copied.
struct ProcMaps {
    explicit ProcMaps(std::string of_proc) : text(of_proc.begin(), of_proc.end()) {
        const std::string_view all(text.data(), text.size());
        MapsLine parsed;
        for (const std::string_view line : parts_of_list(all, '\n'))
            if (parse_maps_line(line, parsed)) lines.push_back(parsed);
    }
    ProcMaps(ProcMaps&&) = default;
    ProcMaps& operator=(ProcMaps&&) = default;

    std::vector<char> text;
    std::vector<MapsLine> lines;
};

/// What lay at a line of memory without a file, if the lines around it are one file's, with room for just that part.
inline std::optional<MapsLine> file_around(const ProcMaps& maps, std::size_t line) {
    constexpr std::size_t most_beside = 64;  // a just-in-time compiler may have thousands in a row
    const std::size_t first_line = line - std::min(line, most_beside);
    const auto lines = std::span(maps.lines).first(std::min(line + most_beside + 1, maps.lines.size()));
    std::size_t below = line, above = line;
    while (below > first_line && lines[below].inode == 0 && lines[below - 1].end == lines[below].start) --below;
    while (above + 1 < lines.size() && lines[above].inode == 0 && lines[above + 1].start == lines[above].end) ++above;
    const MapsLine &first = lines[below], &last = lines[above];
    const bool one_file = lines[line].inode == 0 && first.inode != 0 && first.inode == last.inode &&
                          first.device == last.device && last.offset - first.offset == last.start - first.start;
    if (!one_file) return std::nullopt;
    MapsLine file = first;
    file.start = lines[line].start;
    file.end = lines[line].end;
    file.offset = first.offset + (file.start - first.start);
    return file;
}
inline Result<ProcMaps> read_proc_maps() {
    const std::string path = host_memory_directory() + "/maps";
    auto text = read_small_file(path.c_str());
    if (!text) return Error{path + " cannot be read: is /proc mounted?"};
    return ProcMaps(std::move(*text));
}

}  // namespace flameprobe
