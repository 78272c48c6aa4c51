// How much of a thread's CPU time its samples in system calls stand for, where perf samples user code only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <unordered_map>

namespace flameprobe {

/// A thread's time in the kernel is its CPU clock less what perf's samples stand for: that is due. Its CPU timer's
/// samples in system calls share it. Each weighs the periods that expired, corrected by an eighth of what differs from
/// the due, to between 0 and twice as much. So they add up to the clock, and the time of one stretch of the program
/// stays with the samples of that stretch.
///
/// Page faults and interrupts are kernel time outside of system calls. A timer that expires in one looks as in user
/// code, so the timer finds user code more often than perf does. What is beyond three standard deviations is taken for
/// the time of faults and interrupts, and is not due.
///
/// While the kernel leaves a system call an interrupt may be held back until the first instruction after the call. perf
/// samples that as user code; the timer's signal looks as if the tick had come in the call. So at each such place as
/// many of the timer's hits are left out as perf has samples there.
///
/// Collector thread only.
class KernelShare {
public:
    /// `periods_per_hit`: of one expiry, above 1 where the kernel's tick is longer than the period.
    KernelShare(std::uint64_t period_ns, double periods_per_hit)
        : period_ns_(static_cast<double>(period_ns)), periods_per_hit_(periods_per_hit) {}

    /// perf sampled the thread in user code; the sample stands for `cpu_ns` (a thread may have a period of its own).
    /// `after_call`: the pc, if it is where a system call has just returned.
    void user_sample(std::uint32_t tid, std::uint64_t cpu_ns, std::optional<std::uint64_t> after_call) {
        const auto ns = static_cast<double>(cpu_ns);
        if (after_call) after_calls_[*after_call] += ns;
        Thread& thread = threads_[tid];
        thread.due_ns -= ns;
        thread.user_samples_ns += ns;
    }
    /// perf had no room for samples of user code that stand for `cpu_ns`, of threads unknown: they are reported as
    /// lost, so they are no kernel time.
    void lost(std::uint64_t cpu_ns) { lost_ns_ += static_cast<double>(cpu_ns); }
    /// Since the last call the thread used `cpu_ns`, and its timer's hits in user code stand for `user_ns`.
    void used(std::uint32_t tid, std::uint64_t cpu_ns, std::uint64_t user_ns) {
        Thread& thread = threads_[tid];
        thread.due_ns += static_cast<double>(cpu_ns);
        thread.user_hits_ns += static_cast<double>(user_ns);
        const double variance = thread.user_hits_ns * periods_per_hit_ + thread.user_samples_ns + period_ns_;
        const double deviation = std::sqrt(variance * period_ns_);
        const double faults = std::max(0.0, thread.user_hits_ns - thread.user_samples_ns - 3 * deviation);
        thread.due_ns -= faults - thread.faults_ns;
        thread.faults_ns = faults;
        const double lost = std::clamp(thread.due_ns, 0.0, lost_ns_);
        thread.due_ns -= lost;
        lost_ns_ -= lost;
        if (thread.unsampled) thread.due_ns = std::min(thread.due_before_ns, period_ns_);
        thread.unsampled = false;
        thread.due_before_ns = thread.due_ns;
    }
    /// The thread's timer did not run in the time that the next used() reports: no sample stands for it.
    void unsampled(std::uint32_t tid) { threads_[tid].unsampled = true; }
    /// What a sample in the system call that returns to `pc` stands for, where its timer has `cpu_ns`; 0: it is not to
    /// be counted.
    std::uint64_t weigh(std::uint32_t tid, std::uint64_t cpu_ns, std::uint64_t pc) {
        constexpr double gain = 0.125;
        Thread& thread = threads_[tid];
        auto expired = static_cast<double>(cpu_ns);
        if (const auto found = after_calls_.find(pc); found != after_calls_.end()) {
            const double of_user = std::min(expired, found->second);
            found->second -= of_user;
            thread.user_hits_ns += of_user;
            expired -= of_user;
        }
        const double weight = std::clamp(expired + gain * (thread.due_ns - expired), 0.0, 2 * expired);
        thread.due_ns -= weight;
        return static_cast<std::uint64_t>(weight);
    }
    void forget(std::uint32_t tid) { threads_.erase(tid); }

private:
    struct Thread {
        double due_ns = 0;         // kernel time for which no sample stands yet
        double due_before_ns = 0;  // `due_ns` at the last used()
        double user_hits_ns = 0, user_samples_ns = 0;
        double faults_ns = 0;  // in page faults and interrupts
        bool unsampled = false;
    };

    double period_ns_;
    double periods_per_hit_;
    double lost_ns_ = 0;  // lost samples not yet subtracted from some thread's `due_ns`
    std::unordered_map<std::uint32_t, Thread> threads_;
    /// By pc: CPU time of perf's samples there, for which no hit of the timer has been left out yet.
    std::unordered_map<std::uint64_t, double> after_calls_;
};

}  // namespace flameprobe
