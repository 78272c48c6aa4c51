// Sections and embedded files that are stored compressed.
#pragma once

#include <string>

#include "symbolize/file_bytes.hpp"

namespace flameprobe {

/// An SHF_COMPRESSED section (gABI, "Section compression"): zlib or zstd. Empty on any error. The sizes that headers
/// announce are not trusted: memory grows with the bytes that are really decompressed.
std::string decompress_section(Bytes section);
/// An .xz file, as .gnu_debugdata holds. Empty on any error.
std::string decompress_xz(Bytes file);

}  // namespace flameprobe
