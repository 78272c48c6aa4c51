// The collector: the thread or task that samples, how it begins and ends, and what the host's threads ask of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "session/birth.hpp"
#include "session/command_queue.hpp"
#include "session/life.hpp"
#include "session/log.hpp"
#include "session/options.hpp"
#include "session/output_path.hpp"
#include "session/sampling.hpp"
#include "session/task.hpp"

namespace flameprobe {

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
    /// Whether `routine` is the start routine of the collector's thread.
    static bool is_start_routine(void* (*routine)(void*)) { return routine == &Collector::thread_main; }
    Sampling& sampling() { return sampling_; }
    const Sampling& sampling() const { return sampling_; }
    /// Of a forked child: what is done before launch(), and at an end that may come before sampling.
    Birth& birth() { return birth_; }
    const Birth& birth() const { return birth_; }

    /// Whether its thread ended at once, since there was no memory for it.
    bool without_memory() const { return without_memory_.load(std::memory_order_relaxed); }

    /// Whether somebody has killed the collector's task.
    bool was_killed() const { return is_task() && task_.ended(); }

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
    void end_before_filter();
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
