#include "session/sampling.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/clock.hpp"
#include "base/hash.hpp"
#include "base/host_process.hpp"
#include "capture/blocked_reader.hpp"
#include "collect/requests.hpp"
#include "collect/usage.hpp"
#include "profile/task_event.hpp"
#include "session/family.hpp"

namespace flameprobe {

constexpr std::uint64_t flush_every_ns = 100 * ns_per_ms;  // a kill loses at most this much

Sampling::Sampling(const Options& options, PathFacts paths, OlderResults older, Log& log, std::function<void()> alive)
    : options_(options), log_(log), profiles_(options, std::move(paths), older, log, std::move(alive)) {}

bool Sampling::open() {
    if (engine_.source) return true;
    auto engine = open_engine(options_);
    if (!engine) {
        give_up(engine.error().message);
        return false;
    }
    engine_ = std::move(*engine);
    if (!engine_.warning.empty()) log_.warning(engine_.warning);
    const auto& facts = engine_.source->facts();
    attaches_threads_ = facts.handlers;
    engine_.told = facts.note;
    if (!facts.note.empty() && engine_.reason.find(facts.note) == std::string::npos)
        engine_.reason += "; " + facts.note;
    // Once in a run, which may have thousands of processes. The whole reason is in the profile, the picture's footer
    // and flameprobe doctor.
    if (family().descendant) return true;
    if (outside_event == nullptr && std::ranges::find(options_.shown, event_name::tasks) != options_.shown.end())
        log_.warning(
            "tasks are not sampled: they are seen from outside of the process only; flameprobe run -e tasks COMMAND, "
            "or "
            "flameprobe attach -e tasks PID, shows what they wait for");
    log_.message("engine " + facts.engine_name() + " (" + engine_.reason.substr(0, engine_.reason.find("; ")) + "), " +
                 std::to_string(facts.frequency) + " samples a second");
    return true;
}

bool Sampling::works_outside() const {
    return engine_.source->facts().works_outside && (!options_.off_cpu() || may_read_from_outside());
}

void Sampling::start(const std::optional<Recording::CountedTo>& from) {
    const bool waits = recorded_later();
    if (waits) {
        not_recorded_since_ = from ? *from : Recording::count_from_now(false);
    } else {
        if (from || !profiles_.begun()) give_up_unless(profiles_.begin(engine_, from ? from->time_ns : monotonic_ns()));
        if (broken()) return;  // no libraries, or the spool is refused
        if (auto resumed = from ? profile().resume_from(*from) : profile().resume(); !resumed)
            return give_up(resumed.error().message);
    }
    if (auto started = engine_.source->start(); !started) return give_up(started.error().message);
    turn(waits ? Phase::waiting : Phase::on);
    const CaptureFacts& facts = engine_.source->facts();
    time_passings(true);
    new_threads_.want(facts.meets_threads, facts.reaches ? facts.period_ns : 0);
    last_flush_ns_ = monotonic_ns();
}

// Names, tables and files cost more than a process of a millisecond uses, so they are made when there is a sample. Not
// where the profile has more than samples (windows, waits), nor without /proc, since the message about that must come
// at the start: a host that is killed can no longer write it.
bool Sampling::recorded_later() const {
    return !profiles_.begun() && options_.dump_every_ns == 0 && !options_.off_cpu() && !options_.allocations() &&
           outside_event == nullptr && !engine_.source->has_samples() && engine_.source->facts().earlier_threads == 0 &&
           ::access("/proc/self/task", F_OK) == 0;
}

bool Sampling::has_something_to_record() const {
    return engine_.source->has_samples() || host_cpu_ns() >= not_recorded_since_.process_ns + options_.least_cpu_ns ||
           any_passings() || (any_units_counted() && unit_counts() != not_recorded_since_.units);
}

bool Sampling::records() {
    if (is(Phase::waiting) && has_something_to_record()) record_from_start();
    return profiles_.begun();
}

void Sampling::record_from_start() {
    if (!is(Phase::waiting)) return;
    turn(Phase::on);
    completed_ = false;
    begin_recording();
}

void Sampling::begin_recording() {
    give_up_unless(profiles_.begin(engine_, not_recorded_since_.time_ns));
    if (!broken()) give_up_unless(profile().resume_from(not_recorded_since_));
}

void Sampling::stop(bool for_good) {
    if (!on()) return;
    const bool waited = is(Phase::waiting);
    turn(Phase::off);
    time_passings(false);
    new_threads_.want(false);
    meet_threads();
    for_good ? engine_.source->stop_for_good() : engine_.source->stop();
    if (waited && has_something_to_record()) begin_recording();
    if (!profiles_.begun()) return;
    profile().pause();
    drain();
    report_engine_note();
    flush();
}

std::uint64_t Sampling::pause_ns() const {
    if (!on()) return 2 * ns_per_second;
    const std::uint64_t fill = std::max(engine_.source->facts().fill_ns, 4 * ns_per_ms);
    // The first samples need live memory soon: pages that were never touched are in no copy.
    if (!profiles_.begun()) return std::min(fill / 4, flush_every_ns);
    // A busy machine may wake the collector that late.
    const std::uint64_t in_time = fill - std::min(fill, 30 * ns_per_ms);
    Recording& profile = profiles_.now();
    const bool many_allocations = profile.allocations() != nullptr && profile.allocations()->is_busy();
    // Unevenly: looks at live memory are not to meet a program's rhythm at one place.
    const std::uint64_t now = monotonic_ns(), uneven_ns = ns_per_ms / 2 + splitmix64(now) % ns_per_ms;
    if (now < hurry_until_ns_ || many_allocations) return uneven_ns;
    const std::uint64_t by_fill = std::max(samples_before_ == profile.samples() ? fill / 2 : fill / 4, in_time);
    return std::min({by_fill, flush_every_ns, profile.waits() != nullptr ? profile.waits()->until_look_ns() : by_fill});
}

void Sampling::meet_threads() {
    new_threads_.meet([this](const NewThread& thread) {
        if (on()) engine_.source->thread_begins(thread);
    });
}

void Sampling::poll(bool host_ends) {
    if (!records() || !on()) return;
    samples_before_ = profile().samples();
    drain();
    if (OffCpu* const waits = profile().waits()) {
        waits->look([this] { drain(); });
        report(*waits);
    }
    if (engine_.source->facts().signal_lost) report_engine_note();
    const std::uint64_t now = monotonic_ns();
    if (now + pause_ns() >= last_flush_ns_ + flush_every_ns) {  // else the next look would be too late
        flush();
        if (on() && profile().outgrown()) give_up_unless(profiles_.next_part(engine_, [this] { drain(); }));
    }
    if (!host_ends && profiles_.next_is_due(now))
        give_up_unless(profiles_.next(
            engine_, [this] { drain(); }, [this] { go_on(); }));
}

void Sampling::go_on() {
    if (!on()) return;
    drain();
    if (monotonic_ns() >= last_flush_ns_ + flush_every_ns) flush();
}

void Sampling::drain() {
    const std::uint64_t began = monotonic_ns();
    profile().read_clocks_in_time(began);
    Allocations* const allocations = profile().allocations();
    if (allocations != nullptr) allocations->gather();
    engine_.source->drain(profile().sink());
    profile().has_buffers(engine_.source->facts().buffer_bytes);
    if (allocations != nullptr) allocations->drain();
    profile().settle(began);
    // Of each thread whose end was drained the report is there by now. Taken before, one that came meanwhile would be
    // of a thread that is forgotten when it counts, and its CPU time would be in the result twice.
    std::vector<EndedThread> ended;
    ended_threads_.take([&](const EndedThread& thread) { ended.push_back(thread); });
    profile().threads_ended(std::move(ended));
    // A stack deeper than the copy must be read before its owner changes it.
    if (profile().take_haste()) hurry_until_ns_ = began + ns_per_second;
}

void Sampling::flush() {
    last_flush_ns_ = monotonic_ns();
    give_up_unless(profile().flush());
}

void Sampling::report(OffCpu& waits) {
    if (waits.too_many_records()) {
        engine_.source->stop_switches();
        waits.continue_without_records(monotonic_ns());
        say("threads leave their CPUs more than 50,000 times a second: from here on how long they wait is estimated "
            "from regular looks at them");
    }
    for (const Deadlock& deadlock : waits.take_deadlocks()) {
        say(deadlock.sentence);
        for (const std::string& stack : deadlock.stacks) log_.warning(stack);
        urgent_ = true;
    }
    if (!waits.problem().empty()) say("where some threads wait is not known: " + waits.problem());
}

// What was known at first is in the engine's reason, in the profile.
void Sampling::report_engine_note() {
    const std::string news = engine_.take_news();
    if (news.empty()) return;
    say(news);
    urgent_ = urgent_ || engine_.source->facts().signal_lost;
}

void Sampling::keep() {
    if (!on() || !records()) return;
    drain();
    flush();
    profiles_.drop_if_empty();
}

// A collector that is a thread goes with the image, and one that is a task reads clocks that go on for the next image.
void Sampling::complete() {
    if (!on() || !records()) return;
    profile().read_clocks();
    drain();
    completed_ = true;
    if (profile().is_launchers()) return;
    profile().pause();
    drain();
    if (auto closed = profile().close(); !closed) return give_up(closed.error().message);
    not_recorded_since_ = profile().counted_to();
    profiles_.write_part();
    profiles_.forget();
    recorded_later() ? turn(Phase::waiting) : begin_recording();
}

void Sampling::image_is_gone() {
    const bool has_nothing = is(Phase::waiting)
                                 ? !engine_.source->has_samples()
                                 : profiles_.begun() && (!profile().has_content() || profile().is_launchers());
    if (!has_nothing) return;
    turn(Phase::off);
    engine_.source->stop_for_good();
    if (profiles_.begun()) profiles_.forget();
}

void Sampling::secure(uid_t user) {
    if (user == no_user) expect_other_root();
    if (on()) record_from_start();
    if (!on()) return;
    if (user != no_user && user != 0 && ::geteuid() == 0) engine_.source->rights_end();
    drain();  // the thread's stack is known from then on
    give_up_unless(profile().file().create());
    if (user != no_user && on()) profiles_.give_to(user);
}

std::string Sampling::dump(const std::string& stem) {
    if (!records() || !profile().has_samples()) return "there are no samples yet";
    if (on()) drain();
    profile().name_what_is_gone();
    flush();
    // The file stays as it is while it is read.
    return profiles_.dump(stem, [this] {
        if (on()) drain();
    });
}

}  // namespace flameprobe
