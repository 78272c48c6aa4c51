// Stacks and threads of the profile before this one, for what goes on from there: allocations that are still alive.
#pragma once

#include <unordered_map>

#include "collect/pipeline.hpp"

namespace flameprobe {

/// The collector thread only.
class EarlierProfile {
public:
    /// Both must outlive it.
    EarlierProfile(Pipeline& now, const Pipeline& before) : now_(now), before_(before) {}

    /// Those numbers in the profile now.
    StackId stack(StackId before) {
        const auto [known, is_new] = stacks_.try_emplace(before, 0);
        if (is_new) known->second = now_.same_stack(before_, before);
        return known->second;
    }
    ThreadId thread(ThreadId before) {
        const auto [known, is_new] = threads_.try_emplace(before, 0);
        if (is_new) known->second = now_.threads().same_thread(before_.threads(), before);
        return known->second;
    }

private:
    Pipeline& now_;
    const Pipeline& before_;
    std::unordered_map<StackId, StackId> stacks_;
    std::unordered_map<ThreadId, ThreadId> threads_;
};

}  // namespace flameprobe
