#pragma once

#include <functional>
#include <string_view>

namespace flameprobe {

/// Takes an output piece by piece, so that no writer needs to hold it whole.
using ByteSink = std::function<void(std::string_view)>;

}  // namespace flameprobe
