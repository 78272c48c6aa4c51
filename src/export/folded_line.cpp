#include <array>
#include <limits>

#include "base/number.hpp"
#include "export/folded_reader.hpp"
#include "export/text.hpp"

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

struct Named {
    std::string_view name;
    FrameKind kind;
};

Named split_kind(std::string_view text) {
    constexpr std::array notes = {
        "[truncated]", "[lost]",      "[kernel, not permitted]", "[throttled]",        "[overflow]",
        "[kernel]",    "[preempted]", "[not sampled]",           "[wait not sampled]", "[deadlock]"};
    for (const auto& [kind, suffix] : kind_suffixes)
        if (text.size() > suffix.size() && text.ends_with(suffix))
            return {text.substr(0, text.size() - suffix.size()), kind};
    if ((text.starts_with("[kernel: ") || text.starts_with("[held by ")) && text.ends_with("]"))
        return {text, FrameKind::note};
    if (text.front() == '[')
        for (const std::string_view note : notes)
            if (text == note) return {text, FrameKind::note};
    return {text, FrameKind::user};
}

std::uint64_t key_of(StringId name, FrameKind kind) {
    return static_cast<std::uint64_t>(name) << 8 | static_cast<std::uint64_t>(kind);
}

}  // namespace

FoldedLine parse_folded_line(std::string_view line, bool two_counts) {
    FoldedLine parsed;
    std::string_view rest = trim_end(line);
    if (!take_count(rest, parsed.count, true)) return parsed;
    parsed.below_zero = line.find('-', rest.size()) != line.npos;
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

FrameNames::FrameNames(NamedProfile& profile) : profile_(profile) {
    const auto key = [&](FunctionId id) { return key_of(profile.functions[id].name, profile.functions[id].kind); };
    for (FunctionId id = 0; id < profile.functions.size(); ++id) functions_.try_emplace(key(id), id);
    for (FrameId id = 0; id < profile.frames.size(); ++id) {
        const NamedFrame& frame = profile.frames[id];
        const Function& function = profile.functions[frame.function];
        if (frame.line == 0 && frame.location == NamedFrame::no_location)
            frame_of(profile.strings.view(function.name), function.kind, id);
    }
}

FrameId FrameNames::frame_of(std::string_view name, FrameKind kind, FrameId next) {
    return frames_.find_or_add(mix(hash_text(name), static_cast<std::uint64_t>(kind)), next, [&](FrameId known) {
        if (known >= profile_.frames.size()) return false;  // there was no memory for it
        const Function& function = profile_.functions[profile_.frames[known].function];
        return function.kind == kind && profile_.strings.view(function.name) == name;
    });
}

FrameId FrameNames::intern(std::string_view text) {
    const auto [name, kind] = split_kind(text);
    const auto new_frame = static_cast<FrameId>(profile_.frames.size());
    const FrameId frame = frame_of(name, kind, new_frame);
    if (frame != new_frame) return frame;
    const StringId string = profile_.strings.intern(name);
    const auto next = static_cast<FunctionId>(profile_.functions.size());
    const FunctionId function = functions_.try_emplace(key_of(string, kind), next).first->second;
    if (function == next) profile_.functions.push_back({.name = string, .kind = kind});
    profile_.frames.push_back({function, 0, NamedFrame::no_location});
    return frame;
}

}  // namespace flameprobe
