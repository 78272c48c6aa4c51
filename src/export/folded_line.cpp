#include "export/folded_line.hpp"

#include <limits>

#include "base/number.hpp"

namespace flameprobe {

namespace {

constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }
std::string_view trim_end(std::string_view text) {
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

/// [-]digits[.digits], as flamegraph.pl has it; half rounds up.
bool parse_count(std::string_view text, std::uint64_t& count) {
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    const bool negative = text.starts_with('-');
    if (negative) text.remove_prefix(1);
    std::size_t at = 0;
    std::uint64_t value = 0;
    for (; at < text.size() && is_digit(text[at]); ++at) {
        const auto digit = static_cast<std::uint64_t>(text[at] - '0');
        value = value > (most - digit) / 10 ? most : value * 10 + digit;
    }
    if (at == 0) return false;
    if (at < text.size()) {
        if (text[at] != '.') return false;
        const auto fraction = text.substr(at + 1);
        for (const char c : fraction)
            if (!is_digit(c)) return false;
        if (!fraction.empty() && fraction[0] >= '5' && value != most) ++value;
    }
    count = negative ? 0 : value;
    return true;
}

/// Takes the last column off `text` if it is a count. A count before the last is never negative: `n -1 5` is a name.
bool take_count(std::string_view& text, std::uint64_t& count, bool may_be_negative) {
    std::size_t begin = text.size();
    while (begin > 0 && !is_blank(text[begin - 1])) {
        if (text[begin - 1] == ';') return false;  // keeps hostile lines linear: names may be long
        --begin;
    }
    if (begin == 0 || begin == text.size() || (text[begin] == '-' && !may_be_negative)) return false;
    if (!parse_count(text.substr(begin), count)) return false;
    text = trim_end(text.substr(0, begin));
    return true;
}

}  // namespace

FoldedLine parse_folded_line(std::string_view line, bool two_counts) {
    FoldedLine parsed;
    std::string_view rest = trim_end(line);
    if (!take_count(rest, parsed.count, true)) return parsed;
    std::uint64_t before = 0;
    if (two_counts) take_count(rest, before, false);
    parsed.stack = rest;
    // A stack of separators only has no frame.
    parsed.well_formed = rest.find_first_not_of(';') != std::string_view::npos;
    return parsed;
}

bool has_two_counts(std::string_view line) {
    std::string_view rest = trim_end(line);
    std::uint64_t count = 0;
    return take_count(rest, count, true) && take_count(rest, count, false) && !rest.empty();
}

}  // namespace flameprobe
