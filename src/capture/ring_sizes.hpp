// How large the threads' rings are.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "base/clock.hpp"

namespace flameprobe {

/// The data bytes of a ring, and of the stack that each sample copies: less for each the more threads there are, where
/// the kernel permits no more, and in a brief thread's first ring.
///
/// The first size has room for 40 ms of samples, as long as there are few threads; the others for those between two
/// drains. The last one is for as many threads as there can be.
class RingSizes {
public:
    struct Size {
        std::size_t bytes;
        std::uint32_t stack;
    };
    static constexpr std::size_t steps = 5;

    RingSizes() = default;
    /// `stack`: of a sample, where there are few threads.
    RingSizes(std::uint64_t frequency, std::uint32_t stack) : frequency_(std::max<std::uint64_t>(1, frequency)) {
        constexpr std::uint32_t kib = 1024;
        const std::uint32_t stacks[steps] = {stack, 16 * kib, 8 * kib, 4 * kib, 2 * kib};
        for (std::size_t step = 0; step < steps; ++step) {
            sizes_[step].stack = std::min(stacks[step], stack);
            sizes_[step].bytes = bytes_for(step + 1 == steps ? 3 : samples_between_drains(0), sizes_[step].stack);
        }
        const std::uint64_t wanted = frequency_ * (stack + for_one_sample) / 25;
        sizes_[0].bytes =
            std::max(sizes_[0].bytes, std::clamp<std::size_t>(std::bit_floor(wanted), 128 * kib, 1024 * kib));
    }

    /// The step to begin with where there are so many threads; the kernel may refuse it for lack of memory that may be
    /// locked, and the next ones.
    std::size_t first(std::size_t threads) const {
        constexpr std::size_t most[steps - 2] = {16, 64, 256};
        std::size_t step = 0;
        while (step < std::size(most) && threads > most[step]) ++step;
        return std::max(permitted_, step);
    }
    void refused(std::size_t step) { permitted_ = std::min(step + 1, steps - 1); }
    /// Where the last of so many threads were refused every size: the next smaller one is first for all. False: none
    /// was refused every size, or all have the smallest.
    bool plan_smaller(std::size_t threads) {
        if (permitted_ + 1 < steps || planned_ + 1 == steps) return false;
        permitted_ = planned_;
        permitted_ = planned_ = first(threads) + 1;
        return true;
    }
    /// Most of a brief thread's ring would never be used, and the kernel fills it with zeros.
    Size of(std::size_t step, std::size_t threads, bool brief, bool one_sample) const {
        Size size = sizes_[step];
        const std::uint64_t samples = one_sample ? 1 : samples_between_drains(threads);
        if (brief || step != 0) size.bytes = std::min(size.bytes, bytes_for(samples, size.stack));
        return size;
    }
    /// Nanoseconds in which a thread that runs fills its ring.
    std::uint64_t fill_ns(std::size_t threads, bool brief) const {
        const Size size = of(first(threads), threads, brief, false);
        return size.bytes / (size.stack + 512) * ns_per_second / frequency_;
    }
    /// A power of two pages, as perf asks for.
    static std::size_t bytes_for(std::uint64_t samples, std::uint32_t stack) {
        return std::bit_ceil(samples * (stack + for_one_sample));
    }

private:
    static constexpr std::size_t for_one_sample = 1024;  // beside the stack: registers, kernel chain, header

    // What a thread gives before the collector has its turn again, in four milliseconds. At the highest frequencies
    // less, and less where there are many threads, whose rings would take hundreds of MiB.
    std::uint64_t samples_between_drains(std::size_t threads) const {
        return std::clamp<std::uint64_t>((frequency_ + 249) / 250, 3, threads < 192 ? 8 : 4);
    }

    std::uint64_t frequency_ = 1;
    std::array<Size, steps> sizes_{};
    std::size_t permitted_ = 0;  // the first step that the kernel has not refused
    std::size_t planned_ = 0;    // and that is used though it is not known to be refused
};

}  // namespace flameprobe
