#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace flameprobe {

/// Takes an output piece by piece, so that no writer needs to hold it whole.
using ByteSink = std::function<void(std::string_view)>;

/// Bytes that a writer gathers before it hands them on.
inline constexpr std::size_t piece_size = 256 * 1024;

}  // namespace flameprobe
