// The profiles of a run, one after the other: how each begins, goes on elsewhere, and ends.
#include <errno.h>

#include "base/clock.hpp"
#include "base/proc.hpp"
#include "session/collector.hpp"
#include "session/family.hpp"
#include "session/push_spool.hpp"
#include "session/results.hpp"
#include "session/run_info.hpp"

namespace flameprobe {
namespace {

constexpr const char* without_proc =
    "/proc is not mounted, or is another pid namespace's: threads that ran before are not found, and names may be "
    "missing";
constexpr const char* without_descriptors =
    "the limit of open files (ulimit -n) leaves none for /proc: threads that ran before are not found, and names may "
    "be "
    "missing";

}  // namespace

void Collector::begin_recording(const std::string& stem, std::uint64_t start_ns) {
    const auto& facts = engine_.source->facts();
    run_ = describe_process();
    run_.start_unix_ns -= monotonic_ns() - start_ns;
    run_.engine = facts.engine;
    run_.engine_reason = engine_.reason;
    run_.unwinder = options_.unwind == UnwindChoice::frame_pointer ? "fp" : "dwarf";
    run_.event = facts.event;
    run_.event_kind = facts.event_kind;
    run_.kernel = facts.kernel                           ? "on"
                  : options_.kernel == KernelChoice::off ? "off, as asked for"
                  : facts.kernel_time                    ? "by CPU timers"
                                                         : "off, not permitted";
    run_.frequency_asked = options_.frequency;
    run_.period_ns = facts.period_ns;
    run_.stack_bytes = engine_.stack_bytes;
    for (const auto& [key, value] : options_.labels) run_.labels.push_back({key, value});
    run_.shown.clear();
    for (const auto& event : options_.shown) run_.shown += (run_.shown.empty() ? "" : ",") + event;
    recording_ = std::make_unique<Recording>(run_, stem, older_, facts.buffer_bytes, rotation_.file_bytes(), start_ns);
    recording_->set_least_cpu(options_.least_cpu_ns);
    if (options_.off_cpu())
        recording_->sample_waits(
            {.frequency = options_.offcpu_frequency, .least_ns = options_.offcpu_least_ns, .records = facts.switches});
    std::vector<EventInfo> more;
    for (const auto& [name, kind] : facts.more_events) more.push_back({name, kind, facts.frequency, 0});
    recording_->sample_events(more);
    recording_->set_counter(counter::root_pid, static_cast<std::uint64_t>(family().pid));
    has_recording_ = true;
}

void Collector::begin_profile(std::uint64_t start_ns) {
    rotation_ = Rotation(options_.most_bytes);
    begin_recording(expand_path(options_.out, paths_), start_ns);
    next_dump_ns_ = monotonic_ns() + options_.dump_every_ns;
    if (!options_.push_directory.empty() && !window_begun_) {
        if (const std::string problem = prepare_spool(options_.push_directory); !problem.empty()) give_up(problem);
        next_dump_ns_ = monotonic_ns() + first_window_ns(options_.dump_every_ns);
        window_begun_ = true;
    }
    errno = 0;
    if (!list_threads().empty()) return;
    const char* const why = errno == EMFILE ? without_descriptors : without_proc;
    paths_.dump <= 1 ? say(why) : recording_->remark(why);
}

void Collector::finish() {
    finishing_ = true;
    stop();
    if (!recording_) return;
    if (crash_record_.written()) recording_->died(crash_record_);
    if (auto closed = recording_->close(); !closed && !broken_) log_.warning(closed.error().message);
    engine_.source.reset();
    if (!recording_->avoided().empty()) log_.warning(recording_->avoided());
    const std::string profile = recording_->has_file() ? recording_->path() : rotation_.newest();
    if (profile.empty()) return;
    if (!options_.push_directory.empty()) return publish_window(profile);
    if (drawn_by_run()) return;
    const auto written = write_results(
        profile, recording_->stem(), options_, workers(), [&] { alive(); }, log_.terminal());
    for (const auto& problem : written.problems) log_.warning(problem);
    if (rotation_.number() > 1) log_.warning(rotation_.describe(recording_->has_file() ? recording_->stem() : ""));
    for (const auto& path : written.paths) log_.message("wrote " + path);
}

// A picture costs as much CPU time as a compiler uses for a small file. Pictures of other events than the first are the
// library's alone, and so is what a crash is told by.
bool Collector::drawn_by_run() const {
    constexpr std::uint64_t worth_a_picture = 100;
    return options_.run_draws && options_.shown.size() == 1 && rotation_.number() <= 1 && !crash_record_.written() &&
           recording_->samples() < worth_a_picture;
}

void Collector::alive() {
    commands_.alive();
    task_.progress();
}

// While a host lives, a task makes no threads: see Task::may_have_threads(). A thread of the host makes none while
// sampling goes on: their CPU time would count as the host's.
unsigned Collector::workers() {
    constexpr unsigned one_per_cpu = 0;
    return finishing_ && (!is_task() || (host_ends_ && task_.may_have_threads())) ? one_per_cpu : 1;
}

// The profile so far, beside the one that goes on.
void Collector::dump() {
    dump_problem.clear();
    if (!records() || !recording_->has_samples()) {
        dump_problem = "there are no samples yet";
        return;
    }
    if (sampling()) drain();
    flush();
    const std::string stem = dumped_.contains(dump_stem) ? dump_stem : unused_stem(dump_stem, options_.formats, older_);
    dumped_.insert(stem);
    const auto written = write_results(recording_->path(), stem, options_, workers(), [&] { alive(); });
    if (!written.problems.empty()) dump_problem = written.problems.front();
}

// The profile so far is whole under another name, and goes on in a new file with empty tables. Without pictures, which
// would hold up the collector: flameprobe-render makes them of all parts.
void Collector::next_part() {
    const std::string stem = recording_->stem();
    if (auto moved = recording_->move_to(rotation_.stem_when_over(stem)); !moved) {
        if (recording_->go_on(rotation_.most_bytes())) return;
        recording_->remark("sampling ended here: " + moved.error().message);
        return give_up("sampling ends: " + moved.error().message);
    }
    recording_->set_counter(counter::part, rotation_.number());
    recording_->pause();
    drain();
    if (auto closed = recording_->close(); !closed) return give_up(closed.error().message);
    if (auto away = rotation_.put_away(recording_->path(), recording_->samples()); !away)
        return give_up("sampling ends: " + away.error().message);
    log_.message("the profile goes on in another file; so far it is in " + recording_->path());
    const auto counted_to = recording_->counted_to();
    begin_recording(stem, monotonic_ns());
    recording_->set_counter(counter::part, rotation_.number());
    recording_->set_counter(counter::given_up, rotation_.given_up());
    if (auto resumed = recording_->resume_from(counted_to); !resumed) give_up(resumed.error().message);
}

// FLAMEPROBE_DUMP_EVERY: each numbered result covers its own stretch of time.
void Collector::next_profile() {
    recording_->pause();
    drain();
    auto closed = recording_->close();
    if (!closed) return give_up(closed.error().message);
    if (recording_->has_file() && !options_.push_directory.empty()) {
        publish_window(recording_->path());
    } else if (recording_->has_file()) {
        const auto written =
            write_results(recording_->path(), recording_->stem(), options_, workers(), [&] { alive(); });
        for (const auto& problem : written.problems) log_.warning(problem);
    }
    const auto counted_to = recording_->counted_to();
    ++paths_.dump;
    begin_profile(monotonic_ns());
    if (auto resumed = recording_->resume_from(counted_to); !resumed) give_up(resumed.error().message);
}

}  // namespace flameprobe
