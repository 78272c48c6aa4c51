#include "collect/mapped_memory.hpp"

#include <algorithm>
#include <iterator>

namespace flameprobe {

std::map<std::uint64_t, MappedMemory::Piece> MappedMemory::cut(std::uint64_t at, std::uint64_t end,
                                                               std::uint64_t time_ns) {
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

std::vector<MappedMemory::Part> MappedMemory::unmapped(std::uint64_t at, std::uint64_t bytes, std::uint64_t time_ns) {
    std::vector<Part> gone;
    for (const auto& [start, piece] : cut(at, at + bytes, time_ns)) gone.push_back({piece.id, piece.end - start});
    return gone;
}

std::vector<MappedMemory::Part> MappedMemory::mapped(std::uint64_t at, std::uint64_t bytes, std::uint64_t id,
                                                     std::uint64_t time_ns) {
    auto gone = unmapped(at, bytes, time_ns);
    pieces_[at] = {at + bytes, id, time_ns};
    return gone;
}

std::vector<MappedMemory::Part> MappedMemory::moved(std::uint64_t from, std::uint64_t bytes, std::uint64_t to,
                                                    std::uint64_t time_ns) {
    const auto moving = cut(from, from + bytes, time_ns);
    auto gone = unmapped(to, bytes, time_ns);
    for (const auto& [start, piece] : moving) pieces_[start - from + to] = {piece.end - from + to, piece.id, time_ns};
    return gone;
}

}  // namespace flameprobe
