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
    const auto ns = quantity_in(
        text, {{"ms", ns_per_ms}, {"s", ns_per_second}, {"m", ns_per_minute}, {"h", ns_per_hour}, {"", ns_per_second}},
        3600 * ns_per_day);
    if (ns && *ns != 0) return *ns;
    return Error{"'" + std::string(text) + "' is not accepted: it takes a time such as 30s, 5m, 1h"};
}

}  // namespace flameprobe
