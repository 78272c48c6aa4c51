// Runs of a program with known shares, whose samples are drawn at random.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../render/profile_of.hpp"

namespace flameprobe::test {

/// What a program and its runs are like.
struct SimulatedProgram {
    double runs = 10, seconds = 3, hz = 997;
    double share = 0.3;  // of the function that changes
    double change = 0;   // of its CPU time: 0.1 is 10 % more
    double others = 30;  // functions beside it
    double between = 0;  // standard deviation of a function's time from run to run
    double swing = 0;    // and from one tenth of a second to the next
    double speed = 0.1;  // of all functions from run to run, as of a machine's clock
};

/// A loop that calls `target`, and four callers of the other functions, whose shares fall as 1/n.
class SimulatedRuns {
public:
    explicit SimulatedRuns(const SimulatedProgram& plan) : plan_(plan) {
        double sum = 0;
        for (int at = 0; at < static_cast<int>(plan.others); ++at) sum += 1.0 / (at + 1);
        shares_.push_back(plan.share);
        for (int at = 0; at < static_cast<int>(plan.others); ++at) shares_.push_back((1 - plan.share) / (at + 1) / sum);
    }

    NamedProfile run(std::mt19937_64& random, double factor) const {
        constexpr double tenth = 10;
        ProfileOf made;
        made.stack({"t:main", "loop", "target"}, 0);
        for (int at = 0; at < static_cast<int>(plan_.others); ++at)
            made.stack({"t:main", "loop", "part" + std::to_string(at % 4), "f" + std::to_string(at)}, 0);
        NamedProfile profile = std::move(made.profile);
        profile.has_run = true;
        profile.run.period_ns = static_cast<std::uint64_t>(1e9 / plan_.hz);
        const auto cells = static_cast<std::uint32_t>(plan_.seconds * tenth);
        std::normal_distribution<double> normal;
        const double speed = std::exp(plan_.speed * normal(random));
        profile.bin_ns = 100'000'000;
        profile.summary.duration_ns = static_cast<std::uint64_t>(plan_.seconds * speed * 1e9);
        for (std::uint32_t at = 0; at < shares_.size(); ++at) {
            const double its = shares_[at] * speed * (at == 0 ? factor : 1) * std::exp(plan_.between * normal(random));
            for (std::uint32_t cell = 0; cell < cells; ++cell) {
                const double mean = its * plan_.hz / tenth * std::exp(plan_.swing * normal(random));
                const std::uint64_t hits = std::poisson_distribution<std::uint64_t>(mean)(random);
                const std::uint64_t weight = hits * profile.run.period_ns;
                profile.counts[at].hits += hits, profile.counts[at].weight += weight;
                if (hits > 0) profile.times.push_back({at, cell, weight, hits});
            }
        }
        return profile;
    }

    std::vector<NamedProfile> side(std::mt19937_64& random, double factor) const {
        std::vector<NamedProfile> runs;
        for (int run = 0; run < static_cast<int>(plan_.runs); ++run) runs.push_back(this->run(random, factor));
        return runs;
    }

private:
    const SimulatedProgram plan_;
    std::vector<double> shares_;
};

}  // namespace flameprobe::test
