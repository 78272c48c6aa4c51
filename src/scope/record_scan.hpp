// Finds what may be open scopes (flameprobe/scope.h) among the words of a stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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

/// Every word of `bytes`, which lie at `address`, that is a seal over itself and the two words after it; appended in
/// the order of addresses. One word in 2^17 of anything else passes too: the caller compares the pc with the frames.
void scan_for_seals(std::uint64_t address, std::span<const std::byte> bytes, std::vector<ScopeRecord>& out);

namespace detail {
/// The portable scan, and the CPU's own (only if has_vector_scan()); each by name for tests and measurements.
void scan_word_by_word(std::uint64_t address, std::span<const std::byte> bytes, std::vector<ScopeRecord>& out);
void scan_by_vectors(std::uint64_t address, std::span<const std::byte> bytes, std::vector<ScopeRecord>& out);
bool has_vector_scan();
}  // namespace detail

}  // namespace flameprobe
