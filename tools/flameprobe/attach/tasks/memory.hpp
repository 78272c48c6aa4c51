// The memory of the process that is watched, many places of it at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/proc_maps.hpp"
#include "base/self_memory.hpp"

namespace flameprobe::async {

constexpr std::uint64_t word = sizeof(std::uint64_t);

inline bool read_whole(std::uint64_t address, void* to, std::size_t size) {
    return read_self(address, {static_cast<std::byte*>(to), size}) == size;
}

inline std::optional<std::uint64_t> read_word(std::uint64_t address) {
    std::uint64_t value = 0;
    return read_whole(address, &value, sizeof value) ? std::optional(value) : std::nullopt;
}

/// `count` words, or none.
inline std::vector<std::uint64_t> read_words(std::uint64_t address, std::size_t count) {
    std::vector<std::uint64_t> words(count);
    if (!read_whole(address, words.data(), count * sizeof(std::uint64_t))) words.clear();
    return words;
}

struct Place {
    std::uint64_t address = 0;
    std::size_t size = 0;
};

/// Reads all `places` into `bytes`, one behind the other, with as few calls as the kernel permits. Gives how many were
/// read whole from the front: the one after them is not readable (process_vm_readv(2), partial transfers).
std::size_t read_places(std::span<const Place> places, std::vector<std::byte>& bytes);

/// Which memory may hold what. The maps as they were when it was made.
class Memory {
public:
    struct Range {
        std::uint64_t begin = 0, end = 0, offset = 0;
        bool writable = false, executable = false, readable = false;
        std::string path;
    };
    Memory();

    const std::vector<Range>& ranges() const { return ranges_; }
    const Range* find(std::uint64_t address) const {
        const auto at = std::ranges::upper_bound(ranges_, address, {}, &Range::end);
        return at != ranges_.end() && at->begin <= address ? &*at : nullptr;
    }
    bool is_writable(std::uint64_t address) const {
        const Range* const range = find(address);
        return range != nullptr && range->writable;
    }

private:
    std::vector<Range> ranges_;
};

}  // namespace flameprobe::async
