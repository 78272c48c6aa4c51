// The profiles of a run, one after another: how each begins, goes on in another file, and ends with its results.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/result.hpp"
#include "collect/profile_file.hpp"
#include "collect/recording.hpp"
#include "session/drawing_program.hpp"
#include "session/engine.hpp"
#include "session/log.hpp"
#include "session/options.hpp"
#include "session/output_path.hpp"
#include "session/run_folder.hpp"

namespace flameprobe {

/// The collector thread only, but for begun(). An Error is one sentence for the user: sampling cannot go on.
class ProfileSeries {
public:
    ProfileSeries(const Options& options, PathFacts paths, OlderResults older, Log& log, std::function<void()> alive);

    /// Whether there is a profile in progress. Thread-safe.
    bool begun() const { return begun_.load(std::memory_order_relaxed); }
    Recording& now() const { return *recording_; }
    /// `start_ns`: what its times count from (CLOCK_MONOTONIC).
    Result<void> begin(const Engine& engine, std::uint64_t start_ns);

    /// To be called after a flush: these go on in a smaller or another file (FLAMEPROBE_MAX_SIZE), and with the next
    /// numbered profile (FLAMEPROBE_DUMP_EVERY). `drain` brings the profile up to now.
    using Drain = std::function<void()>;
    Result<void> next_part(const Engine& engine, const Drain& drain);
    bool next_is_due(std::uint64_t now_ns) const { return options_.dump_every_ns != 0 && now_ns >= next_dump_ns_; }
    /// `go_on`: samples for the next one while the finished one is drawn.
    Result<void> next(const Engine& engine, const Drain& drain, const std::function<void()>& go_on);

    /// The results so far, beside a profile that goes on: why they could not be written, or empty. `drain` is called
    /// while they are drawn.
    std::string dump(const std::string& stem, const Drain& drain);
    /// Writes the results of the last profile, after now().close().
    void write_results();
    /// The same, where the process goes on: the run's result is not made yet.
    void write_part();
    /// At the process's end, also where there is no profile: the run's result is written by its first process, and by
    /// the last one that goes on after that.
    void end_run();
    /// Before the process becomes this user: makes the run's folder his, so that the run's result can be made of it.
    /// Only in the run's first process: others' folder is that of whoever began the run.
    void give_to(uid_t user);
    /// Removes the profile's file if it got no sample, and the run's folder if nothing else is in it.
    void drop_if_empty();
    void forget();

    /// How a user draws what there is so far, as the end of a sentence; empty if that is nothing.
    std::string how_to_draw() const;
    /// Puts a sentence into the log, once, and into each profile that is in progress when it is said.
    void say(const std::string& sentence);

private:
    RunFolder& folder();
    Result<ProfileFile::Placed> place_in_run();
    void begin_recording(const Engine& engine, const std::string& stem, std::uint64_t start_ns);
    void draw_and_tell(const DrawingOrder& order, const std::function<void()>& meanwhile);
    void tell(const Drawn& drawn);

    const Options& options_;
    PathFacts paths_;
    const OlderResults older_;
    Log& log_;
    const std::function<void()> alive_;
    std::atomic<bool> begun_{false};
    std::unique_ptr<Recording> recording_;
    std::optional<RunFolder> folder_;  // once it is asked for
    Rotation rotation_;
    std::set<std::string> dumped_;  // the stems of this process's dumps, which later ones may replace
    std::uint64_t next_dump_ns_ = 0;
};

}  // namespace flameprobe
