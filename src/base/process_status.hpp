#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

namespace flameprobe {

/// The number behind `key` in the text of a /proc/PID/status or /proc/PID/task/TID/status (proc(5)), in its unit there;
/// nothing if it has no such line. Signal masks are to the `base` 16.
inline std::optional<std::uint64_t> status_number(const std::string& status, const std::string& key, int base = 10) {
    const std::size_t at = status.find("\n" + key + ":");
    if (at == std::string::npos) return std::nullopt;
    return std::strtoull(status.c_str() + at + key.size() + 2, nullptr, base);
}

}  // namespace flameprobe
