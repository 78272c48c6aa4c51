// The collector: the thread or task that samples, how it begins and ends, and what the host's threads ask of it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/host_process.hpp"
#include "capture/alloc/host_allocations.hpp"
#include "collect/recording.hpp"
#include "collect/usage.hpp"
#include "session/command_queue.hpp"
#include "session/life.hpp"
#include "session/log.hpp"
#include "session/options.hpp"
#include "session/output_path.hpp"
#include "session/sampling.hpp"
#include "session/task.hpp"

namespace flameprobe {

/// The first milliseconds of a forked child, in which its collector opens nothing.
class Birth {
public:
    /// Both must outlive it.
    Birth(const Options& options, Life& life) : options_(options), life_(life) {}

    /// To be called in a forked child, newborn from now, before its collector is launched. The collector then opens
    /// nothing until the child has used half a period of CPU time, or a quarter of FLAMEPROBE_MIN_CPU: one that ends,
    /// or executes another program, before that costs no more than a thread. `start_ticket`: of the request to start.
    /// CPU time and units of work count from now.
    void begin(std::uint32_t start_ticket) {
        start_ticket_ = start_ticket;
        time_ns_ = monotonic_ns();
        process_ns_ = host_cpu_ns();
        counts_ = true;
        life_.step<Life::State::none, Life::State::newborn>();
    }
    /// Whether the child is still newborn, so that nothing is sampled, and has nothing to report if it ends now: it has
    /// not used FLAMEPROBE_MIN_CPU, and has counted no units of work. Async-signal-safe.
    bool waits() const noexcept {
        return life_.is(Life::State::newborn) && uses_little() && !any_units_counted() && !alloc::any_unattended();
    }
    /// To be called when the host ends, by any thread. True if there is nothing to ask the collector for: waits() held,
    /// or the collector is gone. Async-signal-safe.
    /// Most children of a shell or a forking server end here. Waking the collector and waiting for its answer would be
    /// a third of what such a short life costs. A child that has used more is accounted for, even if its collector has
    /// not run yet on a busy machine.
    bool end() noexcept {
        if (life_.is(Life::State::newborn) && !waits()) return false;
        return life_.step<Life::State::newborn, Life::State::gone>() || life_.is(Life::State::gone);
    }

    /// The rest is for the collector's thread. Waits, in a forked child; false if the end was asked for meanwhile, and
    /// would leave nothing.
    /// The CPU time used meanwhile is not sampled, but accounted for at the end like all that is shorter than a period.
    /// On a busy machine a child gets little CPU time, so the limit on elapsed time is longer.
    bool outlived(CommandQueue& commands) {
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
    /// Whether sampling has not started, and its end would leave something all the same: CPU time or units of work.
    bool leaves_something() const { return counts_ && !leaves_nothing(); }
    /// From when the first start of sampling counts; nothing if that is from now. `ends`: it is also the end.
    /// `thread_used_ns`: by the thread of the child before it became a task; nothing if it is still a thread.
    /// From the fork, since the child works while its collector starts. What the collector used as a thread of the
    /// child does not count as the child's.
    std::optional<Recording::CountedTo> counted_to(bool ends, std::optional<std::uint64_t> thread_used_ns) {
        if (!std::exchange(counts_, false)) return std::nullopt;
        auto since = Recording::count_from_now(true);
        since.ended = ends;
        since.time_ns = time_ns_;
        since.process_ns = process_ns_ + thread_used_ns.value_or(0);
        if (!thread_used_ns) since.own_ns = 0;
        for (auto& reading : since.threads) reading.second = process_ns_;
        return since;
    }

private:
    /// A quarter of the 20 ms below which a process that no sample hit leaves no results anyway (FLAMEPROBE_MIN_CPU):
    /// more than a database's process for one connection uses. Less where waits are sampled, since looks at them should
    /// begin early.
    std::uint64_t bound_ns() const {
        const std::uint64_t period = ns_per_second / options_.frequency;
        return options_.off_cpu() ? std::min(ns_per_ms / 2, period / 16)
                                  : std::min(options_.least_cpu_ns / 4, period / 2);
    }
    bool uses_little() const noexcept { return host_cpu_ns() - process_ns_ < options_.least_cpu_ns; }
    bool leaves_nothing() const {
        return uses_little() && !alloc::any_unattended() && (!any_units_counted() || unit_counts().empty());
    }

    const Options& options_;
    Life& life_;
    std::uint32_t start_ticket_ = 0;  // these three are constant once the collector is launched
    std::uint64_t time_ns_ = 0, process_ns_ = 0;
    bool counts_ = false;  // until sampling starts, or the child ends and leaves nothing
};

class Collector {
public:
    Collector(const Options& options, PathFacts paths, OlderResults older, Log& log);

    /// From a host thread, after the step from none: starts the collector with every signal blocked. Else why there can
    /// be no thread (errno), which is a step back.
    int launch();
    Life& life() { return life_; }
    const Life& life() const { return life_; }
    CommandQueue& commands() { return commands_; }
    const CommandQueue& commands() const { return commands_; }
    static bool is_start_routine(void* (*routine)(void*)) { return routine == &Collector::thread_main; }
    Sampling& sampling() { return sampling_; }
    const Sampling& sampling() const { return sampling_; }
    /// Of a forked child: what is done before launch(), and at an end that may come before sampling.
    Birth& birth() { return birth_; }

    /// Whether its thread ended at once, since there was no memory for it.
    bool without_memory() const { return without_memory_.load(std::memory_order_relaxed); }

    bool was_killed() const { return commands_.has_task() && task_.ended() && !life_.is(Life::State::gone); }

    void reap_task() const noexcept { task_.reap(); }

    /// The host's last own code has run. It may be killed before it asks for the results.
    void host_ends() noexcept { host_ends_.store(true, std::memory_order_relaxed); }

    /// Set before request_dump: the path without ending. Afterwards: why it could not be written, or empty.
    std::string dump_stem;
    std::string dump_problem;

    /// Set before request_secure: who the host will be for good; no_user: that is not known.
    std::atomic<uid_t> next_user{no_user};

    /// Set before request_filter: what the host enters the filter with. After the answer the collector may be at its
    /// end because of it.
    const void* filter_program = nullptr;
    unsigned long filter_flags = 0;
    /// After an end for a filter: whether its thread is still there for the kernel.
    bool thread_lives_on() const { return thread_alive_.load(std::memory_order_acquire) == 1; }

private:
    static void* thread_main(void* self);
    void prepare();
    bool is_task() const { return life_.is(Life::State::task); }
    bool becomes_task(std::uint32_t requests);
    bool serve();  // false: a task goes on instead of the thread
    void continue_as_task();
    bool handle(std::uint32_t requests);  // false: the end
    void start(bool ends);
    void poll();
    void show_urgent_lines();
    void finish();
    void end_with_last_thread();
    void before_filter();
    void watch_thread_end();
    std::uint64_t pause_ns() const;

    const Options& options_;
    Log& log_;
    CommandQueue commands_;
    Life life_;
    Birth birth_;
    bool made_by_main_ = false;         // its thread, by the main thread
    std::uint64_t thread_used_ns_ = 0;  // CPU time of the thread before it became a task
    std::atomic<bool> without_memory_{false};
    static constexpr std::uint32_t never_told = ~std::uint32_t{0};
    std::atomic<std::uint32_t> thread_alive_{never_told};  // the kernel writes 0 when the thread has ended

    Task task_;
    std::uint32_t carried_ = 0;  // requests that the thread took and the task will handle

    std::uint64_t last_look_ns_ = 0;
    std::atomic<bool> host_ends_{false};
    std::uint64_t due_ns_ = 0;  // when the engine is to be drained next
    Sampling sampling_;
};

}  // namespace flameprobe
