// How much of a thread's CPU time its samples in system calls stand for, where perf samples user code only.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace flameprobe {

/// A thread's time in the kernel is its CPU clock less what perf's samples stand for. The samples that its CPU timer
/// took in system calls share it: each weighs the periods that expired, corrected by an eighth of what is not accounted
/// for, at most to nothing or the double. So they add up to the clock, and the time of one stretch of the program stays
/// with the samples of that stretch.
///
/// Page faults and interrupts are kernel time too, but no system call's. There the timer expires in user code more
/// often than perf sees that code running; what goes beyond three standard deviations is left to them, and beyond one
/// where perf's samples of page faults show that there are some.
///
/// An interrupt that is held back while the kernel leaves a system call hits the first instruction after it: perf
/// samples that as user code, and the timer's signal looks as if the tick had come before. At each such place as many
/// of the timer's hits are left out as perf has samples there.
///
/// All numbers are in sampling periods. Collector thread only.
class KernelShare {
public:
    /// `periods_per_hit`: of one expiry, above 1 where the kernel's tick is longer than the period.
    KernelShare(std::uint64_t period_ns, double periods_per_hit)
        : period_ns_(static_cast<double>(period_ns)), periods_per_hit_(periods_per_hit) {}

    /// perf sampled the thread in user code, which stands for so much CPU time (a thread may have a period of its own);
    /// `after_call`: the pc, if it is where a system call has just returned.
    void user_sample(std::uint32_t tid, std::uint64_t cpu_ns, std::optional<std::uint64_t> after_call);
    /// perf had no room for so many samples of user code, of some thread: they are told of as lost, and are no kernel
    /// time.
    void lost(std::uint64_t samples) { lost_ += static_cast<double>(samples); }
    /// The thread used so much CPU time since it was last told, and its timer expired in user code in between.
    void used(std::uint32_t tid, std::uint64_t cpu_ns, std::uint64_t user_periods);
    /// perf sampled page faults of the thread, so that its time in them has a place to stand.
    void faulted(std::uint32_t tid) { threads_[tid].has_faults = true; }
    /// Periods that the thread spent in page faults and interrupts since this was last asked.
    std::uint64_t in_faults(std::uint32_t tid);
    /// In what is told next its timer did not run: no sample stands for that time.
    void unsampled(std::uint32_t tid) { threads_[tid].unsampled = true; }
    /// What a sample in the system call that returns to `pc` weighs, in which `periods` expired; 0: it is not to be
    /// counted.
    std::uint64_t weigh(std::uint32_t tid, std::uint64_t periods, std::uint64_t pc);
    /// At the thread's end: periods for which its last samples in system calls may stand too.
    std::uint64_t settle(std::uint32_t tid);
    std::vector<std::uint32_t> threads() const;
    void forget(std::uint32_t tid) { threads_.erase(tid); }

private:
    struct Thread {
        double due = 0;       // in the kernel, and no sample stands for it yet
        double told_due = 0;  // when last told
        double user_hits = 0, user_samples = 0;
        double faults = 0;  // in page faults and interrupts
        double told_faults = 0;
        bool has_faults = false;
        double rounding = 0;
        bool unsampled = false;
    };

    double period_ns_;
    double periods_per_hit_;
    double lost_ = 0;  // not yet taken from what some thread is due
    std::unordered_map<std::uint32_t, Thread> threads_;
    std::unordered_map<std::uint64_t, double>
        after_calls_;  // by pc: perf's samples there, for which no hit was left out
};

}  // namespace flameprobe
