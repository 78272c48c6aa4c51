// How a believed place's callers continue a sample: level by level, or folded to one round of the recursion.
#include <algorithm>
#include <iterator>

#include "collect/deep_stacks.hpp"

namespace flameprobe {

// Frames whose CFA differs between looks, or is not known, have none.
void DeepStacks::continue_by(const Place& place, DeepSample& deep, const Place* levels) {
    const std::size_t copied = deep.frames.size();
    std::erase_if(deep.labels, [&](const StackLabel& label) { return label.frame >= copied; });
    if (levels != nullptr && continue_exactly(*levels, deep)) return;
    const auto& callers = place.chain->frames;
    if (place.in_recursion) fold(deep);
    deep.frames.back().cfa = place.stands && place.outside < callers.size() ? callers[place.outside].cfa : 0;
    for (std::size_t at = place.outside; at-- > 0;) {
        deep.frames.push_back(callers[at]);
        if (at >= place.exact) deep.frames.back().cfa = 0;
    }
}

// The chain's frames are counted from the thread's start on, the sample's from the leaf.
bool DeepStacks::continue_exactly(const Place& place, DeepSample& deep) {
    const Chain& chain = *place.chain;
    const std::uint64_t address = deep.frames.back().address, sp = deep.frames[deep.frames.size() - 2].cfa;
    const auto end = chain.frames.begin() + static_cast<std::ptrdiff_t>(std::min(place.exact, chain.frames.size()));
    const auto called =
        std::partition_point(chain.frames.begin(), end, [&](const auto& each) { return each.cfa > sp; });
    const bool is_there =
        called != end && called != chain.frames.begin() && called->cfa == sp && std::prev(called)->address == address;
    const std::size_t from = place.round_from, round = place.round.frames;
    std::size_t at = 0;
    if (is_there) {
        at = static_cast<std::size_t>(called - chain.frames.begin()) - 1;
    } else {
        if (round == 0 || from + round >= std::min(place.exact, chain.frames.size())) return false;
        at = from;
        while (at < from + round && chain.frames[at].address != address) ++at;
        if (at == from + round || chain.sp(at) < sp || (chain.sp(at) - sp) % place.round.bytes != 0) return false;
        at += (chain.sp(at) - sp) / place.round.bytes * round;
        constexpr std::size_t most_levels = std::size_t{1} << 17;
        if (at > most_levels) return false;
    }
    deep.frames.pop_back();
    for (std::size_t index = at + 1; index-- > 0;) {
        const std::size_t turns = is_there || index < from + round ? 0 : (index - from) / round;
        CodeFrame frame = chain.frames[index - turns * round];
        frame.cfa -= turns * place.round.bytes;
        deep.frames.push_back(frame);
    }
    return true;
}

/// Leaves one round of the recursion that the copy ends in, and a note for the others.
void DeepStacks::fold(DeepSample& deep) {
    std::vector<std::uint64_t> functions;
    for (const CodeFrame& frame : deep.frames) functions.push_back(facts_.function_of(frame.address));
    std::size_t kept = functions.size();
    for (std::size_t at = functions.size(); at-- > 1 && kept == functions.size();) {
        const auto outer = functions.begin() + static_cast<std::ptrdiff_t>(at);
        const auto innermost = std::find(functions.begin(), outer, *outer);
        if (innermost == outer) continue;
        kept = static_cast<std::size_t>(std::find(innermost + 1, functions.end(), *outer) - functions.begin());
    }
    for (StackLabel& label : deep.labels)
        if (label.frame >= kept && label.frame < functions.size()) label.frame = static_cast<std::uint32_t>(kept);
    deep.frames.resize(kept);
    deep.frames.push_back(recursion_note);
}

}  // namespace flameprobe
