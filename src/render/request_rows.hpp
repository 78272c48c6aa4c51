// How long requests took, in words: a line for each label.
#pragma once

#include <string>
#include <vector>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

struct RequestRow {
    std::string label;  // clean text
    std::uint64_t count = 0, failed = 0;
    double per_second = 0;  // 0: the run's length is not known
    std::uint64_t mean_ns = 0, p50_ns = 0, p90_ns = 0, p99_ns = 0, p999_ns = 0, longest_ns = 0;
    std::uint64_t unseen = 0;  // see RequestTimes
};

/// The label with the most requests first. Counts, means and the longest are exact, percentiles right within 0.4 %.
std::vector<RequestRow> request_rows(const NamedProfile& profile);

/// "12,345 requests, 411 a second, 3 failed: p50 2.0 ms, p90 2.2 ms, p99 201 ms, p99.9 203 ms, longest 250 ms".
std::string request_text(const RequestRow& row);

}  // namespace flameprobe
