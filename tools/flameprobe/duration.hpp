#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/number.hpp"
#include "base/result.hpp"

namespace flameprobe {

/// Of a text such as 30s, 5m, 1h or 250ms, in ns; above 0.
inline Result<std::uint64_t> duration_ns(std::string_view text) {
    constexpr std::uint64_t second = ns_per_second, minute = 60 * second, hour = 60 * minute;
    const auto ns = quantity_in(text, {{"ms", ns_per_ms}, {"s", second}, {"m", minute}, {"h", hour}, {"", second}},
                                std::uint64_t{86400} * hour);
    if (ns && *ns != 0) return *ns;
    return Error{"'" + std::string(text) + "' is not accepted: it takes a time such as 30s, 5m, 1h"};
}

}  // namespace flameprobe
