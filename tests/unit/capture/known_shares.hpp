// Work whose shares are known by construction: four copies of one loop in sections of their own, run 70, 20, 7 and 3
// times as often.
#pragma once

#include <array>
#include <cstdint>

namespace flameprobe::test {

inline constexpr std::array<unsigned, 4> known_shares = {70, 20, 7, 3};

/// One unit is about 20 µs. Uses `cpu_ns` of the calling thread's CPU time or a little more.
void run_known_shares(std::uint64_t cpu_ns);
/// Which of the four a pc is in; -1 if none.
int known_share_of(std::uint64_t pc);

}  // namespace flameprobe::test
