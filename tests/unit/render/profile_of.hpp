// Profiles for tests, from a few lines of folded text with marks.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "symbolize/named_profile.hpp"

namespace flameprobe::test {

/// Builds a profile stack by stack. Frame names may start with a mark for the kind: "k:" kernel, "i:" inlined, "s:"
/// scope, "n:" note, "t:" thread; a frame may end in "@line" to give one function several frames.
class ProfileOf {
public:
    ProfileOf() { profile.nodes.push_back({}); }

    ProfileOf& stack(const std::vector<std::string>& frames, std::uint64_t weight, ThreadId thread = 0) {
        NodeId node = 0;
        for (const std::string& text : frames) node = child(node, frame(text));
        profile.counts.push_back({node, thread, weight, weight});
        return *this;
    }
    /// "a;b;c 12" lines.
    ProfileOf& folded(std::string_view text) {
        while (!text.empty()) {
            const auto line = text.substr(0, text.find('\n'));
            text.remove_prefix(std::min(text.size(), line.size() + 1));
            const auto space = line.rfind(' ');
            std::vector<std::string> frames;
            for (std::string_view rest = line.substr(0, space); !rest.empty();) {
                const auto name = rest.substr(0, rest.find(';'));
                frames.emplace_back(name);
                rest.remove_prefix(std::min(rest.size(), name.size() + 1));
            }
            stack(frames, std::stoull(std::string{line.substr(space + 1)}));
        }
        return *this;
    }

    NamedProfile profile;

private:
    FrameId frame(std::string text) {
        Function function;
        if (text.size() > 2 && text[1] == ':') {
            switch (text[0]) {
                case 'k':
                    function.kind = FrameKind::kernel;
                    break;
                case 'i':
                    function.kind = FrameKind::inlined;
                    break;
                case 's':
                    function.kind = FrameKind::scope;
                    break;
                case 'n':
                    function.kind = FrameKind::note;
                    break;
                case 't':
                    function.kind = FrameKind::thread;
                    break;
                default:
                    break;
            }
            if (function.kind != FrameKind::user) text.erase(0, 2);
        }
        std::uint32_t line = 0;
        if (const auto at = text.rfind('@'); at != std::string::npos &&
                                             text.find_first_not_of("0123456789", at + 1) == std::string::npos &&
                                             at + 1 < text.size()) {
            line = static_cast<std::uint32_t>(std::stoul(text.substr(at + 1)));
            text.erase(at);
        }
        function.name = profile.strings.intern(text);
        if (function.kind == FrameKind::user || function.kind == FrameKind::inlined) {
            function.file = profile.strings.intern("/src/" + text.substr(0, 3) + ".cpp");
            function.line = 7;
            function.module = profile.strings.intern(text.size() % 3 == 0 ? "/usr/lib/libdemo.so.1" : "/usr/bin/demo");
        }
        const auto [known, added] =
            functions_.try_emplace({function.kind, text}, static_cast<FunctionId>(profile.functions.size()));
        if (added) profile.functions.push_back(function);
        const auto [id, fresh] =
            frames_.try_emplace({known->second, line}, static_cast<FrameId>(profile.frames.size()));
        if (fresh) profile.frames.push_back({.function = known->second, .line = line});
        return id->second;
    }
    NodeId child(NodeId parent, FrameId frame_id) {
        const auto [id, added] = nodes_.try_emplace({parent, frame_id}, static_cast<NodeId>(profile.nodes.size()));
        if (added) profile.nodes.push_back({parent, frame_id});
        return id->second;
    }

    std::map<std::pair<FrameKind, std::string>, FunctionId> functions_;
    std::map<std::pair<FunctionId, std::uint32_t>, FrameId> frames_;
    std::map<std::pair<NodeId, FrameId>, NodeId> nodes_;
};

}  // namespace flameprobe::test
