#include "capture/kernel_share.hpp"

#include <algorithm>
#include <cmath>

namespace flameprobe {

void KernelShare::user_sample(std::uint32_t tid, std::uint64_t cpu_ns, std::optional<std::uint64_t> after_call) {
    const auto ns = static_cast<double>(cpu_ns);
    if (after_call) after_calls_[*after_call] += ns;
    Thread& thread = threads_[tid];
    thread.due_ns -= ns;
    thread.user_samples_ns += ns;
}

void KernelShare::used(std::uint32_t tid, std::uint64_t cpu_ns, std::uint64_t user_ns) {
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

std::uint64_t KernelShare::weigh(std::uint32_t tid, std::uint64_t cpu_ns, std::uint64_t pc) {
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

}  // namespace flameprobe
