// Work whose shares are known by construction: four copies of one loop in sections of their own, run 70, 20, 7 and 3
// times as often.
#pragma once

#include <array>
#include <cstdint>
#include <random>

namespace flameprobe::test {

inline constexpr std::array<unsigned, 4> known_shares = {70, 20, 7, 3};

/// A round of 100 units, of about 20 µs each, in an order that differs every time: in a fixed one its length, about two
/// milliseconds, would be in step with the samples, which would fall into the same functions again and again.
class KnownShares {
public:
    KnownShares();
    void round();

private:
    using Function = void (*)(unsigned);
    std::array<Function, 100> units_{};
    std::mt19937 random_{1};
};

/// Uses `cpu_ns` of the calling thread's CPU time or a little more.
void run_known_shares(std::uint64_t cpu_ns);
/// Which of the four a pc is in; -1 if none.
int known_share_of(std::uint64_t pc);

}  // namespace flameprobe::test
