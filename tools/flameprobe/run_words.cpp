#include "run_words.hpp"

#include <algorithm>
#include <map>
#include <vector>

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

std::string what_would_be_better(const NamedProfile& profile, std::uint64_t samples, const std::string& names,
                                 bool brief) {
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
    return {};
}

}  // namespace flameprobe
