#include "render/request_rows.hpp"

#include <algorithm>

#include "render/text.hpp"

namespace flameprobe {

std::vector<RequestRow> request_rows(const NamedProfile& profile) {
    std::vector<RequestRow> rows;
    const double seconds = static_cast<double>(profile.summary.duration_ns) / 1e9;
    for (const auto& [label, durations] : profile.requests) {
        const std::uint64_t count = durations.count();
        if (count == 0) continue;
        rows.push_back({.label = clean_text(label),
                        .count = count,
                        .failed = durations.failed,
                        .per_second = seconds > 0 ? static_cast<double>(count) / seconds : 0,
                        .mean_ns = durations.sum_ns / count,
                        .p50_ns = durations.at(0.5),
                        .p90_ns = durations.at(0.9),
                        .p99_ns = durations.at(0.99),
                        .p999_ns = durations.at(0.999),
                        .longest_ns = durations.longest_ns,
                        .unseen = durations.unseen});
    }
    std::ranges::stable_sort(rows, std::ranges::greater(), &RequestRow::count);
    return rows;
}

std::string request_text(const RequestRow& row) {
    std::string text = count_text(row.count) + (row.count == 1 ? " request" : " requests");
    if (row.per_second > 0) text += ", " + short_decimal(row.per_second, row.per_second < 10 ? 1 : 0) + " a second";
    if (row.failed > 0) text += ", " + count_text(row.failed) + " failed";
    return text + ": p50 " + duration_text(row.p50_ns) + ", p90 " + duration_text(row.p90_ns) + ", p99 " +
           duration_text(row.p99_ns) + ", p99.9 " + duration_text(row.p999_ns) + ", longest " +
           duration_text(row.longest_ns);
}

}  // namespace flameprobe
