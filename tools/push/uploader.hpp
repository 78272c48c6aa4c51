#pragma once

#include <chrono>
#include <random>
#include <set>
#include <string>

#include "push/http_client.hpp"
#include "push/metrics_sender.hpp"
#include "push/metrics_server.hpp"
#include "push/spool_directory.hpp"
#include "push/window_groups.hpp"

namespace flameprobe::push {

/// A wait drawn at random from 0 to `first` doubled `tries` times, at most `longest`: hosts that an engine's failure
/// has put in step come back apart ("full jitter"). Never shorter than what the engine asked for.
std::chrono::milliseconds wait_before(unsigned tries, const Settings& settings, const Answer& answer, double random);

/// From the spool to the engine. A window is deleted once the engine has accepted all requests that have it; an answer
/// that is lost means that it is sent again.
class Uploader {
public:
    /// `metrics` may be null.
    Uploader(const Settings& settings, SpoolDirectory& spool, HttpClient& client, MetricsServer* metrics)
        : settings_(settings),
          spool_(spool),
          client_(client),
          metrics_(metrics),
          metrics_sender_(settings, client),
          loader_(settings),
          counts_(spool.read_counts()) {}

    /// Until SIGTERM or SIGINT, or with --once until the spool is empty or a try has failed. The exit status.
    int run();

private:
    int send_until_end();
    /// One try at what is in the spool: false if the engine was not there for it.
    bool round(std::size_t most_windows);
    /// Those that failed in the round before only if there are no others, so that a request that the engine always
    /// fails at holds up nothing.
    std::vector<Window> next_windows(std::size_t most);
    bool send(WindowGroup& group);
    void postpone(const WindowGroup& group);
    void set_aside_bad(const std::vector<BadWindow>& bad);
    void finish(const WindowGroup& group, const Answer* refusal);
    /// Keeps the bounds of the spool, whose windows in `sending` stay.
    void bound(const std::vector<Window>& sending = {});
    /// Into the spool, where it differs from what is there, and as metrics.
    void tell_counts();
    void wait_for_engine();
    std::string shown_url() const;
    void pause(std::chrono::milliseconds time);

    const Settings& settings_;
    SpoolDirectory& spool_;
    HttpClient& client_;
    MetricsServer* metrics_;
    MetricsSender metrics_sender_;
    WindowLoader loader_;
    Counts counts_, told_;
    Answer last_;
    unsigned tries_ = 0;
    std::set<std::string> postponed_;  // names of windows
    std::mt19937_64 random_{std::random_device{}()};
};

}  // namespace flameprobe::push
