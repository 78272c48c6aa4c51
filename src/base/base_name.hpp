#pragma once

#include <string_view>

namespace flameprobe {

/// What comes after a path's last '/', all of it without one, nothing if it ends in one.
constexpr std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace flameprobe
