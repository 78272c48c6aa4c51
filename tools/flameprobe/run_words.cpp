#include "run_words.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "profile/model.hpp"
#include "profile/names.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

/// The weights of leaves that tell of what is missing.
struct Missing {
    explicit Missing(const NamedProfile& profile) {
        for (const NamedCount& count : profile.counts) {
            const std::string_view leaf = profile.name(profile.nodes[count.node].frame);
            all += count.weight;
            if (leaf == "[lost]") lost += count.weight;
            const std::string_view before = outermost_note(profile, count.node);
            if (before == note_text(Note::truncated)) truncated += count.weight;
            if (before == note_text(Note::truncated) && is_made_code(profile, count.node))
                truncated_made += count.weight;
            if (before == read_later_note) read_later += count.weight;
            if (leaf == "[not sampled]") not_sampled += count.weight;
            if (leaf.starts_with("[kernel")) kernel += count.weight;
            const std::size_t address = leaf.starts_with('[') ? leaf.rfind("+0x") : leaf.npos;
            if (address == leaf.npos) continue;
            unnamed += count.weight;
            by_file[std::string(leaf.substr(1, address - 1))] += count.weight;
        }
    }
    /// What stands before the stack's outermost frame, if it is a note.
    static std::string_view outermost_note(const NamedProfile& profile, NodeId node) {
        std::string_view note;
        for (; node != 0; node = profile.nodes[node].parent)
            if (const std::string_view name = profile.name(profile.nodes[node].frame);
                name == note_text(Note::truncated) || name == read_later_note)
                note = name;
        return note;
    }
    /// Whether what is truncated is a stack of code that was made at run time. Kinds of frames are not in folded text.
    static bool is_made_code(const NamedProfile& profile, NodeId node) {
        for (NodeId before = 0; node != 0; before = node, node = profile.nodes[node].parent)
            if (before != 0 && profile.name(profile.nodes[node].frame) == note_text(Note::truncated))
                return profile.name(profile.nodes[before].frame) == nameless_jit_code;
        return false;
    }
    /// The share as text if it is more than one in `least`, else empty.
    std::string much(std::uint64_t part, std::uint64_t least = 10) const {
        return part > all / least ? round_share(static_cast<double>(part), static_cast<double>(all)) : "";
    }
    std::string file() const {
        return std::max_element(by_file.begin(), by_file.end(),
                                [](const auto& a, const auto& b) { return a.second < b.second; })
            ->first;
    }

    std::uint64_t all = 0, lost = 0, truncated = 0, truncated_made = 0, read_later = 0, not_sampled = 0, kernel = 0,
                  unnamed = 0;
    std::map<std::string, std::uint64_t> by_file;  // of functions without names
};

}  // namespace

std::string what_would_be_better(const NamedProfile& profile, std::uint64_t samples, const std::string& names,
                                 bool brief) {
    const Missing missing(profile);
    constexpr std::uint64_t twentieth = 20;
    if (const auto share = missing.much(missing.lost, twentieth); !share.empty())
        return "better: " + share +
               " of the time is [lost], since there was no room for samples; a lower -F loses less";
    // Frames of such code need frame pointers, which the flag for names brings along.
    if (!names.empty() && missing.truncated_made > missing.all / twentieth &&
        missing.truncated_made > missing.truncated / 2)
        return "better: " + names;
    if (const auto share = missing.much(missing.truncated, twentieth); !share.empty())
        return "better: " + share +
               " of the time is [truncated], in stacks deeper than their copy or without unwind tables; "
               "--engine timer --stack 1048576 copies more";
    if (const auto share = missing.much(missing.read_later, twentieth); !share.empty())
        return "better: " + share +
               " of the time is behind [callers read later], in deep stacks that were not seen for long; a longer run "
               "proves their callers";
    if (const auto share = missing.much(missing.not_sampled, twentieth); !share.empty() && samples != 0)
        return "better: no sample covers " + share + " of the time" +
               (brief ? ", in threads that ran too briefly; a higher -F takes more"
                      : "; the .txt beside the picture has what is known of why");
    if (!names.empty()) return "better: " + names;
    if (const auto share = missing.much(missing.unnamed); !share.empty())
        return "better: " + share + " is in functions without names, most of it of " + missing.file() +
               "; flameprobe doctor PROGRAM has the command that gives them";
    if (const auto share = missing.much(missing.kernel); !share.empty())
        return "better: " + share +
               " of the time is in the kernel, whose frames this user may not see: sudo sysctl "
               "kernel.perf_event_paranoid=1 kernel.kptr_restrict=0";
    return {};
}

}  // namespace flameprobe
