#pragma once

#include <string_view>

namespace flameprobe {

/// The part of a path after its last '/': all of it if there is none, empty if it ends in one.
constexpr std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace flameprobe
