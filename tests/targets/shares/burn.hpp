// Work whose time is its number of iterations: a chain of dependent multiplications, so that neither the branch
// predictor nor the cache has a say. Loops are to be aligned (-falign-loops=64).
#pragma once

#include <cstdint>

namespace shares {

inline constexpr unsigned iterations_per_unit = 400;

/// One unit is some 0.5 microseconds. Inlined, so that the time is its caller's.
[[gnu::always_inline]] inline void burn(unsigned units) {
    std::uint64_t value = units;
    for (std::uint64_t i = 0; i < std::uint64_t{units} * iterations_per_unit; ++i) {
        value = value * 6364136223846793005ULL + 1442695040888963407ULL;
        asm volatile("" : "+r"(value));
    }
}

}  // namespace shares
