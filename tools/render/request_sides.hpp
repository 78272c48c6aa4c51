// The slow requests of one label beside the others: which they are, and what comparing them says first.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "base/result.hpp"
#include "diff.hpp"
#include "profile/durations.hpp"

namespace flameprobe {

class RequestSides {
public:
    /// Reads the durations of the requests that `arguments` ask for, and completes its choice: which of them are slow,
    /// and the event that has running and waiting time, if there is one. An Error where there are no such requests.
    static Result<RequestSides> choose(Arguments& arguments, const std::vector<std::string>& inputs);

    /// "checkout of 30 ms and more" and "the other checkout".
    std::string words(bool slow) const;
    /// Learns what the slow ones, or the others, did. To be called with their profile, before it is compared.
    void learn(const NamedProfile& profile, bool slow);
    /// "checkout: p99 200 ms, 100 × p50: 12 slow ones wait +171 ms in look_up for `big`, held by reindexer", and what
    /// is not known; whole lines.
    std::string sentence() const;

private:
    /// In a function and what it calls.
    struct Spent {
        std::string name;  // as it is shown
        double slow_ns = 0, others_ns = 0, variance = 0, wait_ns = 0;
        std::map<std::string, double> why;  // slow ones waited, by words
    };
    const Spent* cause() const;

    std::string label_;
    Durations all_, fresh_;  // fresh_: whose passings are kept
    RequestChoice slow_;
    std::uint64_t slow_count_ = 0, others_count_ = 0;
    bool has_waits_ = false;
    std::map<std::string, Spent> spent_;  // by function
    double slow_sampled_ns_ = 0, others_sampled_ns_ = 0;
};

/// What of a choice is wrong; empty: nothing.
std::string refused_requests(const Arguments& arguments);

}  // namespace flameprobe
