// Finds what may be open scopes (flameprobe/scope.h) among the words of a stack.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "cpu/kernel_abi.hpp"
#include "flameprobe/scope.h"

namespace flameprobe {

/// Three words that would make an open scope if they lie at `address`.
struct ScopeRecord {
    std::uint64_t address = 0;
    std::uint64_t label = 0;  // an address in the sampled process
    std::uint64_t outer = 0;  // the chain of the scope around it, or 0
    std::uint64_t pc = 0;     // in the function that opened it
    std::uint64_t chain = 0;  // what the scopes inside it have as their `outer`

    bool operator==(const ScopeRecord&) const = default;
};

namespace detail {

/// The CPU's own scan, only if has_vector_scan(); by name for tests and measurements, as the portable one below.
void scan_by_vectors(std::uint64_t address, std::span<const std::byte> bytes, std::vector<ScopeRecord>& out);
bool has_vector_scan();

// A record among the words of a copied stack: what the ways to scan for it have in common.

static_assert(sizeof(flameprobe_scope) == 24);
inline constexpr std::size_t record_size = sizeof(flameprobe_scope), word_size = 8;

inline std::uint64_t word_at(const std::byte* bytes) {
    std::uint64_t word;
    std::memcpy(&word, bytes, sizeof word);
    return word;
}

/// flameprobe_scope_seal_ undone, for a record that was copied away from `address`.
inline std::uint64_t unseal(std::uint64_t address, std::uint64_t tag, std::uint64_t label, std::uint64_t outer) {
    return FLAMEPROBE_SCOPE_KEY ^ std::rotl(address, 32) ^ std::rotl(label, 24) ^ std::rotl(outer, 40) ^ tag;
}

inline bool is_user_address(std::uint64_t value) { return value >> cpu::user_address_bits == 0; }

inline void add_if_sealed(std::uint64_t address, const std::byte* bytes, std::vector<ScopeRecord>& out) {
    const std::uint64_t tag = word_at(bytes), label = word_at(bytes + 8), outer = word_at(bytes + 16);
    const std::uint64_t pc = unseal(address, tag, label, outer);
    // A closed scope has a tag of 0, and one in 2^17 of those would pass for open.
    if (tag == 0 || !is_user_address(pc) || !is_user_address(label)) return;
    out.push_back({address, label, outer, pc, FLAMEPROBE_CHAIN_OF(tag)});
}

/// The part of a stack in which a record can start: guards are aligned as their words are.
struct Range {
    std::uint64_t address = 0;
    const std::byte* bytes = nullptr;
    std::size_t starts = 0;  // words at which a whole record starts
};
inline Range record_range(std::uint64_t address, std::span<const std::byte> bytes) {
    const std::size_t skip = static_cast<std::size_t>(-address % word_size);
    if (bytes.size() < skip + record_size) return {};
    return {address + skip, bytes.data() + skip, (bytes.size() - skip - record_size) / word_size + 1};
}

inline void scan_from(const Range& range, std::size_t first, std::vector<ScopeRecord>& out) {
    for (std::size_t i = first; i < range.starts; ++i) {
        const std::byte* const at = range.bytes + i * word_size;
        const std::uint64_t address = range.address + i * word_size;
        if (is_user_address(unseal(address, word_at(at), word_at(at + 8), word_at(at + 16)))) {
            add_if_sealed(address, at, out);
        }
    }
}

inline void scan_word_by_word(std::uint64_t address, std::span<const std::byte> bytes, std::vector<ScopeRecord>& out) {
    scan_from(record_range(address, bytes), 0, out);
}

}  // namespace detail

/// Every word of `bytes`, which lie at `address`, that is a seal over itself and the two words after it; appended in
/// the order of addresses. One word in 2^17 of anything else passes too: the caller compares the pc with the frames.
inline void scan_for_seals(std::uint64_t address, std::span<const std::byte> bytes, std::vector<ScopeRecord>& out) {
    (detail::has_vector_scan() ? detail::scan_by_vectors : detail::scan_word_by_word)(address, bytes, out);
}

}  // namespace flameprobe
