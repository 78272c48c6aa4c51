// The host's requests (flameprobe/request.h): how long all of them took, and of which it is kept when they began and
// ended.
//
// Of all passings the durations are counted, in histograms that are written once a second. One by one those are written
// in which something was sampled: so a reader knows of each sample whose it is, by thread and time. Beside these a few
// of the slowest 1 % of about the last minute, and by lot about a thousand of all.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/duration_cells.hpp"
#include "capture/passings.hpp"
#include "collect/counter_clock.hpp"
#include "profile/model.hpp"

namespace flameprobe {

class Pipeline;

/// Where the host's passings are, which only the session knows. Once, before there is a collector.
void read_passings_of(passings::State* state);
/// Whether passings are timed from now on.
void time_passings(bool on);
/// Whether this process has timed any. Async-signal-safe.
bool any_passings() noexcept;
/// Passings that ended before the counter's rate was known, or in a filter on a thread that had no memory for them.
std::uint64_t untimed_passings();

/// The collector thread only.
class Requests {
public:
    /// `pipeline` must outlive it.
    explicit Requests(Pipeline& pipeline) : pipeline_(pipeline) {}

    /// Something was sampled of this thread: a sample, or a look at a wait.
    void sampled(std::uint32_t tid, std::uint64_t monotonic_ns);
    /// To be called after each drain, with the time at which it began: reads the passings that ended before. What was
    /// sampled in them must have been told.
    void drain(std::uint64_t drained_ns);
    /// Reads all that have ended, and writes what is counted. To be called before a flush after which the profile is
    /// read.
    void write();
    bool any() const { return any_; }
    std::size_t memory() const;

private:
    using Cells = std::array<std::uint32_t, duration_cells>;
    struct Label {
        void end_second();

        RequestTimes now;                           // since the last record; `cells` is filled when it is written
        Cells cells{}, recent{};                    // since the last record; of about the last minute before
        std::uint64_t count = 0, all = 0;           // of `cells`; of all time
        std::uint64_t slow_ns = ~std::uint64_t{0};  // from here on they are of the slowest 1 %
        unsigned kept_slow = 0;                     // since the last record
        std::uint32_t text = 0;                     // the profile's string
    };

    void read_clock();
    void read_chunks(passings::Pool& pool, std::uint64_t upto_ns);
    bool read(const passings::Entry& entry, std::uint64_t upto_ns);
    void read_beyond(passings::Pool& pool);
    void take(Label& label, std::uint32_t tid, std::uint64_t begin_ns, std::uint64_t ns, bool failed);
    bool was_sampled(std::uint32_t tid, std::uint64_t begin_ns, std::uint64_t end_ns) const;
    void forget_marks(std::uint64_t before_ns);
    void write_counts(std::uint64_t now_ns);
    Label* label_of(unsigned slot);

    Pipeline& pipeline_;
    bool any_ = false;
    CounterClock clock_;
    std::array<std::unique_ptr<Label>, passings::most_labels> labels_;
    std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> marks_;  // by tid, in order of time
    std::array<std::uint32_t, passings::Pool::size> idle_{};  // its `claimed`, when owners were last looked at
    std::uint64_t next_counts_ns_ = 0, next_owners_ns_ = 0;
    std::uint64_t random_ = 0;
};

}  // namespace flameprobe
