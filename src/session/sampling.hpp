// Sampling of this process: the engine, which is drained in time, and the profile that its samples go to.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "collect/crash_record.hpp"
#include "collect/ledger.hpp"
#include "collect/recording.hpp"
#include "session/engine.hpp"
#include "session/log.hpp"
#include "session/new_threads.hpp"
#include "session/options.hpp"
#include "session/profile_series.hpp"

namespace flameprobe {

/// The collector thread only, but for what says otherwise.
class Sampling {
public:
    Sampling(const Options& options, PathFacts paths, OlderResults older, Log& log, std::function<void()> alive);

    // Thread-safe.
    bool on() const { return is(Phase::waiting) || is(Phase::on); }
    /// For good: see why_not(), to be read after an answer of the collector.
    bool broken() const { return is(Phase::broken); }
    const std::string& why_not() const { return why_not_; }
    /// Whether the engine has a timer or an alternate stack per thread.
    bool attaches_threads() const { return attaches_threads_.load(std::memory_order_relaxed); }
    bool has_recording() const { return profiles_.begun(); }
    /// For the handler of a fatal signal; finish() puts it into the profile.
    CrashRecord& crash_record() { return crash_record_; }
    /// For threads of the host at their beginning and end.
    NewThreads& new_threads() { return new_threads_; }
    EndedThreads& ended_threads() { return ended_threads_; }

    /// Opens the engine, if that is not done. False: nothing can be sampled.
    bool open();
    bool works_outside() const;
    /// Whether exec may have replaced the program: every sampled thread has ended, or nothing was recorded since it
    /// was about to.
    bool may_be_replaced() const { return on() && (completed_ || engine_.source->ended()); }
    /// To be called after open(). CPU time counts from `from`, or else from now.
    void start(const std::optional<Recording::CountedTo>& from);
    /// `for_good`: start() will not follow.
    void stop(bool for_good = false);
    /// To be called at least as often as pause_ns() says: drains samples, looks at waits, flushes, begins the next
    /// file. Where `host_ends` the last one is drawn by finish(), which someone waits for, and not as a dump.
    void poll(bool host_ends = false);
    std::uint64_t pause_ns() const;
    /// To be called whenever the collector is woken: opens the events of new threads that wait for it.
    void meet_threads();
    /// To be called about once a second: reports in the log and the profile what the engine could not go on with.
    void report_engine_note();
    /// Whether something is in the log since the last call that no thread of the host may come to write: the program
    /// took all signals, or its threads hang.
    bool takes_urgent() { return std::exchange(urgent_, false); }

    /// Writes the samples so far to the file; a file without any is removed.
    void keep();
    /// The process's image is about to go: completes the profile and its results. If the image stays, sampling goes on
    /// in another profile.
    void complete();
    /// It has gone: what the process has used since then is the next image's.
    void image_is_gone();
    /// Creates the file while it can be: the process is about to lose the right to. `user`: who it will be for good, or
    /// no_user.
    void secure(uid_t user = no_user);
    /// The results so far, at `stem`: why they could not be written, or empty.
    std::string dump(const std::string& stem);
    /// Closes what is open, before the collector's descriptor table ends; its successor opens it again.
    void leave();
    void finish();
    /// After finish(): gives the memory back.
    void retire();

    /// Gives up the engine's signal handlers. False: the engine needs them.
    bool go_on_without_signals(const std::string& why) {
        return engine_.source && engine_.source->go_on_without_signals(why);
    }
    /// The host takes the engine's signal: goes on without it, or ends sampling.
    void give_up_signal();
    /// How a user draws what is recorded, as the end of a sentence. Also for a host thread, if the collector is no
    /// more.
    std::string how_to_draw() const { return profiles_.how_to_draw(); }
    /// Ends sampling for good, and says why in the log.
    void give_up(const std::string& why);
    /// The same, and says so in the profile too.
    void end(const std::string& why);
    void say(const std::string& sentence) { profiles_.say(sentence); }

private:
    enum class Phase : std::uint8_t {
        off,
        waiting,  // sampling is on, but there was nothing to record yet
        on,
        broken,  // for good
    };
    bool is(Phase phase) const { return phase_.load(std::memory_order_relaxed) == phase; }
    // A broken one stays so.
    void turn(Phase phase) {
        if (!broken()) phase_.store(phase, std::memory_order_release);
    }
    Recording& profile() { return profiles_.now(); }
    bool recorded_later() const;
    bool has_something_to_record() const;
    bool records();
    void record_from_start();
    void begin_recording();
    void drain();
    void go_on();  // while a picture is drawn
    void flush();
    void report(OffCpu& waits);
    void give_up_unless(const Result<void>& done) {
        if (!done) give_up(done.error().message);
    }

    const Options& options_;
    Log& log_;
    ProfileSeries profiles_;
    CrashRecord crash_record_;
    NewThreads new_threads_;
    EndedThreads ended_threads_;
    std::atomic<Phase> phase_{Phase::off};
    std::atomic<bool> attaches_threads_{false};
    std::string why_not_ = "sampling was stopped";

    Engine engine_;
    bool urgent_ = false;
    bool completed_ = false;                   // and nothing was recorded since
    Recording::CountedTo not_recorded_since_;  // while it waits
    std::uint64_t last_flush_ns_ = 0;
    std::uint64_t hurry_until_ns_ = 0;
    std::uint64_t samples_before_ = 0;  // the last drain: an idle host is not woken often
};

}  // namespace flameprobe
