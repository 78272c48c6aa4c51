// Gates: conditions on a profile without which no picture is made (--min-samples and the like).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "profile/model.hpp"

namespace flameprobe {

struct Gates {
    std::uint64_t min_samples = 0;
    std::optional<double> min_rooted = std::nullopt;  // percent of the samples' time, 0 to 100
    std::optional<double> max_lost = std::nullopt;    // percent of that and the lost time, 0 to 100

    bool any() const { return min_samples != 0 || min_rooted || max_lost; }
};

/// A sentence on the gate that a profile with `samples` selected samples does not pass; empty if it passes all. Without
/// facts of the run (`summary` is null: folded stacks) only min_samples can be passed.
std::string failed_gate(const Gates& gates, std::uint64_t samples, const Summary* summary);

/// "95" or "95%"; an Error on what is no percentage from 0 to 100.
Result<double> parse_percentage(std::string text);

}  // namespace flameprobe
