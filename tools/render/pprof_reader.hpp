// A pprof profile (github.com/google/pprof, profile.proto), as folded stacks.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "outside/byte_stream.hpp"

namespace flameprobe {

/// Whether the bytes, no longer compressed, begin as a pprof profile does.
bool is_pprof(std::string_view head);

struct FoldedPprof {
    std::string counted;       // "samples", "inuse_space in bytes"
    std::size_t negative = 0;  // samples below zero, which folded text cannot have: of a difference
};

/// Writes the stacks with their counts of samples, or where there are none with the value that pprof shows by default.
/// The Error is a reason without the file.
Result<FoldedPprof> fold_pprof(std::string_view bytes, const ByteSink& folded);

}  // namespace flameprobe
