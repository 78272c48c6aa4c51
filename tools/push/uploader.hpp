#pragma once

#include <chrono>
#include <map>
#include <random>
#include <set>
#include <string>

#include "http_client.hpp"
#include "metrics_sender.hpp"
#include "metrics_server.hpp"
#include "spool_directory.hpp"
#include "window_groups.hpp"

namespace flameprobe::push {

/// A wait drawn at random from 0 to `first` doubled `tries` times, at most `longest` ("full jitter"), so that hosts do
/// not all try again at the same time after a server's failure. Never shorter than the server asks for.
std::chrono::milliseconds wait_before(unsigned tries, const Settings& settings, const Answer& answer, double random);

/// Sends the spool's windows to the server. A window is deleted once the server has accepted all requests with its
/// samples; if an answer is lost, the window is sent again.
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

    /// Runs until SIGTERM or SIGINT, or with --once until the spool is empty or a try has failed. Returns the exit
    /// status.
    int run();

private:
    int send_until_end();
    /// Tries to send what is in the spool; false if the server did not answer.
    bool round(std::size_t most_windows);
    /// Windows that failed in the last round come only if there are no others, so that a request at which the server
    /// always fails holds up nothing.
    std::vector<Window> next_windows(std::size_t most);
    bool send(WindowGroup& group);
    void postpone(const WindowGroup& group);
    void set_aside_bad(const std::vector<BadWindow>& bad);
    void finish(const WindowGroup& group, const Answer* refusal);
    /// Drops windows beyond the bounds of the spool, but none of `sending`.
    void bound(const std::vector<Window>& sending = {});
    /// Writes the counts into the spool, if they have changed, and publishes them as metrics.
    void publish_counts();
    void wait_for_server();
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
    std::vector<Window> in_hand_;                 // loaded in this round
    std::set<std::string> postponed_;             // names of windows
    std::map<std::string, std::string> refused_;  // the answer, by the name of a window that is not done
    std::mt19937_64 random_{std::random_device{}()};
};

}  // namespace flameprobe::push
