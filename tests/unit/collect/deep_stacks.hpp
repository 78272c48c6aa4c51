// Stacks for tests, each of them one word.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collect/deep_stacks.hpp"

namespace flameprobe {

inline constexpr std::uint64_t stack_top = 0x7000'0000;
inline constexpr ThreadId deep_thread = 3;

/// A stack, leaf first, of `calls`, root first: each letter is a frame's address.
inline std::vector<CodeFrame> stack(const std::string& calls, std::uint64_t frame_size = 512,
                                    std::uint64_t top = stack_top) {
    std::vector<CodeFrame> frames;
    std::uint64_t cfa = top;
    for (const char call : calls) {
        frames.insert(frames.begin(), {static_cast<std::uint64_t>(call), cfa, 0});
        cfa -= frame_size;
    }
    return frames;
}

/// The innermost `count` frames, as of a walk that ends with its copy: the last frame's CFA is not known yet.
inline std::vector<CodeFrame> innermost(std::vector<CodeFrame> frames, std::size_t count) {
    frames.resize(count);
    if (count > 1) frames.back().cfa = frames[count - 2].cfa;
    return frames;
}

}  // namespace flameprobe
