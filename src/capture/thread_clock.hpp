// When one thread's event samples it, and for how much of its CPU time each sample stands.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/hash.hpp"

namespace flameprobe {

/// What all threads' clocks have in common.
struct ClockRate {
    std::uint64_t period_ns = 0;  // a sample stands for this much on average
    std::uint64_t least_ns = 0;   // a period that repeats is no shorter: the kernel throttles, or the ring is full
    bool user_only = false;       // expiries in the kernel give no sample, though the event counts that time
    bool one_shots = true;        // false: PERF_EVENT_IOC_REFRESH is not to be used

    std::uint64_t lives_on_ns() const { return 10 * period_ns; }  // see ThreadClock::lives_on_ns()
};

/// P is the period that was asked for. A perf event has one period at a time, and counts anew when it is set.
///
/// A settled thread's period is drawn from [P/2, 3P/2], and again at the first drain after four samples: so no rhythm
/// of the program is in step with it for long. Short periods give more samples until the next draw than long ones, and
/// a draw cuts off the period that has begun. So periods are multiplied by a pace, which is corrected by the number of
/// samples so far. A sample stands for what the event has counted since the last one.
///
/// A brief thread would be sampled late in its life only. So it has one period X, uniform in (0, P), which repeats. A
/// sample at count t stands for P / sum(1/k) over all k with least <= t/k < P: the density with which X = t/k puts one
/// at t. An X below `least` (a quarter of P, or more) gives one sample only. This is right for many threads, not for
/// one: a thread that lives on is settled. If nearly all threads end within a part of P (NewThreadShare::reach_us),
/// only those whose X lies in that part have an event until then, for one sample.
class ThreadClock {
public:
    ThreadClock() = default;
    /// `reach_ns`: of a brief thread; 0: its X may be any.
    ThreadClock(const ClockRate& rate, bool brief, std::uint64_t seed, std::uint64_t reach_ns = 0)
        : rate_(rate), random_(seed), brief_(brief) {
        least_ns_ = std::min(std::max(rate.period_ns / 4, rate.least_ns), rate.period_ns - 1);
        if (!brief) {
            period_ns_ = std::min(settled_period(), rate.period_ns - below(rate.period_ns / 2));  // its first is soon
        } else {
            reaches_ = reach_ns != 0;
            period_ns_ = 1 + below(reaches_ ? reach_ns : rate.period_ns);
            if (!rate.one_shots) period_ns_ = std::max(period_ns_, least_ns_);
        }
    }

    /// To open the event with, or to set: see draw().
    std::uint64_t period_ns() const { return period_ns_; }
    /// The event gives one sample only (PERF_EVENT_IOC_REFRESH), until draw().
    bool one_shot() const { return brief_ && (reaches_ || period_ns_ < least_ns_); }
    bool brief() const { return brief_; }
    /// It has this sample only: what is left of the thread's life is sampled by another clock.
    bool reaches() const { return reaches_; }

    /// A sample came when the event had counted `count_ns`: the CPU time for which it stands.
    std::uint64_t weigh(std::uint64_t count_ns) {
        if (one_shot() && samples_ != 0) return 0;  // it came before PERF_EVENT_IOC_REFRESH
        ++samples_;
        const std::uint64_t before = std::max(last_ns_, settled_ns_), since = count_ns - std::min(count_ns, before);
        last_ns_ = std::max(last_ns_, count_ns);
        lost_ns_ = std::min(std::exchange(lost_records_, 0) * rate_.period_ns, since - std::min(since, period_ns_));
        if (brief_ || count_ns < settled_ns_) return weight_of_brief(count_ns);
        const std::uint64_t left_at_end_ns = std::exchange(left_at_end_ns_, 0);
        if (!rate_.user_only) return since - lost_ns_ + left_at_end_ns;
        if (count_ns < epoch_ns_) return period_before_ns_;  // taken before draw(), drained after it
        return period_ns_ + (count_ns - epoch_ns_ < period_ns_ * 3 / 2 ? abandoned_ns_ : 0) + left_at_end_ns;
    }
    /// Records found no room, of samples or others. The next sample's count shows how many samples there can have been.
    void lost(std::uint64_t records) { lost_records_ += records; }
    /// After weigh(): CPU time before that sample for which the lost ones would have stood.
    std::uint64_t take_lost_ns() { return std::exchange(lost_ns_, 0); }
    /// When the thread has ended, or sampling stops, at `count_ns`: the same, of `records` or of lost() if that is
    /// more. The next sample does not stand for it.
    std::uint64_t take_lost_until(std::uint64_t count_ns, std::uint64_t records) {
        const std::uint64_t before = std::max(last_ns_, settled_ns_), since = count_ns - std::min(count_ns, before);
        records = std::max(records, std::exchange(lost_records_, 0));
        const std::uint64_t lost_ns = since < period_ns_ ? 0 : std::min(records * rate_.period_ns, since);
        if (lost_ns != 0) last_ns_ = before + lost_ns;
        return lost_ns;
    }
    /// Whether the period should be drawn anew, after the thread's samples were read.
    bool wants_draw() const { return brief_ ? last_ns_ >= lives_on_ns() : samples_ >= least_samples; }
    /// CPU time after which a thread is no brief one.
    std::uint64_t lives_on_ns() const { return rate_.lives_on_ns(); }
    /// Draws a period; drawn() is to follow, when it is set.
    std::uint64_t draw() {
        const std::uint64_t period = settled_period();
        if (brief_) return drawn_ns_ = period;
        return drawn_ns_ = std::max(static_cast<std::uint64_t>(pace_ * static_cast<double>(period)), rate_.least_ns);
    }
    /// The drawn period is set, and the event has counted `count_ns`.
    void drawn(std::uint64_t count_ns) {
        const std::uint64_t since = count_ns - std::min(count_ns, epoch_ns_);
        abandoned_ns_ = brief_ ? 0 : since % period_ns_;
        if (!brief_) {
            adjust_pace(since / period_ns_, count_ns);
        } else {
            settled_ns_ = count_ns;
            left_at_end_ns_ = rate_.period_ns * 13 / 24;  // E(X^2) / 2 E(X) of settled_period()
        }
        period_before_ns_ = period_ns_;
        period_ns_ = drawn_ns_;
        epoch_ns_ = count_ns;
        brief_ = false;
        samples_ = 0;
    }

private:
    static constexpr std::uint32_t least_samples = 4;  // between two draws

    std::uint64_t settled_period() {
        const std::uint64_t least = std::max(rate_.period_ns / 2, rate_.least_ns);
        return least + below(std::max(rate_.period_ns * 3 / 2, least + 1) - least);
    }
    // Over 16 holds of a period, so that one short or long period changes little. The kernel throttles where many
    // samples find no room: the pace is bounded.
    void adjust_pace(std::uint64_t expiries, std::uint64_t count_ns) {
        expiries_ += expiries;
        const double asked = static_cast<double>(count_ns - settled_ns_) / static_cast<double>(rate_.period_ns);
        const auto over = static_cast<double>(16 * std::max<std::uint64_t>(expiries, least_samples));
        pace_ = std::clamp(1 + (static_cast<double>(expiries_) - asked) / over, 0.8, 1.25);
    }
    std::uint64_t below(std::uint64_t bound) { return next_random(random_) % bound; }
    std::uint64_t weight_of_brief(std::uint64_t count_ns) const {
        double density = 0;
        for (std::uint64_t k = count_ns / rate_.period_ns + 1; k <= count_ns / least_ns_; ++k)
            density += 1 / static_cast<double>(k);
        if (density == 0 || reaches_) return rate_.period_ns;
        return static_cast<std::uint64_t>(static_cast<double>(rate_.period_ns) / density);
    }

    ClockRate rate_;
    std::uint64_t random_ = 0, least_ns_ = 1;
    bool brief_ = false, reaches_ = false;
    std::uint64_t period_ns_ = 1, period_before_ns_ = 1, drawn_ns_ = 1;
    std::uint64_t last_ns_ = 0;         // the event's count at the last sample
    std::uint64_t epoch_ns_ = 0;        // and when the period was set
    std::uint64_t settled_ns_ = 0;      // and when the thread was settled: before, it was a brief one
    std::uint64_t abandoned_ns_ = 0;    // part of a period that was cut off then
    std::uint64_t left_at_end_ns_ = 0;  // after the last sample of many threads, in the mean: the first one has it too
    std::uint32_t samples_ = 0;         // since the last draw
    std::uint64_t expiries_ = 0;        // since the thread was settled, up to the last draw
    double pace_ = 1;                   // of the next periods
    std::uint64_t lost_records_ = 0;    // since the last sample
    std::uint64_t lost_ns_ = 0;         // see take_lost_ns()
};

}  // namespace flameprobe
