#include "export/text.hpp"

#include <algorithm>

#include "base/number.hpp"
#include "base/paths.hpp"
#include "base/printed.hpp"

namespace flameprobe {

namespace {

/// Tools that look for a second column of counts would read `operator 12` as 12 samples of `operator`.
void hide_trailing_number(std::string& name) {
    std::size_t at = name.size();
    while (at > 0 && is_digit(name[at - 1])) --at;
    if (at > 0 && name[at - 1] == '.') {
        std::size_t whole = at - 1;
        while (whole > 0 && is_digit(name[whole - 1])) --whole;
        if (whole < at - 1) at = whole;
    }
    if (at < name.size() && at > 0 && name[at - 1] == ' ') name[at - 1] = '_';
}

/// `f _[k]` would be read as the kernel's `f `, and written again without the space.
void close_up_suffix(std::string& name) {
    for (const auto& [kind, suffix] : kind_suffixes) {
        if (!name.ends_with(suffix)) continue;
        const std::size_t size = name.size() - suffix.size();
        const std::size_t kept = std::string_view(name).substr(0, size).find_last_not_of(' ') + 1;  // npos + 1 is 0
        name.erase(kept, size - kept);
    }
}

/// A scope's, in square brackets once.
void bracket(std::string& name, FrameKind kind) {
    if (kind == FrameKind::scope && !(name.front() == '[' && name.back() == ']')) name = '[' + name + ']';
}

}  // namespace

std::string one_line(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const CodePoint point = first_code_point(text);
        const std::string_view shown = is_shown(point.value) ? text.substr(0, point.size) : " ";
        out += point.is_valid ? shown : replacement_character;
        text.remove_prefix(point.size);
    }
    return out;
}

std::string plain_name(std::string_view text, FrameKind kind) {
    std::string name = one_line(text);
    if (name.empty()) name = "[no name]";
    // Tools add functions up by their names.
    if (kind == FrameKind::held) name += "_[w]";
    bracket(name, kind);
    return name;
}

std::string folded_name(std::string_view text, FrameKind kind, bool may_end_stack) {
    std::string name = one_line(text);
    std::ranges::replace(name, ';', ':');  // as stackcollapse-perf.pl does
    while (!name.empty() && name.back() == ' ') name.pop_back();
    name.erase(0, name.find_first_not_of(' '));
    if (name.empty()) name = "[no name]";
    if (name.starts_with("# ")) name[1] = '_';  // inferno takes such a line for a comment
    for (const auto& [marked, suffix] : kind_suffixes)
        if (kind == marked) name += suffix;
    bracket(name, kind);
    if (may_end_stack) hide_trailing_number(name);
    close_up_suffix(name);
    return name;
}

std::string display_name(const NamedProfile& profile, FunctionId id) {
    const Function& function = profile.functions[id];
    return folded_name(profile.strings.view(function.name), function.kind);
}

std::string module_name(const NamedProfile& profile, FunctionId id) {
    return one_line(base_name(profile.strings.view(profile.functions[id].module)));
}

}  // namespace flameprobe
