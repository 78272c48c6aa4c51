#include "symbolize/stand_in.hpp"

#include <cinttypes>
#include <cstdio>

#include "base/base_name.hpp"

namespace flameprobe {

namespace {

constexpr std::string_view unknown = "[unknown in ";

}  // namespace

std::string unknown_in(std::string_view path) { return std::string(unknown).append(base_name(path)).append("]"); }

std::string function_at(std::string_view path, std::uint64_t start) {
    char offset[24];
    std::snprintf(offset, sizeof offset, "+0x%" PRIx64 "]", start);
    return std::string("[").append(base_name(path)).append(offset);
}

bool is_stand_in(std::string_view name, std::string_view path) {
    if (name.starts_with(unknown)) return true;
    const std::string_view file = base_name(path);
    return name.starts_with('[') && name.substr(1).starts_with(file) && name.substr(1 + file.size()).starts_with("+0x");
}

}  // namespace flameprobe
