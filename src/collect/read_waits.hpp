// The waits of one thread whose stacks were read, and what they weigh once the thread's waiting time is known.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "collect/wait_reasons.hpp"
#include "profile/model.hpp"

namespace flameprobe {

/// What a look found: where a thread waits, and for what.
struct WaitPlace {
    StackId stack = 0;
    WaitReason reason = 0;
};

class ReadWaits {
public:
    struct Estimate {
        std::uint64_t begin_ns;
        double ns;  // for which it stands, before share() scales it
        WaitPlace place;
        std::uint64_t hits;
        double waits;
    };
    void add(const Estimate& estimate) { estimates_.push_back(estimate); }
    std::size_t count() const { return estimates_.size(); }
    bool stand_for_time() const { return sum() > 0; }
    void clear() { estimates_.clear(); }
    std::size_t memory() const { return estimates_.capacity() * sizeof(Estimate); }

    /// Calls `emit(estimate, ns)` for each, scaled so that the sum of all is exactly `exact_ns`.
    template <class Emit>
    void share(std::uint64_t exact_ns, const Emit& emit) const {
        const double all = sum();
        double so_far = 0;
        std::uint64_t emitted = 0;
        for (const Estimate& estimate : estimates_) {
            so_far += estimate.ns;
            const double part = static_cast<double>(exact_ns) * so_far / all;
            const bool last = &estimate == &estimates_.back();
            const auto upto = last ? exact_ns : std::min(exact_ns, static_cast<std::uint64_t>(std::llround(part)));
            if (upto > emitted) emit(estimate, upto - emitted);
            emitted = std::max(upto, emitted);
        }
    }

private:
    double sum() const {
        double sum = 0;
        for (const Estimate& estimate : estimates_) sum += estimate.ns;
        return sum;
    }

    std::vector<Estimate> estimates_;
};

}  // namespace flameprobe
