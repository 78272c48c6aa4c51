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

std::optional<double> sampled_ns_per_unit(const NamedProfile& profile, std::uint64_t units) {
    if (units == 0 || profile.run.period_ns == 0) return std::nullopt;
    return static_cast<double>(total_weight(profile)) * static_cast<double>(profile.run.period_ns) /
           static_cast<double>(units);
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
