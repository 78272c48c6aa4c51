// Makes clean text (base/printed.hpp) fit for XML and for a box of a given width. Independent of the locale: the host
// may have set one in which 1.5 is written "1,5".
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

}  // namespace flameprobe
