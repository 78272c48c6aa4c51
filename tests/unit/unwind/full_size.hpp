// Whether `tools/test all` runs these tests, which has time for more rounds.
#pragma once

#include <cstdlib>
#include <string_view>

namespace flameprobe::testing {

inline bool full_size() {
    const char* const size = std::getenv("FLAMEPROBE_TESTS");
    return size != nullptr && std::string_view(size) == "all";
}

}  // namespace flameprobe::testing
