#include "export/frame_names.hpp"

#include <array>

#include "base/hash.hpp"

namespace flameprobe {

namespace {

struct Named {
    std::string_view name;
    FrameKind kind;
};

Named split_kind(std::string_view text) {
    constexpr std::array notes = {"[truncated]", "[lost]",     "[kernel, not permitted]",
                                  "[throttled]", "[overflow]", "[kernel]"};
    if (text.size() > 4 && text.ends_with("_[k]")) return {text.substr(0, text.size() - 4), FrameKind::kernel};
    if (text.size() > 4 && text.ends_with("_[i]")) return {text.substr(0, text.size() - 4), FrameKind::inlined};
    if (text.starts_with("[kernel: ") && text.ends_with("]")) return {text, FrameKind::note};
    if (text.front() == '[')
        for (const std::string_view note : notes)
            if (text == note) return {text, FrameKind::note};
    return {text, FrameKind::user};
}

std::uint64_t hash_name(std::string_view name, FrameKind kind) {
    return mix(hash_text(name), static_cast<std::uint64_t>(kind));
}

std::uint64_t function_key(StringId name, FrameKind kind) {
    return static_cast<std::uint64_t>(name) << 8 | static_cast<std::uint64_t>(kind);
}

}  // namespace

FrameNames::FrameNames(NamedProfile& profile) : profile_(profile) {
    for (FunctionId id = 0; id < profile.functions.size(); ++id) {
        const Function& function = profile.functions[id];
        functions_.try_emplace(function_key(function.name, function.kind), id);
    }
    for (FrameId id = 0; id < profile.frames.size(); ++id) {
        const NamedFrame& frame = profile.frames[id];
        if (frame.line == 0 && frame.location == NamedFrame::no_location)
            ids_.find_or_add(hash_name(profile.name(id), profile.functions[frame.function].kind), id,
                             [](FrameId) { return false; });
    }
}

FrameId FrameNames::intern(std::string_view text) {
    const auto [name, kind] = split_kind(text);
    const auto next = static_cast<FrameId>(profile_.frames.size());
    // clang 14 captures no structured binding by reference.
    const auto is_it = [this, name = name, kind = kind](FrameId id) { return is(id, name, kind); };
    const FrameId frame = ids_.find_or_add(hash_name(name, kind), next, is_it);
    if (frame == next) profile_.frames.push_back({function(name, kind), 0, NamedFrame::no_location});
    return frame;
}

bool FrameNames::is(FrameId frame, std::string_view name, FrameKind kind) const {
    return profile_.functions[profile_.frames[frame].function].kind == kind && profile_.name(frame) == name;
}

FunctionId FrameNames::function(std::string_view name, FrameKind kind) {
    const StringId string = profile_.strings.intern(name);
    const auto [entry, is_new] =
        functions_.try_emplace(function_key(string, kind), static_cast<FunctionId>(profile_.functions.size()));
    if (is_new) {
        Function function;
        function.name = string;
        function.kind = kind;
        profile_.functions.push_back(function);
    }
    return entry->second;
}

}  // namespace flameprobe
