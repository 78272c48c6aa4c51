#include "render/shown_function.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace flameprobe {

std::vector<FunctionId> shown_functions(const NamedProfile& profile) {
    std::map<std::tuple<StringId, StringId, FrameKind>, FunctionId> first;
    std::vector<FunctionId> of;
    of.reserve(profile.functions.size());
    for (FunctionId id = 0; id < profile.functions.size(); ++id) {
        const Function& function = profile.functions[id];
        of.push_back(first.try_emplace({function.name, function.module, function.kind}, id).first->second);
    }
    return of;
}

std::vector<std::uint32_t> ranks_by_name(const NamedProfile& profile) {
    std::vector<FunctionId> order(profile.functions.size());
    std::iota(order.begin(), order.end(), 0);
    const auto key = [&](FunctionId id) {
        const Function& function = profile.functions[id];
        const auto text = [&](StringId string) { return profile.strings.view(string); };
        return std::make_tuple(text(function.name), function.kind, text(function.module), text(function.file),
                               function.line, id);
    };
    std::sort(order.begin(), order.end(), [&](FunctionId a, FunctionId b) { return key(a) < key(b); });
    std::vector<std::uint32_t> ranks(order.size());
    for (std::uint32_t rank = 0; rank < order.size(); ++rank) ranks[order[rank]] = rank;
    return ranks;
}

}  // namespace flameprobe
