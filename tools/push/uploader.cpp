#include "uploader.hpp"

#include <signal.h>
#include <time.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/printed.hpp"
#include "protocols.hpp"
#include "report.hpp"

namespace flameprobe::push {

namespace {

constexpr std::size_t most_windows_at_once = 500;
constexpr std::size_t most_samples = 15'000;       // of a request: Pyroscope takes 16,000
constexpr std::size_t windows_to_probe_with = 16;  // while the server is away

volatile sig_atomic_t ended = 0;

void end(int) { ended = 1; }

void say(const std::string& sentence) { print_message("flameprobe push", sentence); }

void say_if_failed(const Result<void>& done) {
    if (!done) say(done.error().message);
}

/// Divides a profile into as few requests as the server's limits permit, made one at a time. The profile must not be
/// used meanwhile: it then has the samples of the current request only.
class Pieces {
public:
    /// `labels` has service_name. Limits: most_samples and settings.most_request_bytes, uncompressed.
    Pieces(NamedProfile& profile, const Labels& labels, const Settings& settings)
        : profile_(profile),
          options_{settings.threads, labels, false},
          settings_(settings),
          counts_(std::move(profile.counts)),
          left_{{0, counts_.size()}} {}

    /// The request that is due, or null after the last.
    const Request* current() {
        while (!request_ && !left_.empty()) {
            const Range range = left_.back();
            if (range.end - range.begin > most_samples && halve()) continue;
            profile_.counts.assign(counts_.begin() + static_cast<std::ptrdiff_t>(range.begin),
                                   counts_.begin() + static_cast<std::ptrdiff_t>(range.end));
            request_ = request_for(profile_, options_, settings_);
            if (request_->profile_bytes > settings_.most_request_bytes) halve();
        }
        return request_ ? &*request_ : nullptr;
    }
    void next() {
        request_.reset();
        left_.pop_back();
    }
    /// Divides the current request in two, after the server found it too large. False if it has only one sample.
    bool halve() {
        const Range range = left_.back();
        if (range.end - range.begin < 2) return false;
        const std::size_t middle = range.begin + (range.end - range.begin) / 2;
        left_.back() = {middle, range.end};
        left_.push_back({range.begin, middle});
        request_.reset();
        return true;
    }

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

std::string describe(const Answer& answer) {
    const std::string text = answer.text.substr(0, std::min<std::size_t>(answer.text.find('\n'), 300));
    return answer.status == 0 ? text : std::to_string(answer.status) + (text.empty() ? "" : ": " + text);
}

}  // namespace

std::chrono::milliseconds wait_before(unsigned tries, const Settings& settings, const Answer& answer, double random) {
    const double longest = static_cast<double>(settings.longest_wait.count());
    const double first = static_cast<double>(settings.first_wait.count());
    const double most = std::min(longest, first * static_cast<double>(std::uint64_t{1} << std::min(tries, 30u)));
    auto wait = std::chrono::milliseconds(static_cast<std::int64_t>(most * random));
    // At most an hour, whatever the server asks for.
    if (answer.retry_after) wait += std::min<std::chrono::milliseconds>(*answer.retry_after, std::chrono::hours(1));
    return wait;
}

int Uploader::run() {
    struct sigaction action {};
    action.sa_handler = end;
    ::sigaction(SIGTERM, &action, nullptr);
    ::sigaction(SIGINT, &action, nullptr);
    const int status = send_until_end();
    metrics_sender_.send(figures(spool_, counts_), counts_.since);
    return status;
}

int Uploader::send_until_end() {
    publish_counts();
    while (ended == 0) {
        bound();
        const bool sent = round(tries_ == 0 ? most_windows_at_once : windows_to_probe_with);
        publish_counts();
        const bool left = !spool_.windows().empty();
        if (settings_.once && (!sent || !left)) return left ? 1 : 0;
        if (!sent)
            wait_for_server();
        else if (!left)
            pause(settings_.gather);
    }
    return 0;
}

void Uploader::bound(const std::vector<Window>& sending) {
    const std::uint64_t before = counts_.dropped;
    spool_.bound(settings_.most_bytes, settings_.most_age, sending, counts_);
    if (counts_.dropped != before)
        say(std::to_string(counts_.dropped - before) + " windows were dropped for --max-bytes or --max-age");
}

std::vector<Window> Uploader::next_windows(std::size_t most) {
    std::vector<Window> windows = spool_.windows();
    const auto failed = [this](const Window& window) { return postponed_.contains(window.name); };
    if (!std::all_of(windows.begin(), windows.end(), failed)) std::erase_if(windows, failed);
    windows.resize(std::min(windows.size(), most));
    return windows;
}

bool Uploader::round(std::size_t most_windows) {
    std::vector<BadWindow> bad;
    in_hand_ = next_windows(most_windows);
    std::vector<WindowGroup> groups = loader_.load(spool_, in_hand_, bad);
    postponed_.clear();
    set_aside_bad(bad);
    for (WindowGroup& group : groups) {
        if (ended != 0) return true;
        if (!send(group)) {
            postpone(group);
            return false;
        }
        if (tries_ != 0) say("the server is there again");
        tries_ = 0;
    }
    return true;
}

void Uploader::postpone(const WindowGroup& group) {
    for (const Window& window : group.windows) postponed_.insert(window.name);
}

void Uploader::set_aside_bad(const std::vector<BadWindow>& bad) {
    for (const BadWindow& window : bad) {
        say(window.name + " is no profile: " + window.why);
        say_if_failed(spool_.reject(window.name, window.why + "\n"));
        ++counts_.unreadable;
    }
}

// If a group needs several requests, each from the second on is tried until it is answered, so that those that the
// server has are not sent again.
bool Uploader::send(WindowGroup& group) {
    if (group.labels.empty()) {  // no samples
        finish(group, nullptr);
        return true;
    }
    Pieces pieces(group.profile, group.labels, settings_);
    std::optional<Answer> refusal;
    bool begun = false;
    while (const Request* request = pieces.current()) {
        last_ = client_.post(*request);
        ++counts_.requests;
        const Verdict verdict = verdict_of(last_, settings_.protocol);
        if (verdict == Verdict::later) {
            ++counts_.retries;
            counts_.last_error = describe(last_);
            if (tries_ == 0) say(shown_url() + ": " + describe(last_) + "; the windows stay in the spool");
            if (!begun || settings_.once || ended != 0) return false;
            bound(in_hand_);  // those of the groups that come next are sent from memory, too
            publish_counts();
            wait_for_server();
            continue;
        }
        if (verdict == Verdict::too_large && pieces.halve()) continue;
        begun = true;
        if (verdict == Verdict::accepted)
            counts_.sent_bytes += request->body.size();
        else
            refusal = last_;
        if (refusal && refusal->status < 300) refusal->text = rejection_in(last_.text);
        pieces.next();
    }
    finish(group, refusal ? &*refusal : nullptr);
    return true;
}

void Uploader::finish(const WindowGroup& group, const Answer* refusal) {
    if (refusal != nullptr) {
        counts_.last_error = describe(*refusal);
        say(shown_url() + " refused " + std::to_string(group.windows.size()) + " windows (in " + spool_.path() +
            "/reject): " + describe(*refusal));
    }
    for (const Window& window : group.windows) {
        if (refusal != nullptr) refused_[window.name] = std::to_string(refusal->status) + "\n" + refusal->text + "\n";
        if (!loader_.is_done(window.name, group.event)) continue;
        if (const auto answer = refused_.extract(window.name)) {
            say_if_failed(spool_.reject(window.name, answer.mapped()));
            ++counts_.refused;
        } else {
            say_if_failed(spool_.remove(window.name));
            ++counts_.sent;
        }
    }
}

// Without the query, which may hold a secret key.
std::string Uploader::shown_url() const { return settings_.to.substr(0, settings_.to.find('?')); }

void Uploader::publish_counts() {
    if (counts_ != told_) spool_.write_counts(counts_);
    told_ = counts_;
    if (metrics_ != nullptr) metrics_->publish(metrics_text(spool_, counts_));
    if (metrics_sender_.is_due()) metrics_sender_.send(figures(spool_, counts_), counts_.since);
}

void Uploader::wait_for_server() {
    pause(wait_before(tries_++, settings_, last_, std::uniform_real_distribution<>(0, 1)(random_)));
}

void Uploader::pause(std::chrono::milliseconds time) {
    timespec rest{time.count() / 1000, time.count() % 1000 * 1'000'000};
    ::nanosleep(&rest, nullptr);  // a signal ends it
}

}  // namespace flameprobe::push
