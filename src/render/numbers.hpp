// Numbers as text for people, independent of the locale.
#pragma once

#include <cstdint>
#include <string>

namespace flameprobe {

std::string fixed_text(double value, int decimals);     // 12.30
std::string short_decimal(double value, int decimals);  // without trailing zeros: 12.3, 12
std::string count_text(std::uint64_t count);            // 1,234,567
std::string percent_text(double part, double whole);    // "12.34 %"; whole 0 gives "0 %"
std::string round_share(double part, double whole);     // in boxes: "12.3 %"
std::string duration_text(std::uint64_t ns);            // "12.3 s", "4 min 05 s"
std::string bytes_text(std::uint64_t bytes);            // "12.3 MiB"
std::string utc_text(std::uint64_t unix_ns);            // "2025-11-21 01:10:12 UTC"

}  // namespace flameprobe
