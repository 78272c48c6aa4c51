// The separate file that distributions put what they strip from a program into: where it is, and how it is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/binary_text.hpp"
#include "base/crc32.hpp"
#include "base/paths.hpp"

namespace flameprobe {

/// Below a directory such as /usr/lib/debug; `build_id`: raw bytes, two at least.
inline std::string debug_path_by_id(const std::string& directory, std::string_view build_id) {
    const std::string digits = hex_text(build_id);
    return directory + "/.build-id/" + digits.substr(0, 2) + "/" + digits.substr(2) + ".debug";
}

/// What the section .gnu_debuglink says.
struct DebugLink {
    std::string name;  // no path; empty: there is none
    std::uint32_t crc = 0;

    static DebugLink in(std::string_view section) {
        DebugLink link;
        const std::size_t end = section.find('\0'), at = (end + 4) / 4 * 4;
        if (end == section.npos || at + sizeof crc > section.size() || section.find('/') < end) return link;
        link.name = section.substr(0, end);
        std::memcpy(&link.crc, section.data() + at, sizeof link.crc);
        return link;
    }

    /// Beside the file at `path`, in .debug beside it, below the directories.
    std::vector<std::string> places(const std::string& path, const std::vector<std::string>& directories) const {
        if (name.empty()) return {};
        const std::string beside(directory_of(path));
        std::vector<std::string> places = {beside + name, beside + ".debug/" + name};
        for (const std::string& directory : directories) places.push_back(directory + beside + name);
        std::erase(places, path);
        return places;
    }

    /// Whether it is the file that `read(offset, out)` copies from, which gives how many bytes there were. In pieces,
    /// so that a big file does not stay on the heap.
    template <class Read>
    bool leads_to(const Read& read) const {
        std::vector<std::byte> piece(64 * 1024);
        std::uint32_t sum = 0;
        for (std::uint64_t at = 0;; at += piece.size()) {
            const std::size_t got = read(at, std::span(piece));
            sum = crc32_of(std::span(piece).first(got), sum);
            if (got < piece.size()) return sum == crc;
        }
    }
};

}  // namespace flameprobe
