// Readings of a thread's CPU clock while it is sampled, and what its samples must add up to.
//
// The kernel notices a CPU timer at a tick that hits while the thread runs. On a busy machine that is rare: a sample
// then stands for many periods, and much time at the thread's end stands in none. But all that was used before a
// thread's last sample is counted exactly, however busy the machine is. So the samples are compared with the CPU clock
// at the time of the last one.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "capture/timer_slots.hpp"
#include "collected.hpp"

namespace flameprobe::test {

struct Moment {
    std::uint64_t time_ns = 0;
    std::uint64_t cpu_ns = 0;  // of the thread
    static Moment now() {
        const std::uint64_t cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID);
        return {monotonic_ns(), cpu_ns};  // in this order: no more CPU time than was used by time_ns
    }
    /// Of another thread, which need not call anything here.
    static Moment of(std::uint32_t tid) { return {monotonic_ns(), read_clock(thread_cpu_clock(tid))}; }
};

/// Hundredths of a second that a hypervisor took from all CPUs (proc_stat(5)): perf's cpu-clock goes on meanwhile, the
/// threads' CPU clocks do not.
inline std::uint64_t stolen_so_far() {
    std::ifstream file("/proc/stat");
    std::string cpu;
    std::uint64_t ticks = 0;
    file >> cpu;
    for (int column = 0; column < 8; ++column) file >> ticks;
    return ticks;
}

/// A thread's CPU clock, noted every few milliseconds of its work.
class CpuLog {
public:
    void note() { moments_.push_back(Moment::now()); }
    const Moment& first() const { return moments_.front(); }
    const Moment& last() const { return moments_.back(); }
    std::uint64_t used_ns() const { return last().cpu_ns - first().cpu_ns; }
    std::uint64_t stolen_ticks() const { return stolen_so_far() - stolen_before_; }
    /// The most that the thread may have lost to it, in milliseconds: the counter's unit is ten. 0 on a real machine.
    double stolen_ms() const { return stolen_so_far() == 0 ? 0 : 10 * (static_cast<double>(stolen_ticks()) + 1); }
    /// A lower bound of what the clock showed at `time_ns`: the last reading before it; 0 if there is none.
    std::uint64_t least_at(std::uint64_t time_ns) const {
        const auto after = std::upper_bound(moments_.begin(), moments_.end(), time_ns,
                                            [](std::uint64_t time, const Moment& m) { return time < m.time_ns; });
        return after == moments_.begin() ? 0 : std::prev(after)->cpu_ns;
    }

private:
    std::vector<Moment> moments_;
    std::uint64_t stolen_before_ = stolen_so_far();
};

inline constexpr std::uint64_t most_cpu_ns = 10 * ns_per_second;

/// Works until `enough()`; gives up after `most_cpu_ns`, so that the caller's check fails instead of waiting for ever.
template <class Enough>
CpuLog work_until(const Enough& enough) {
    CpuLog log;
    KnownShares work;
    for (log.note(); !enough() && log.used_ns() < most_cpu_ns; log.note()) work.round();
    return log;
}

/// When a thread was sampled: from some moment between `before` and `from`, to `until`.
struct Sampled {
    Moment before, from, until;
};

/// Checks that the samples of that time weigh as much as the thread's CPU time in it up to the last of them, no more.
inline void check_covered(const Seen& seen, const CaptureFacts& facts, std::uint32_t tid, const Sampled& when,
                          const CpuLog& log) {
    std::uint64_t weight = 0, last_ns = 0, hits = 0;
    for (const auto& sample : seen.samples) {
        if (sample.tid != tid || sample.time_ns <= when.before.time_ns || sample.time_ns > when.until.time_ns) continue;
        ++hits;
        weight += sample.weight;
        last_ns = std::max(last_ns, sample.time_ns);
    }
    const auto ms = [](std::uint64_t ns) { return static_cast<double>(ns) / 1e6; };
    const double least = ms(log.least_at(last_ns)) - ms(when.from.cpu_ns);
    const double most = ms(when.until.cpu_ns) - ms(when.before.cpu_ns);
    const double sampled = ms(weight);
    // Of each period one expiry counts, at any place in it: at both ends one may be too many or missing. Samples have
    // the time of a coarse clock, which is up to a tick late: one more may seem to be from before the start.
    // A timer's ticks may come late, which is made up for where it is more than chance, a quarter of it at each tick
    // (TickWeight): where they always come late, as beside many others, several ticks' delay is never made up.
    const double late =
        most / static_cast<double>(std::max<std::uint64_t>(hits, 1)) - std::max(ms(facts.period_ns), ms(tick_ns()));
    const double ticks = (8 + std::sqrt(most / ms(tick_ns()))) * ms(tick_ns()) + 8 * std::max(late, 0.0);
    const double slack = 3 * ms(facts.period_ns) + 5 + (facts.handlers ? ticks : 0);
    // perf drops what falls into the kernel where it may not be sampled. Of work that only computes a hundredth does,
    // on a busy machine (page faults, switches) two or three.
    const double dropped = facts.engine == EngineKind::ring && !facts.kernel ? least / 20 : 0;
    CAPTURE(tid);
    CAPTURE(least);
    CAPTURE(most);
    CAPTURE(hits);
    CAPTURE(seen.lost_ns);
    CAPTURE(log.stolen_ticks());
    CHECK(sampled <= most + slack + (facts.engine == EngineKind::timer ? 0 : log.stolen_ms()));
    CHECK(sampled + ms(seen.lost_ns) + slack + dropped >= least);
}

/// The same for a thread that was sampled from the first note on, and not before `before`.
inline void check_covered(const Seen& seen, const CaptureFacts& facts, std::uint32_t tid, const Moment& before,
                          const CpuLog& log) {
    check_covered(seen, facts, tid, {before, log.first(), {~std::uint64_t{0}, log.last().cpu_ns}}, log);
}

}  // namespace flameprobe::test
