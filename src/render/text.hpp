// Text for people, independent of the locale, in which 1.5 may be written "1,5": clean text (base/printed.hpp) that
// fits into XML and a box of a given width, and numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/printed.hpp"

namespace flameprobe {

/// Appends clean text with the five characters that mean something in XML escaped; right in attributes, too.
void append_xml(std::string& out, std::string_view clean);

/// Columns of a monospace font that clean text takes: East Asian wide characters and emoji two, combining marks none.
std::size_t columns(std::string_view clean);

/// The text if it fits in `room` columns, else as many whole code points as leave room for a final "…". Empty if fewer
/// than three columns of it would be left.
std::string fit_columns(std::string_view clean, std::size_t room);

/// The text, or its beginning and end with "…" between if it has more than `most` bytes.
std::string shorten(std::string_view clean, std::size_t most);

/// A hash that is the same everywhere and always (FNV-1a), for colours and ids.
std::uint64_t stable_hash(std::string_view text, std::uint64_t seed = 0xcbf29ce484222325ULL);

std::string fixed_text(double value, int decimals);     // 12.30
std::string short_decimal(double value, int decimals);  // without trailing zeros: 12.3, 12
std::string count_text(std::uint64_t count);            // 1,234,567
std::string percent_text(double part, double whole);    // "12.34 %"; whole 0 gives "0 %"
std::string round_share(double part, double whole);     // in boxes: "12.3 %"
std::string duration_text(std::uint64_t ns);            // "12.3 s", "4 min 05 s"
std::string bytes_text(std::uint64_t bytes);            // "12.3 MiB"
std::string utc_text(std::uint64_t unix_ns);            // "2025-11-21 01:10:12 UTC"

}  // namespace flameprobe
