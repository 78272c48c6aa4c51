#include "scope/function_match.hpp"

namespace flameprobe {
namespace {

// Distinct addresses are few (one a guard and one a call below it); this bounds a host that generates code for ever.
constexpr std::size_t most_places = 1 << 16;

}  // namespace

const UnwindTableMatch::Place& UnwindTableMatch::place(std::uint64_t address) {
    if (map_.generation() != generation_ || places_.size() >= most_places) {
        places_.clear();
        modules_.forget_all_but(map_);
        generation_ = map_.generation();
    }
    const auto [at, is_new] = places_.try_emplace(address);
    if (!is_new) return at->second;
    if (const CodeRegion* const region = map_.find(address)) {
        if (const auto tables = modules_.find(*region); tables.cfi != nullptr) {
            at->second = {region->id, tables.cfi->function(address, tables.bias)};
        }
    }
    return at->second;
}

bool UnwindTableMatch::same_function(std::uint64_t a, std::uint64_t b) {
    const Place first = place(a), second = place(b);
    if (first.region == Place::no_region || first.region != second.region) return false;
    if (!first.function.described || !second.function.described) return false;
    if (first.function.start == second.function.start) return true;
    return first.function.split_off != second.function.split_off;
}

}  // namespace flameprobe
