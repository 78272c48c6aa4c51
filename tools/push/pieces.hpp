// Divides a profile into as few requests as the server's limits permit, made one at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "push/protocols.hpp"

namespace flameprobe::push {

/// Below the limit of servers for one profile: Pyroscope takes 16,000 samples.
inline constexpr std::size_t most_samples = 15'000;

/// `profile` must outlive it, and must not be used meanwhile: it then has the samples of the current request only.
class Pieces {
public:
    /// `labels` has service_name. Limits: most_samples and settings.most_request_bytes, uncompressed.
    Pieces(NamedProfile& profile, const Labels& labels, const Settings& settings);

    /// The request that is due, or null after the last.
    const Request* current();
    /// On to the next.
    void next();
    /// Divides the current request in two, after the server found it too large. False if it has only one sample.
    bool halve();

private:
    struct Range {
        std::size_t begin = 0, end = 0;
    };

    NamedProfile& profile_;
    const ServerOptions options_;
    const Settings& settings_;
    const std::vector<NamedCount> counts_;
    std::vector<Range> left_;  // the current one last
    std::optional<Request> request_;
};

}  // namespace flameprobe::push
