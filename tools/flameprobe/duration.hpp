#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.hpp"
#include "base/number.hpp"

namespace flameprobe {

/// Of a text such as 30s, 5m, 1h or 250ms, in ns; above 0. Nothing if it is none.
inline std::optional<std::uint64_t> duration_ns(std::string_view text) {
    constexpr std::uint64_t second = ns_per_second, minute = 60 * second, hour = 60 * minute;
    const auto ns = quantity_in(text, {{"ms", ns_per_ms}, {"s", second}, {"m", minute}, {"h", hour}, {"", second}},
                                std::uint64_t{86400} * hour);
    return ns && *ns != 0 ? ns : std::nullopt;
}

}  // namespace flameprobe
