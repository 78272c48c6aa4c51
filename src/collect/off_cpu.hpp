// Where threads wait: the kernel's switch records give the time of every wait; looks at blocked threads, at random
// moments, give stacks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/elementary.hpp"
#include "capture/blocked_reader.hpp"
#include "collect/lock_holders.hpp"
#include "collect/pipeline.hpp"
#include "collect/tick_waits.hpp"
#include "collect/wait_registry.hpp"
#include "profile/counters.hpp"

namespace flameprobe {

/// How often and how long threads waited for each lock whose holder was known.
/// The collector thread only.
class LockSums {
public:
    /// `waits`: for how many this one stands. `lasted_ns`: how long it was.
    /// Of locks that are made anew for each piece of work only those with the longest waits stay.
    void add(std::uint64_t lock, double waits, std::uint64_t lasted_ns) {
        if (sums_.size() >= most_sums) forget_shortest();
        Sum& sum = sums_[lock];
        sum.waits += waits;
        sum.longest_ns = std::max(sum.longest_ns, lasted_ns);
    }
    /// Of the locks with the longest waits, so that a summary stays small.
    void add_to(Counters& counters) const {
        constexpr std::size_t most = 200;
        std::vector<std::pair<std::uint64_t, std::uint64_t>> longest;
        for (const auto& [lock, sum] : sums_) longest.emplace_back(sum.longest_ns, lock);
        std::ranges::sort(longest, std::greater());
        longest.resize(std::min(longest.size(), most));
        for (const auto& [ns, lock] : longest)
            set_lock(counters, lock_address(lock), rounded(sums_.at(lock).waits), ns);
    }

    std::size_t memory() const { return sums_.size() * (sizeof(std::pair<std::uint64_t, Sum>) + 2 * sizeof(void*)); }

private:
    struct Sum {
        double waits = 0;
        std::uint64_t longest_ns = 0;
    };
    void forget_shortest() {
        std::vector<std::uint64_t> longest;
        for (const auto& [lock, sum] : sums_) longest.push_back(sum.longest_ns);
        const auto least = longest.begin() + static_cast<std::ptrdiff_t>(longest.size() / 2);
        std::ranges::nth_element(longest, least);
        std::erase_if(sums_, [at = *least](const auto& sum) { return sum.second.longest_ns <= at; });
    }

    static constexpr std::size_t most_sums = 8192;
    std::unordered_map<std::uint64_t, Sum> sums_;
};

struct OffCpuSettings {
    std::uint64_t frequency = 99;  // looks a second
    std::uint64_t least_ns = 0;    // shorter waits do not count
    bool records = true;           // switch records are read; else waits are estimated from regular looks (TickWaits)
    EventId event = 1, idle_event = 2;
};

/// The collector thread only.
class OffCpu final : public RecordSink {
public:
    /// `pipeline` must outlive it, and must get it as a sink (pass_records_to()).
    OffCpu(Pipeline& pipeline, const OffCpuSettings& settings);

    void begin(std::uint64_t now_ns);
    void pause(std::uint64_t now_ns);

    void take(const Record& record) override;

    /// Looks at the blocked threads if it is time. `drain` brings the records up to now.
    void look(const std::function<void()>& drain);
    std::uint64_t until_look_ns() const;

    /// To be called after each drain, with the time at which it began.
    void settle(std::uint64_t drained_ns);
    void settle_all();
    void close_files() { reader_.close_files(); }

    /// Whether there are so many records that their cost would distort what is measured.
    bool too_many_records() const { return too_many_; }
    /// Ends the use of records: from now on waits are estimated from regular looks.
    void continue_without_records(std::uint64_t now_ns);

    bool has_samples() const { return emitted_; }
    /// Why stacks of blocked threads cannot be read; empty if they can.
    const std::string& problem() const { return reader_.why_refused(); }
    std::vector<Deadlock> take_deadlocks() { return holders_.take_deadlocks(); }
    void add_to(Counters& counters) const;
    std::size_t memory() const { return registry_.memory() + holders_.memory() + locks_.memory(); }

private:
    void on(const ThreadSwitched& record);
    void on(const ThreadStarted& thread);
    void on(const ThreadEnded& thread);
    void on(const SamplesLost& lost);
    void on(const auto&) {}
    void look_at_some(double share, const std::function<void()>& drain);
    void look_at(const WaitRegistry::Wait& wait);
    void read_accounts();
    void emit(const WaitRegistry::Span& span);
    void emit_held(const WaitRegistry::Span& span, EventId event, ThreadId thread);
    WaitPlace read_wait(std::uint32_t tid, const BlockedThread& thread);
    StackId stack_of(const WaitRegistry::Span& span);
    void watch_rate(std::uint64_t now_ns);
    bool running() const { return until_ns_ == not_paused; }
    double uniform();  // between 0 and 1
    void set_next_look(std::uint64_t now_ns);

    static constexpr std::uint64_t not_paused = ~std::uint64_t{0};

    Pipeline& pipeline_;
    const OffCpuSettings settings_;
    WaitRegistry registry_;
    BlockedReader reader_;
    LockHolders holders_;
    LockSums locks_;
    WaitReasons reasons_;
    TickWaits ticks_;
    std::minstd_rand random_;
    bool records_;  // switch records are read
    bool too_many_ = false;
    std::uint64_t rate_since_ns_ = 0, records_before_ = 0;
    bool emitted_ = false;
    std::uint64_t last_record_ns_ = 0;
    std::uint64_t until_ns_ = 0;  // what comes later does not count; not_paused: all does
    std::uint64_t last_look_ns_ = 0, next_look_ns_ = 0;
    std::uint64_t last_settle_ns_ = 0;
    std::uint64_t drained_ns_ = 0;
    std::uint64_t looks_ = 0, truncated_ = 0, never_woke_ns_ = 0;
    double cost_ns_ = 20'000;  // CPU time of the collector for a wait that is read
    std::vector<WaitRegistry::Wait> unread_;
    std::vector<HeldLooks*> held_;
    std::vector<std::uint32_t> without_account_;
};

}  // namespace flameprobe
