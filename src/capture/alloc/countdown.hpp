// When an allocation is sampled: a Poisson process over the bytes that a thread allocates. An allocation of s bytes is
// sampled with the probability 1 - exp(-s / mean), whatever came before. No libm: this runs inside malloc.
#pragma once

#include <cstdint>

#include "base/elementary.hpp"
#include "base/hash.hpp"

namespace flameprobe::alloc {

/// The probability with which an allocation is sampled, to 1e-12 of itself.
inline double chance_of_sample(std::uint64_t size, std::uint64_t mean) noexcept {
    return -exp_minus_1(-static_cast<double>(size) / static_cast<double>(mean));
}

/// How many bytes from here on make the next sample: exponentially distributed, rounded up, so that an allocation of s
/// bytes has exactly the probability above. At least 1, at most 2^62. `state` is the generator's.
inline std::int64_t bytes_to_next(std::uint64_t& state, std::uint64_t mean) noexcept {
    constexpr double most = 4.6e18;
    state += 0x9e3779b97f4a7c15;
    const double uniform = (static_cast<double>(splitmix64(state) >> 11) + 0.5) * 0x1p-53;
    const double bytes = -natural_log(uniform) * static_cast<double>(mean);
    if (bytes >= most) return static_cast<std::int64_t>(most);
    const auto whole = static_cast<std::int64_t>(bytes);
    return static_cast<double>(whole) < bytes ? whole + 1 : whole < 1 ? 1 : whole;
}

/// How many samples one stands for that is taken while `in_use` of `room` cells are: one of so many is taken then. A
/// thread may take a hundred thousand in the moment in which the collector waits for a CPU. They become fewer from a
/// quarter on, so that room is left: sums stay right, only less exact.
constexpr std::uint32_t stands_for(std::uint32_t in_use, std::uint32_t room) noexcept {
    constexpr std::uint32_t doublings = 12;
    const std::uint32_t quarter = room / 4;
    return in_use < quarter ? 1 : 2u << (in_use - quarter) * doublings / (room - quarter);
}

}  // namespace flameprobe::alloc
