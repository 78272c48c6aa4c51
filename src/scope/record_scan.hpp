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
    if (!is_user_address(pc)) return;
    // A closed scope has a tag of 0, and one in 2^17 of those would pass for open.
    if (tag == 0 || !is_user_address(label)) return;
    out.push_back({address, label, outer, pc, FLAMEPROBE_CHAIN_OF(tag)});
}

}  // namespace detail

/// Every word of `bytes`, which lie at `address`, that is a seal over itself and the two words after it; appended in
/// the order of addresses. One word in 2^17 of anything else passes too: the caller compares the pc with the frames.
inline void scan_for_seals(std::uint64_t address, std::span<const std::byte> bytes, std::vector<ScopeRecord>& out) {
    using namespace detail;
    // Guards are aligned as their words are.
    for (std::size_t at = -address % word_size; at + record_size <= bytes.size(); at += word_size)
        add_if_sealed(address + at, bytes.data() + at, out);
}

}  // namespace flameprobe
