// What `flameprobe top` shows, as lines of text.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

struct TopOptions {
    std::size_t columns = 80, rows = 24;
    bool by_total = false;    // order of functions: samples of their own, or with what they call
    std::size_t first = 0;    // function that the list begins with
    std::string window = {};  // the stretch of time: "last 10 s"
    bool running = true;
};

enum class LineKind { title, heading, text };

struct TopLine {
    LineKind kind = LineKind::text;
    std::string text;  // fits into the columns; clean of control characters
};

/// At most `rows` lines: the threads and scopes with the most samples, then functions in the remaining lines.
std::vector<TopLine> top_view(const NamedProfile& profile, const TopOptions& options);

}  // namespace flameprobe
