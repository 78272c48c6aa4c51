#pragma once

#include <cstdint>

namespace flameprobe {

/// Location::address of a note whose text is its mapping's path. Readers from before there was one show `[note 5]`.
inline constexpr std::uint64_t named_note = 5;

}  // namespace flameprobe
