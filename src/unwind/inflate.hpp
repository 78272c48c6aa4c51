// What zlib has compressed (RFC 1950, 1951), for the one section that may be: Go's linker compresses .debug_frame, and
// so do Debian's packages of debug information. zlib itself would be a library that the host may have its own of.
#pragma once

#include <cstddef>
#include <span>

namespace flameprobe {

/// Fills `out` with what `zlib` stands for. False: that is damaged, or of another size; the checksum at its end is not
/// looked at. Never writes beyond `out`.
bool inflate(std::span<const std::byte> zlib, std::span<std::byte> out);

}  // namespace flameprobe
