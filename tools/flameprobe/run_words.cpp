#include "run_words.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "render/describe.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

constexpr std::string_view call_note = "[kernel: ", call_function = "__x64_sys_";

/// The system call that a frame of the kernel stands for; empty: none.
std::string_view call_of(std::string_view name) {
    if (name.starts_with(call_note) && name.ends_with(']'))
        return name.substr(call_note.size(), name.size() - call_note.size() - 1);
    return name.starts_with(call_function) ? name.substr(call_function.size()) : std::string_view();
}

/// What a stack that ends at `node` was doing.
std::string doing(const NamedProfile& profile, NodeId node) {
    const auto shown = [&profile](NodeId id) { return short_name(profile, profile.function_of(id)); };
    std::string call = "kernel";
    const NodeId leaf = node;
    const auto is_kernel = [&](NodeId id) {
        return profile.function(id).kind == FrameKind::kernel ||
               profile.name(profile.nodes[id].frame).starts_with("[kernel");
    };
    if (!is_kernel(leaf)) return shown(leaf);
    for (; node != 0 && is_kernel(node); node = profile.nodes[node].parent) {
        if (const auto name = call_of(profile.name(profile.nodes[node].frame)); !name.empty()) call = name;
    }
    // The first frame of all is the thread.
    const bool has_caller = node != 0 && profile.nodes[node].parent != 0;
    return has_caller ? call + " in " + shown(node) : call == "kernel" ? shown(leaf) : call;
}

/// The weights of leaves that tell of what is missing.
struct Missing {
    explicit Missing(const NamedProfile& profile) {
        for (const NamedCount& count : profile.counts) {
            const std::string_view leaf = profile.name(profile.nodes[count.node].frame);
            all += count.weight;
            if (leaf == "[lost]") lost += count.weight;
            if (leaf == "[truncated]") truncated += count.weight;
            if (leaf == "[not sampled]") not_sampled += count.weight;
            if (leaf.starts_with("[kernel")) kernel += count.weight;
            const std::size_t address = leaf.starts_with('[') ? leaf.rfind("+0x") : leaf.npos;
            if (address == leaf.npos) continue;
            unnamed += count.weight;
            by_file[std::string(leaf.substr(1, address - 1))] += count.weight;
        }
    }
    /// The share as text if it is more than a tenth, else empty.
    std::string much(std::uint64_t part) const {
        return part > all / 10 ? round_share(static_cast<double>(part), static_cast<double>(all)) : "";
    }
    std::string file() const {
        return std::max_element(by_file.begin(), by_file.end(),
                                [](const auto& a, const auto& b) { return a.second < b.second; })
            ->first;
    }

    std::uint64_t all = 0, lost = 0, truncated = 0, not_sampled = 0, kernel = 0, unnamed = 0;
    std::map<std::string, std::uint64_t> by_file;  // of functions without names
};

}  // namespace

std::string where_the_time_went(const NamedProfile& profile) {
    constexpr std::size_t most = 3, longest_name = 60;
    constexpr std::uint64_t least_percent = 3;
    std::map<std::string, std::uint64_t> sums;
    std::uint64_t all = 0;
    for (const NamedCount& count : profile.counts) {
        if (count.weight == 0) continue;
        all += count.weight;
        sums[doing(profile, count.node)] += count.weight;
    }
    std::vector<std::pair<std::string, std::uint64_t>> heaviest(sums.begin(), sums.end());
    std::stable_sort(heaviest.begin(), heaviest.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    std::string text;
    for (std::size_t i = 0; i < std::min(heaviest.size(), most); ++i) {
        const auto percent = static_cast<std::uint64_t>(
            100.0 * static_cast<double>(heaviest[i].second) / static_cast<double>(all) + 0.5);
        if (percent < least_percent) break;
        std::string name = heaviest[i].first;
        if (name.size() > longest_name) name = name.substr(0, longest_name) + "...";
        text += (text.empty() ? "" : ", ") + std::to_string(percent) + " % " + name;
    }
    return text;
}

std::string what_would_be_better(const NamedProfile& profile, std::uint64_t samples, const std::string& names,
                                 bool brief) {
    constexpr std::uint64_t few = 100;
    const Missing missing(profile);
    if (!names.empty()) return "better: " + names;
    if (const auto share = missing.much(missing.lost); !share.empty())
        return "better: " + share +
               " of the time is [lost], since there was no room for samples; a lower -F loses less";
    if (const auto share = missing.much(missing.truncated); !share.empty())
        return "better: " + share +
               " of the time is [truncated]; the footer and docs/troubleshooting.md have the causes";
    if (const auto share = missing.much(missing.not_sampled); !share.empty() && samples != 0)
        return "better: no sample covers " + share + " of the time" +
               (brief ? ", in threads that ran too briefly; a higher -F takes more"
                      : "; the .txt beside the picture has what is known of why");
    if (const auto share = missing.much(missing.unnamed); !share.empty())
        return "better: " + share + " is in functions without names, most of it of " + missing.file() +
               "; flameprobe doctor PROGRAM has the command that gives them";
    if (const auto share = missing.much(missing.kernel); !share.empty())
        return "better: " + share +
               " of the time is in the kernel, whose frames this user may not see: sudo sysctl "
               "kernel.perf_event_paranoid=1 kernel.kptr_restrict=0";
    if (samples < few)
        return "better: " + count_text(samples) + " samples are few; a longer run or a higher -F takes more";
    return {};
}

}  // namespace flameprobe
