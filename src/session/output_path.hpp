#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace flameprobe {

/// What a FLAMEPROBE_OUT template is filled with.
struct PathFacts {
    std::string executable;        // %e: base name
    std::uint32_t pid = 0;         // %p
    std::uint64_t start_unix = 0;  // %t: seconds since 1970
    unsigned dump = 0;             // %n: 0 for the results at exit
    std::string directory;         // relative paths start here
};

/// The path of the results without their ending, absolute. With `number`, a template without %n gets ".N" appended for
/// numbered dumps.
std::string expand_path(std::string_view pattern, const PathFacts& facts, bool number = true);

}  // namespace flameprobe
