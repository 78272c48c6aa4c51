// Folded text to a profile and back, for tests.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "export/folded_reader.hpp"
#include "export/output.hpp"

namespace flameprobe {

struct Read {
    NamedProfile profile;
    std::string error;  // empty: read
};

inline Read read_folded(std::string_view text, std::size_t piece = std::string_view::npos) {
    Read read;
    FoldedReader reader(read.profile, "in.folded");
    for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(std::min(piece, rest.size())))
        reader.feed(rest.substr(0, piece));
    if (const auto result = reader.finish(); !result) read.error = result.error().message;
    return read;
}

inline std::string folded(const NamedProfile& profile) {
    std::string text;
    write_folded(profile, [&text](std::string_view piece) { text += piece; });
    return text;
}

}  // namespace flameprobe
