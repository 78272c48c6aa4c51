// Where two stacks of one thread meet, and whether what they share there shows that the thread has not left those
// frames in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "unwind/unwinder.hpp"

namespace flameprobe {

/// How much two stacks must share. Different call paths may agree in a frame by chance, the more often the fewer calls
/// its function makes: with two calls each, sixteen frames in a row agree once in 65,536. A copy holds few frames of
/// kilobytes, but their addresses agree by chance even less often. A frame that follows from those further out tells
/// nothing: a recursion of 448 frames looks the same for each of its callers. So only the others count, and only those
/// near the outermost.
struct Enough {
    std::size_t links;
    std::size_t large_links;  // where they span `bytes`
    std::uint64_t bytes;
};
inline constexpr Enough alone{16, 4, 16u << 10};
inline constexpr Enough between_two_alike{2, 2, 0};

/// The first `count` frames of a stack, leaf first. A link is a frame's CFA and the return address that is stored below
/// it, so the last frame has none.
struct KnownFrames {
    const std::vector<CodeFrame>& frames;
    std::size_t count;

    std::size_t links() const { return count == 0 ? 0 : count - 1; }
};

/// The outermost link that both have, as the number of links up to it; 0 and 0 if they do not share enough from there
/// on.
struct Junction {
    std::size_t in_first = 0, in_second = 0;
    explicit operator bool() const { return in_first != 0; }
};

Junction junction(const KnownFrames& first, const KnownFrames& second, const Enough& enough);

}  // namespace flameprobe
