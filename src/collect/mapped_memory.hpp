// Where the host's sampled mappings lie, as far as they are alive: a part of one may be unmapped, mapped over, or
// moved.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace flameprobe {

class MappedMemory {
public:
    /// Of the mapping with that id.
    struct Part {
        std::uint64_t id, bytes;
        bool operator==(const Part&) const = default;
    };

    /// All take whole pages. Each gives what is gone by it. What was mapped after `time_ns` stays: a thread may tell
    /// late that it has unmapped what was there before.
    std::vector<Part> mapped(std::uint64_t at, std::uint64_t bytes, std::uint64_t id, std::uint64_t time_ns);
    std::vector<Part> unmapped(std::uint64_t at, std::uint64_t bytes, std::uint64_t time_ns);
    std::vector<Part> moved(std::uint64_t from, std::uint64_t bytes, std::uint64_t to, std::uint64_t time_ns);

private:
    struct Piece {
        std::uint64_t end, id, since_ns;
    };
    /// The pieces that lie in that range, without what reaches beyond it.
    std::map<std::uint64_t, Piece> cut(std::uint64_t at, std::uint64_t end, std::uint64_t time_ns);

    std::map<std::uint64_t, Piece> pieces_;  // by where they begin; no two overlap
};

}  // namespace flameprobe
