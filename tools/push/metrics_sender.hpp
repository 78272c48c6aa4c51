#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "http_client.hpp"
#include "report.hpp"
#include "settings.hpp"

namespace flameprobe::push {

/// An OTLP/HTTP ExportMetricsServiceRequest in JSON: counts are cumulative sums since `since_unix_s`, other figures
/// gauges, flameprobe.push.dropped_bytes for "dropped bytes". Times are Unix times.
std::string otlp_metrics(const std::vector<Figure>& figures, const Labels& labels, std::uint64_t since_unix_s,
                         std::uint64_t now_unix_ns);

/// Sends the figures of --status to settings.metrics_to. A failure costs one try of five seconds a minute; since counts
/// are cumulative, the next one includes it. One thread.
class MetricsSender {
public:
    MetricsSender(const Settings& settings, HttpClient& client) : settings_(settings), client_(client) {}

    /// The time between two requests, settings.gather, has passed; a minute after a failure.
    bool is_due() const;
    void send(const std::vector<Figure>& figures, std::uint64_t since_unix_s);

private:
    using Clock = std::chrono::steady_clock;

    const Settings& settings_;
    HttpClient& client_;
    std::optional<Clock::time_point> last_try_;
    bool failing_ = false, ended_ = false;
};

}  // namespace flameprobe::push
