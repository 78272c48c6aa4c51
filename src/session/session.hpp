// One process's profiling: its options, its log and its collector. Made once, never destroyed: other threads may still
// be in it when the process ends.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/host_process.hpp"
#include "flameprobe/flameprobe.h"
#include "sandbox/host_restrictions.hpp"
#include "session/collector.hpp"
#include "session/core_api.h"

namespace flameprobe {

/// Whether the calling code is still in the process that a session was made in: a forked child has its memory, and a
/// child of vfork even shares it. That process is the host (base/host_process.hpp) from here on.
class OwnProcess {
public:
    OwnProcess() noexcept : mark_(make_mark()) { begin(); }
    /// This process, in a forked child: `parent` is not here any more.
    explicit OwnProcess(const OwnProcess& parent) noexcept : mark_(parent.mark_), generation_(parent.generation_ + 1) {
        begin();
    }

    /// Async-signal-safe. A forked child is told apart without a system call: in a pid namespace of its own it may have
    /// its parent's number. Makes none in a host that is in a filter either: a child of vfork cannot be told apart
    /// there, and would only end its parent's profile too early.
    bool is_here() const noexcept { return marked() && (host_is_filtered || ::getpid() == pid_); }
    /// The same, asking the kernel where a filter may be in force too.
    bool is_surely_here() const noexcept { return marked() && ::getpid() == pid_; }

private:
    /// Tells a forked child apart without a system call: it finds the page empty.
    static volatile std::uint32_t* make_mark() noexcept {
        constexpr std::size_t size = 4096;
        void* const page = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) return nullptr;
        ::madvise(page, size, MADV_WIPEONFORK);
        return static_cast<std::uint32_t*>(page);
    }
    void begin() noexcept {
        set_host_process(pid_);
        if (mark_ != nullptr) *mark_ = generation_;
    }
    bool marked() const noexcept { return mark_ == nullptr || *mark_ == generation_; }

    const int pid_ = ::getpid();
    volatile std::uint32_t* const mark_;  // the generation of the process; null if there was no memory for it
    const std::uint32_t generation_ = 1;
};

/// The result of a call of the public interface.
struct [[nodiscard]] Outcome {
    flameprobe_code code = FLAMEPROBE_OK;
    std::string message;  // one line, empty if all is well

    bool ok() const { return code == FLAMEPROBE_OK; }
};

/// What a process was asked for. A forked child has its parent's, at the same place.
struct Given {
    explicit Given(std::vector<std::string> lines);

    const std::vector<std::string> settings;
    std::vector<std::string> problems;  // written by what makes `options`
    const Options options;
};

class Session {
public:
    /// What it is in its run: the first process's first, a child's, or that of a start with other options.
    enum class Kind { first, child, another };
    /// Thread-safe from here on. Only the first one logs what is wrong with the settings. `given` must outlive it.
    Session(const Given& given, Kind kind);
    /// In a forked child: its own, for what `parent` was asked for.
    explicit Session(const Session& parent);

    const Given& given() const { return given_; }
    const Options& options() const { return given_.options; }
    bool of_this_process() const noexcept { return process_.is_here(); }
    bool is_surely_of_this_process() const noexcept { return process_.is_surely_here(); }

    Outcome start();
    /// Like start(), without waiting for it: a forked child that goes on to exec must not be held up.
    Outcome start_soon();
    Outcome stop();
    /// `path`: a template as FLAMEPROBE_OUT takes; empty: that of the options.
    Outcome dump(const std::string& path);
    bool attaches_threads() const noexcept { return sampling() && collector_.sampling().attaches_threads(); }
    /// Whether it has ended for good: its results are written, or about to be.
    bool finished() const { return of_this_process() && collector_.life().ends(); }
    bool sampling() const { return collector_.sampling().on(); }
    /// Whether a child forked now is to be sampled: sampling() is still false while a start_soon() is under way.
    bool children_wanted() const {
        return options().children && !collector_.sampling().broken() && (wanted_ || sampling());
    }
    /// Ends the collector's thread, with everything kept for come_back(). False if there is none, or no answer, or
    /// `when` is not. libc changes the user of all threads, and ends the process where one may not do what another may
    /// (glibc's setxid).
    bool step_aside(flameprobe_aside when);
    /// For a program that must have one thread: ends a collector that is one, for good. Neither this process nor its
    /// children are sampled then.
    void leave_if_thread();
    Outcome come_back();
    /// As flameprobe_core::make_room.
    bool make_room() noexcept;
    /// Whether no thread of the host is left but the caller, while the collector goes on. Waits 10 ms at most for those
    /// that are about to be gone.
    bool left_alone();
    /// Launches the collector, so that the signal of FLAMEPROBE_SIGNAL can start sampling.
    Outcome launch();

    // Async-signal-safe.
    void toggle() noexcept;
    /// Waits until the collector has acted. Does nothing without a collector, and in another process.
    void ask(Request request) noexcept;
    /// Before a change of the user or group; as flameprobe_core::becomes_user. A child of vfork changes its own.
    void becomes_user(unsigned user) noexcept {
        if (!of_this_process()) return;
        collector_.next_user.store(user, std::memory_order_relaxed);
        ask(request_secure);
    }
    /// Makes the collector see host_is_filtered.
    void wake_collector() noexcept { collector_.commands().nudge(); }
    void finish() noexcept;
    /// The engine's signal becomes the host's: sampling stops.
    void yield_signal() noexcept;
    void before_filter(const void* program, unsigned long flags) noexcept;
    void thread_begins() noexcept;
    void thread_ended(std::uint64_t routine, std::uint64_t caller) noexcept;
    CrashRecord& crash_record() noexcept { return collector_.sampling().crash_record(); }

    void messages();

private:
    bool launched() const noexcept { return !collector_.life().is(Life::State::none); }
    Outcome create_collector();
    bool only_caller_lives() const;
    bool is_thread_of_host();
    void wait_for_end(std::uint32_t tid) noexcept;
    bool send_away(Request last);
    Outcome unanswered(flameprobe_code code) const;
    bool ask_and_wait(Request request) noexcept;
    void release_host_resources() noexcept;
    /// Without a system call.
    void wait_until_gone(std::uint64_t limit_ns) noexcept;

    const Given& given_;
    const OwnProcess process_;
    const PathFacts facts_;
    Log log_;
    std::mutex mutex_;                 // launching, dumping
    std::atomic<bool> wanted_{false};  // sampling was asked for, and not stopped since
    unsigned dumps_ = 0;
    std::optional<std::uint32_t> late_dump_;  // the ticket of one whose caller has stopped waiting
    Collector collector_;
};

// Which session is this process's: at load, in a forked child, and where the API begins another.

/// Null before the first. Async-signal-safe.
Session* current_session() noexcept;

/// Makes the first session of this process; sampling starts if the settings say so, or else `start_by_default`.
Outcome load_session(std::vector<std::string> settings, bool start_by_default);
/// In a forked child: makes a session of its own, with a profile of its own; sampling starts if the parent was sampled.
Outcome follow_fork();
/// Starts sampling, by another session if the settings, of which the last `given` are the caller's own, ask for
/// something else. Thread-safe.
Outcome start_session(std::vector<std::string> settings, std::size_t given);

}  // namespace flameprobe
