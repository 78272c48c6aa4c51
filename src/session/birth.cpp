#include "session/birth.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/host_process.hpp"
#include "capture/alloc/host_allocations.hpp"
#include "collect/usage.hpp"

namespace flameprobe {

void Birth::begin(std::uint32_t start_ticket) {
    start_ticket_ = start_ticket;
    time_ns_ = monotonic_ns();
    process_ns_ = host_cpu_ns();
    counts_ = true;
    life_.step<Life::State::none, Life::State::newborn>();
}

// A quarter of the 20 ms below which a process that no sample hit leaves no results anyway (FLAMEPROBE_MIN_CPU): more
// than a database's process for one connection uses. Less where waits are sampled, since looks at them should begin
// early.
std::uint64_t Birth::bound_ns() const {
    const std::uint64_t period = ns_per_second / options_.frequency;
    return options_.off_cpu() ? std::min(ns_per_ms / 2, period / 16) : std::min(options_.least_cpu_ns / 4, period / 2);
}

bool Birth::uses_little() const noexcept { return host_cpu_ns() - process_ns_ < options_.least_cpu_ns; }

bool Birth::leaves_nothing() const {
    return uses_little() && !alloc::any_unattended() && (!any_units_counted() || unit_counts().empty());
}

bool Birth::waits() const noexcept {
    return life_.is(Life::State::newborn) && uses_little() && !any_units_counted() && !alloc::any_unattended();
}

// Most children of a shell or a forking server end here: waking the collector and waiting for its answer would be a
// third of what such a short life costs. One that has used more is accounted for even if on a busy machine its
// collector has not run yet.
bool Birth::end() noexcept {
    if (life_.is(Life::State::newborn) && !waits()) return false;
    return life_.step<Life::State::newborn, Life::State::gone>() || life_.is(Life::State::gone);
}

// The CPU time used meanwhile is not sampled, but accounted for at the end like all that is shorter than a period. On a
// busy machine a child gets little CPU time, so the limit on elapsed time is longer.
bool Birth::outlived(CommandQueue& commands) {
    if (!counts_) return true;
    const std::uint64_t bound = bound_ns(), end = time_ns_ + (options_.off_cpu() ? 4 : 16) * bound;
    std::optional<std::uint32_t> requests;
    std::uint64_t used = 0;
    do {  // at least once: the end may have been asked for before this thread ran
        requests = commands.wait_for_more(start_ticket_, std::max(bound - used, bound / 8));
        used = std::min(host_cpu_ns() - process_ns_, bound);
    } while (!requests && monotonic_ns() < end && used < bound && !alloc::any_unattended());
    life_.step<Life::State::newborn, Life::State::begun>();
    counts_ = !requests || (*requests & last_requests) == 0 || !leaves_nothing();
    return counts_;
}

// From the fork, since the child works while its collector starts. What the collector used as a thread of the child
// does not count as the child's.
std::optional<Recording::CountedTo> Birth::counted_to(bool ends, std::optional<std::uint64_t> thread_used_ns) {
    if (!std::exchange(counts_, false)) return std::nullopt;
    auto since = Recording::count_from_now(true);
    since.ended = ends;
    since.time_ns = time_ns_;
    since.process_ns = process_ns_ + thread_used_ns.value_or(0);
    if (!thread_used_ns) since.own_ns = 0;
    for (auto& reading : since.threads) reading.second = process_ns_;
    return since;
}

}  // namespace flameprobe
