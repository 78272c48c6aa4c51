#include "session/profile_series.hpp"

#include <errno.h>
#include <unistd.h>

#include <utility>

#include "base/clock.hpp"
#include "base/output_directory.hpp"
#include "base/proc.hpp"
#include "capture/alloc/host_allocations.hpp"
#include "session/at_load.hpp"
#include "session/family.hpp"
#include "session/run_info.hpp"

namespace flameprobe {
namespace {

constexpr const char* without_proc =
    "/proc is not mounted, or is another pid namespace's: threads that ran before sampling began are not found, and "
    "names may be missing";
constexpr const char* without_descriptors =
    "the limit of open files (ulimit -n) leaves none for /proc: threads that ran before sampling began are not found, "
    "and names may be missing";

/// What loads libflameprobe-alloc.so: it must be there before the program allocates.
std::string how_allocations_are_sampled() {
    const std::string* const preloaded = at_load().variable("LD_PRELOAD");
    for (const char* const place : {"/", "/alloc/"})  // the latter in a build tree
        if (const std::string path = at_load().core_directory + place + "libflameprobe-alloc.so";
            ::access(path.c_str(), R_OK) == 0)
            return "LD_PRELOAD=" + (preloaded != nullptr ? *preloaded + ":" : "") + path +
                   " loads it, as flameprobe run -e alloc does";
    return "flameprobe run -e alloc loads it";
}

/// Why the host's allocations are not seen; empty if they are.
std::string why_no_allocations() {
    if (alloc::table() == nullptr)
        return "allocations are not sampled: libflameprobe-alloc.so is not loaded; " + how_allocations_are_sampled();
    if (!alloc::table()->reached())
        return "allocations are not sampled: the program has an allocator of its own, or one that LD_PRELOAD names "
               "before libflameprobe-alloc.so";
    return alloc::host_state() == nullptr ? "allocations are not sampled: there is no memory for it" : "";
}

RunInfo describe_run(const Options& options, const Engine& engine, std::uint64_t start_ns) {
    const auto& facts = engine.source->facts();
    RunInfo run = describe_process();
    run.start_unix_ns -= monotonic_ns() - start_ns;
    run.start_monotonic_ns = start_ns;
    run.mark = family().mark();
    run.engine = facts.engine_name();
    run.engine_reason = engine.reason;
    run.unwinder = options.by_frame_pointers ? "fp" : "dwarf";
    run.event = facts.event;
    run.event_kind = facts.event_kind;
    run.kernel = facts.kernel                          ? "on"
                 : options.kernel == KernelChoice::off ? "off, as asked for"
                 : facts.kernel_time                   ? "by CPU timers"
                                                       : "off, not permitted";
    run.frequency_asked = options.frequency;
    run.period_ns = facts.period_ns;
    run.stack_bytes = engine.stack_bytes;
    for (const auto& [key, value] : options.labels) run.labels.push_back({key, value});
    for (const auto& event : options.shown) run.shown += (run.shown.empty() ? "" : ",") + event;
    return run;
}

}  // namespace

ProfileSeries::ProfileSeries(const Options& options, PathFacts paths, OlderResults older, Log& log,
                             std::function<void()> alive)
    : options_(options),
      paths_(std::move(paths)),
      older_(older),
      log_(log),
      alive_(std::move(alive)),
      rotation_(options.most_bytes) {}

void ProfileSeries::begin_recording(const Engine& engine, const std::string& stem, std::uint64_t start_ns) {
    const auto& facts = engine.source->facts();
    const bool by_rings = facts.engine == EngineKind::ring;
    recording_ = std::make_unique<Recording>(
        describe_run(options_, engine, start_ns),
        HowSampled{options_.by_frame_pointers, facts.has_all_time(),
                   by_rings ? most_ring_stack_bytes : most_stack_bytes, options_.least_cpu_ns},
        stem, older_, rotation_.file_bytes(), start_ns);
    if (options_.off_cpu())
        recording_->sample_waits(
            {.frequency = options_.offcpu_frequency, .least_ns = options_.offcpu_least_ns, .records = facts.switches});
    std::vector<EventInfo> more;
    for (const auto& [name, kind] : facts.more_events) more.push_back({name, kind, facts.frequency, 0});
    recording_->sample_events(more);
    if (options_.allocations()) {
        if (const std::string problem = why_no_allocations(); problem.empty())
            recording_->sample_allocations(*alloc::host_state());
        else
            say(problem);
    }
    if (outside_event != nullptr) recording_->sample_outside(*outside_event);
    begun_ = true;
}

Result<void> ProfileSeries::begin(const Engine& engine, std::uint64_t start_ns) {
    if (auto reached = reach_run(options_); !reached) return reached;
    rotation_ = Rotation(options_.most_bytes);
    begin_recording(engine, expand_path(options_.out, paths_), start_ns);
    if (options_.one_result()) recording_->file().place_by([this] { return place_in_run(); });
    next_dump_ns_ = monotonic_ns() + options_.dump_every_ns;
    if (!options_.push_directory.empty() && paths_.dump <= 1) {
        if (const std::string problem = prepare_spool(options_.push_directory); !problem.empty()) return Error{problem};
        next_dump_ns_ = monotonic_ns() + first_window_ns(options_.dump_every_ns);
    }
    errno = 0;
    if (!list_threads().empty()) return {};
    const char* const why = errno == EMFILE ? without_descriptors : without_proc;
    static constinit bool told = false;  // by the process that this one was forked from, too
    std::exchange(told, true) ? recording_->remark(why) : say(why);
    return {};
}

RunFolder& ProfileSeries::folder() {
    if (!folder_) folder_.emplace(run_stem(options_), family().mark());
    return *folder_;
}

Result<ProfileFile::Placed> ProfileSeries::place_in_run() {
    auto made = folder().make(older_);
    if (!made) return made.error();
    if (!folder().avoided().empty()) say(folder().avoided());
    return ProfileFile::Placed{std::move(*made), folder().path() + "/" + last_name(expand_path("%e.%p", paths_))};
}

// Where samples fill the file, it is made small. Else the profile so far is completed under another name, and goes on
// in a new file with empty tables. No pictures are
// drawn of it, which would hold up the collector: flameprobe-render draws them from all parts.
Result<void> ProfileSeries::next_part(const Engine& engine, const Drain& drain) {
    if (recording_->compact([&](const std::string& profile, const Descriptor& into) {
            return write_smaller(profile, into, {alive_, drain});
        }))
        return {};
    const std::string stem = recording_->file().stem();
    if (auto moved = recording_->file().move_to(rotation_.stem_when_over(stem)); !moved) {
        if (recording_->grow(rotation_.most_bytes())) return {};
        recording_->remark("sampling ended here: " + moved.error().message);
        return Error{"sampling ends: " + moved.error().message};
    }
    recording_->set_counter(counter::part, rotation_.number());
    recording_->pause();
    drain();
    if (auto closed = recording_->close(); !closed) return closed;
    if (auto away = rotation_.put_away(recording_->file().path(), recording_->samples()); !away)
        return Error{"sampling ends: " + away.error().message};
    log_.message("the profile goes on in another file; so far it is in " + recording_->file().path());
    const auto counted_to = recording_->counted_to();
    begin_recording(engine, stem, monotonic_ns());
    recording_->set_counter(counter::part, rotation_.number());
    recording_->set_counter(counter::given_up, rotation_.given_up());
    return recording_->resume_from(counted_to);
}

// The next one begins before the finished one is drawn, so that nothing is lost meanwhile.
Result<void> ProfileSeries::next(const Engine& engine, const Drain& drain, const std::function<void()>& go_on) {
    recording_->pause();
    drain();
    if (auto closed = recording_->close(); !closed) return closed;
    const bool pushes = !options_.push_directory.empty();
    if (recording_->file().created() && pushes) publish_window(recording_->file().path());
    const bool draws = recording_->file().created() && !pushes && recording_->has_samples();
    const DrawingOrder order{recording_->file().path(), recording_->file().stem(), true};
    std::unique_ptr<Recording> finished = std::move(recording_);
    begun_ = false;  // the next one may fail to begin
    ++paths_.dump;
    if (auto begun = begin(engine, monotonic_ns()); !begun) return begun;
    if (auto resumed = recording_->resume_from(finished->counted_to()); !resumed) return resumed;
    recording_->take_over(*finished);
    finished.reset();
    if (draws) draw_and_tell(order, go_on);
    return {};
}

std::string ProfileSeries::dump(const std::string& wanted, const Drain& drain) {
    const std::string stem = dumped_.contains(wanted) ? wanted : unused_stem(wanted, options_.formats, older_);
    constexpr std::size_t most = 4096;  // then a name is taken for one that is not this process's own
    if (dumped_.size() == most) dumped_.clear();
    dumped_.insert(stem);
    if (options_.formats.empty()) return {};
    const auto drawn = draw({recording_->file().path(), stem, true}, options_, {alive_, drain});
    if (!drawn) return drawn.error().message;
    return drawn->problems.empty() ? std::string() : drawn->problems.front();
}

void ProfileSeries::draw_and_tell(const DrawingOrder& order, const std::function<void()>& meanwhile) {
    if (options_.formats.empty()) return;
    const auto drawn = draw(order, options_, {alive_, meanwhile});
    drawn ? tell(*drawn) : log_.warning(drawn.error().message);
}

void ProfileSeries::tell(const Drawn& drawn) {
    for (const auto& problem : drawn.problems) log_.warning(problem);
    for (const auto& message : drawn.messages) log_.message(message);
}

void ProfileSeries::write_results() {
    if (!recording_->file().avoided().empty()) log_.warning(recording_->file().avoided());
    write_part();
    if (recording_->file().taken_away())
        log_.warning(recording_->file().path() + " was removed while it was written: what it had is lost");
    if (options_.one_result()) end_run();
}

void ProfileSeries::write_part() {
    if (options_.one_result()) return recording_->file().close();
    const bool pushes = !options_.push_directory.empty();
    // Of units of work alone there is no picture.
    const bool shows_last_part = recording_->file().created() && (pushes || recording_->has_samples());
    const std::string profile = shows_last_part ? recording_->file().path() : rotation_.newest();
    if (profile.empty()) return;
    if (pushes) return publish_window(profile);
    draw_and_tell({profile, recording_->file().stem()}, {});
    if (rotation_.number() > 1)
        log_.warning(rotation_.describe(recording_->file().created() ? recording_->file().stem() : ""));
}

void ProfileSeries::give_to(uid_t user) {
    if (options_.one_result() && is_first_process()) folder().give_to(user);
}

// Children neither draw nor wait while the first process lives, which draws what they have recorded.
void ProfileSeries::end_run() {
    if (!options_.one_result()) return;
    // The folder that the first process has made may not be its own any more.
    const bool made_here = is_first_process() && begun_ && !folder().stem().empty();
    if (!folder().find() && !made_here) return;
    const bool left_to_first = !folder().drawn() && !folder().is_apart() && first_process_lives();
    if (!is_first_process() && (left_to_first || folder().has_living())) return;
    folder().remove_if_empty();
    const auto is_removed = [&] { return ::access(folder().path().c_str(), F_OK) != 0 && errno == ENOENT; };
    if (!folder().find() && (!made_here || is_removed())) return;
    const auto drawn = draw_run({.input = folder().path(), .stem = {}}, options_, {alive_, {}});
    if (drawn) return tell(*drawn);
    const std::string result = folder().give_out_only();
    const bool is_whole = options_.formats.empty() && result != folder().path();
    if (!is_whole) log_.warning(drawn.error().message + drawn_by_hand(result, folder().stem()));
}

std::string ProfileSeries::how_to_draw() const {
    if (!begun() || !recording_->file().created()) return {};
    const bool of_run = options_.one_result() && folder_;
    if (!of_run) return drawn_by_hand(recording_->file().path(), recording_->file().stem());
    const bool is_removed = ::access(folder_->path().c_str(), F_OK) != 0;  // the result is made, or most of it
    return drawn_by_hand(is_removed ? folder_->stem() + ".fprobe" : folder_->path(), folder_->stem());
}

void ProfileSeries::drop_if_empty() {
    recording_->drop_empty_file();
    if (folder_) folder_->remove_if_empty();
}

void ProfileSeries::forget() {
    begun_ = false;
    recording_.reset();
}

void ProfileSeries::say(const std::string& sentence) {
    log_.warn_once(sentence);
    if (recording_) recording_->remark(sentence);
}

}  // namespace flameprobe
