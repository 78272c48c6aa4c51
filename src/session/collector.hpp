// The one quiet thread: drains the engine on a timer, hands the samples on, keeps the `.fprobe` growing, and writes the
// results at the end.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "collect/crash_record.hpp"
#include "collect/ended_threads.hpp"
#include "collect/recording.hpp"
#include "collect/rotation.hpp"
#include "session/command_queue.hpp"
#include "session/engine.hpp"
#include "session/log.hpp"
#include "session/options.hpp"
#include "session/output_path.hpp"
#include "session/task.hpp"

namespace flameprobe {

class Collector {
public:
    Collector(const Options& options, PathFacts paths, OlderResults older, Log& log);

    /// From a host thread: starts the collector with every signal blocked. False if there can be no thread.
    bool launch();
    CommandQueue& commands() { return commands_; }
    const CommandQueue& commands() const { return commands_; }
    /// Whether `routine` is what the collector's thread was created with.
    static bool begins_with(void* (*routine)(void*)) { return routine == &Collector::thread_main; }
    /// The collector ends by itself: it need not be asked to.
    bool finishing() const { return finishing_.load(std::memory_order_relaxed); }
    /// It is no thread of the host, but a task that shares its memory.
    bool is_task() const { return is_task_.load(std::memory_order_relaxed); }
    /// Whether it is known if the collector is a task or stays a thread.
    bool is_settled() const { return is_settled_.load(std::memory_order_acquire); }
    /// For the handler of a fatal signal; finish() puts it into the profile.
    CrashRecord& crash_record() { return crash_record_; }
    /// For threads of the host at their end.
    EndedThreads& ended_threads() { return ended_threads_; }
    /// Before launch(), in a forked child that was asked to start with this ticket: a child that ends, or executes
    /// another program, within a few milliseconds costs no more than a thread. What counts, CPU time and units of work,
    /// begins now.
    void wait_at_birth(std::uint32_t start_ticket);
    /// Nothing is sampled yet because of that.
    bool waits_at_birth() const { return waits_at_birth_.load(std::memory_order_relaxed); }
    /// Whether there is something that the end has to write. To be read after an answer.
    bool has_recording() const { return has_recording_.load(std::memory_order_relaxed); }
    /// Whether the engine has a timer or an alternate stack per thread.
    bool attaches_threads() const { return sampling() && attaches_threads_.load(std::memory_order_relaxed); }
    bool sampling() const { return sampling_.load(std::memory_order_relaxed); }
    /// Nothing will be sampled any more: see why_not().
    bool broken() const { return broken_; }
    /// Why nothing is sampled: to be read after an answer.
    const std::string& why_not() const { return why_not_; }

    /// Set before request_dump: the path without ending. Afterwards: why it could not be written, or empty.
    std::string dump_stem;
    std::string dump_problem;

    /// Set before request_filter: what seccomp(2) is given. After the answer: whether the collector ends because of it,
    /// and whether the kernel is done with its thread.
    const void* filter_program = nullptr;
    unsigned long filter_flags = 0;
    bool ends_before_filter() const { return thread_alive_.load(std::memory_order_acquire) != never_told; }
    bool is_gone() const { return thread_alive_.load(std::memory_order_acquire) == 0; }

private:
    static void* thread_main(void* self);
    bool outlives_birth();
    void prepare();
    bool serve();  // false: a task goes on instead of the thread
    void go_on_as_task();
    bool host_is_over();
    bool handle(std::uint32_t requests);  // false: the end
    void start();
    void stop();
    void finish();
    bool drawn_by_run() const;
    unsigned workers();
    void alive();
    void leave();
    void dump();
    void next_profile();
    void next_part();
    void drain();
    void poll();
    bool recorded_later() const;
    bool records();
    void record_from_start();
    Recording::CountedTo count_from_now();
    void record();
    void tell_of_engine();
    void tell_of_waits();
    void say(const std::string& sentence);
    void end_with_last_thread();
    void give_up_signal();
    void before_filter();
    void tell_of_end();
    void end_before_filter();
    bool open();
    void begin_profile(std::uint64_t start_ns);
    void begin_recording(const std::string& stem, std::uint64_t start_ns);
    void flush();
    void secure();
    void give_up(const std::string& why);
    std::uint64_t pause_ns() const;
    std::uint64_t wanted_pause_ns() const;

    const Options options_;
    PathFacts paths_;
    OlderResults older_;
    std::set<std::string> dumped_;  // the stems of this process's dumps, which later ones may replace
    Log& log_;
    CommandQueue commands_;
    CrashRecord crash_record_;
    EndedThreads ended_threads_;
    std::atomic<bool> sampling_{false};
    struct Birth {
        std::uint32_t start_ticket = 0;
        std::uint64_t time_ns = 0, process_ns = 0;
    };
    std::optional<Birth> birth_;        // of a forked child, until sampling starts
    std::uint64_t thread_used_ns_ = 0;  // CPU time of the thread before it became a task
    std::atomic<bool> waits_at_birth_{false};
    std::atomic<bool> has_recording_{false};
    std::atomic<bool> attaches_threads_{false};
    std::atomic<bool> broken_{false};
    std::atomic<bool> finishing_{false};
    std::string why_not_ = "sampling was stopped";
    static constexpr std::uint32_t never_told = ~std::uint32_t{0};
    std::atomic<std::uint32_t> thread_alive_{never_told};  // the kernel writes 0 when the thread has ended

    Task task_;
    std::atomic<bool> is_task_{false};
    std::atomic<bool> is_settled_{false};
    bool may_leave_ = false;  // the host's thread group
    bool host_ends_ = false;
    std::uint32_t carried_ = 0;  // requests that the thread took and the task will handle

    RunInfo run_;
    Engine engine_;
    std::string told_note_;  // of the engine, as last said
    bool told_of_waits_ = false;
    std::unique_ptr<Recording> recording_;
    std::optional<Recording::CountedTo> not_recorded_since_;  // sampling is on, and there was nothing to record yet
    Rotation rotation_;
    std::uint64_t last_flush_ns_ = 0;
    std::uint64_t last_clocks_ns_ = 0;
    std::uint64_t last_look_ns_ = 0;
    std::uint64_t next_dump_ns_ = 0;
    bool window_begun_ = false;  // of FLAMEPROBE_PUSH
    std::uint64_t hurry_until_ns_ = 0;
    std::uint64_t samples_before_ = 0;  // the last drain: an idle host is not woken often
};

}  // namespace flameprobe
