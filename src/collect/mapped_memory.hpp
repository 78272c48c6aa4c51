// Of allocations by mmap(2) that were sampled: where they lie, as far as they are alive. A part of one may be unmapped,
// mapped over, or moved. Code that is mapped: unwind/code_map.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
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
    std::vector<Part> mapped(std::uint64_t at, std::uint64_t bytes, std::uint64_t id, std::uint64_t time_ns) {
        auto gone = unmapped(at, bytes, time_ns);
        pieces_[at] = {at + bytes, id, time_ns};
        return gone;
    }
    std::vector<Part> unmapped(std::uint64_t at, std::uint64_t bytes, std::uint64_t time_ns) {
        std::vector<Part> gone;
        for (const auto& [start, piece] : cut(at, at + bytes, time_ns)) gone.push_back({piece.id, piece.end - start});
        return gone;
    }
    std::vector<Part> moved(std::uint64_t from, std::uint64_t bytes, std::uint64_t to, std::uint64_t time_ns) {
        const auto moving = cut(from, from + bytes, time_ns);
        auto gone = unmapped(to, bytes, time_ns);
        for (const auto& [start, piece] : moving)
            pieces_[start - from + to] = {piece.end - from + to, piece.id, time_ns};
        return gone;
    }

private:
    struct Piece {
        std::uint64_t end, id, since_ns;
    };
    /// The pieces that lie in that range, without what reaches beyond it.
    std::map<std::uint64_t, Piece> cut(std::uint64_t at, std::uint64_t end, std::uint64_t time_ns) {
        std::map<std::uint64_t, Piece> inside;
        auto next = pieces_.lower_bound(at);
        if (next != pieces_.begin() && std::prev(next)->second.end > at) --next;
        while (next != pieces_.end() && next->first < end) {
            const auto [start, piece] = *next;
            if (piece.since_ns > time_ns) {
                ++next;
                continue;
            }
            next = pieces_.erase(next);
            if (start < at) pieces_[start] = {at, piece.id, piece.since_ns};
            if (piece.end > end) pieces_[end] = piece;
            inside[std::max(start, at)] = {std::min(piece.end, end), piece.id, piece.since_ns};
        }
        return inside;
    }

    std::map<std::uint64_t, Piece> pieces_;  // by where they begin; no two overlap
};

}  // namespace flameprobe
