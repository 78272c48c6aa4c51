#include "export/totals.hpp"

#include "export/text.hpp"
#include "symbolize/raw_profile.hpp"

namespace flameprobe {

std::uint64_t total_weight(const NamedProfile& profile) {
    std::uint64_t all = 0;
    for (const NamedCount& count : profile.counts) all = add_saturated(all, count.weight);
    return all;
}

std::uint64_t total_hits(const NamedProfile& profile) {
    std::uint64_t all = 0;
    for (const NamedCount& count : profile.counts) all = add_saturated(all, count.hits);
    return all;
}

std::string display_name(const NamedProfile& profile, FunctionId id) {
    const Function& function = profile.functions[id];
    return folded_name(profile.strings.view(function.name), function.kind);
}

std::string module_name(const NamedProfile& profile, FunctionId id) {
    const std::string path = one_line(profile.strings.view(profile.functions[id].module));
    return path.substr(path.rfind('/') + 1);
}

}  // namespace flameprobe
