#include "capture/kernel_share.hpp"

#include <algorithm>
#include <cmath>

#include "base/elementary.hpp"

namespace flameprobe {

void KernelShare::user_sample(std::uint32_t tid, std::uint64_t cpu_ns, std::optional<std::uint64_t> after_call) {
    const double periods = static_cast<double>(cpu_ns) / period_ns_;
    if (after_call) after_calls_[*after_call] += periods;
    Thread& thread = threads_[tid];
    thread.due -= periods;
    thread.user_samples += periods;
}

void KernelShare::used(std::uint32_t tid, std::uint64_t cpu_ns, std::uint64_t user_periods) {
    Thread& thread = threads_[tid];
    thread.due += static_cast<double>(cpu_ns) / period_ns_;
    thread.user_hits += static_cast<double>(user_periods);
    const double deviation = std::sqrt(thread.user_hits * periods_per_hit_ + thread.user_samples + 1);
    const double faults = std::max(0.0, thread.user_hits - thread.user_samples - 3 * deviation);
    thread.due -= faults - thread.faults;
    thread.faults = faults;
    const double lost = std::clamp(thread.due, 0.0, lost_);
    thread.due -= lost;
    lost_ -= lost;
    if (thread.unsampled) thread.due = std::min(thread.due_before, 1.0);
    thread.unsampled = false;
    thread.due_before = thread.due;
}

std::uint64_t KernelShare::weigh(std::uint32_t tid, std::uint64_t periods, std::uint64_t pc) {
    constexpr double gain = 0.125;
    Thread& thread = threads_[tid];
    auto expired = static_cast<double>(periods);
    if (const auto found = after_calls_.find(pc); found != after_calls_.end()) {
        const double of_user = std::min(expired, found->second);
        found->second -= of_user;
        thread.user_hits += of_user;
        expired -= of_user;
    }
    if (expired == 0) return 0;
    const double weight = std::clamp(expired + gain * (thread.due - expired), 0.0, 2 * expired) + thread.rounding;
    const double whole = rounded_down(weight + 0.5);
    thread.rounding = weight - whole;
    thread.due -= whole;
    return static_cast<std::uint64_t>(std::max(0.0, whole));
}

std::uint64_t KernelShare::settle(std::uint32_t tid) {
    const auto found = threads_.find(tid);
    if (found == threads_.end() || found->second.due < 1) return 0;
    const double whole = rounded_down(found->second.due);
    found->second.due -= whole;
    return static_cast<std::uint64_t>(whole);
}

std::vector<std::uint32_t> KernelShare::threads() const {
    std::vector<std::uint32_t> tids;
    for (const auto& [tid, thread] : threads_) tids.push_back(tid);
    return tids;
}

}  // namespace flameprobe
