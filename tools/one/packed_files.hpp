#pragma once

#include <array>
#include <string_view>

namespace flameprobe {

/// A file that this program has in itself.
struct PackedFile {
    std::string_view name, bytes;
};

const std::array<PackedFile, 3>& packed_files();

}  // namespace flameprobe
