#include "collect/recording.hpp"

#include <utility>

#include "base/clock.hpp"
#include "base/host_process.hpp"
#include "base/proc_maps.hpp"
#include "collect/missing.hpp"

namespace flameprobe {
namespace {

// So many stacks take about 256 MiB. Each sampled thread has an account in memory and in every summary, and a reader
// takes no summary larger than a block (docs/formats.md).
constexpr std::size_t most_stacks = std::size_t{3} << 22;
constexpr std::size_t most_threads = std::size_t{1} << 18;

}  // namespace

Recording::Recording(const RunInfo& run, const HowSampled& how, std::string stem, OlderResults older,
                     std::uint64_t file_bytes, std::uint64_t start_ns, const CpuClocks& clocks)
    : run_(run),
      how_(how),
      clocks_(clocks),
      start_ns_(start_ns),
      file_(std::move(stem), older, file_bytes),
      pipeline_(file_.writer(), how.by_frame_pointers, start_ns_, run.period_ns, run.pid, clocks),
      requests_(pipeline_) {
    pipeline_.tell_requests(requests_);
    file_.writer().run(run_);
    pipeline_.ledger().samples_all_time(how.all_time);
    if (const auto maps = read_proc_maps()) {
        for (std::size_t i = 0; i < maps->lines.size(); ++i) {
            if (!maps->lines[i].executable) continue;
            // Code that was moved by now is the file's, if it is equal.
            if (const auto file = file_around(*maps, i)) pipeline_.take(raw_mapping(*file));
            pipeline_.take(raw_mapping(maps->lines[i]));
        }
    }
}

void Recording::sample_waits(const OffCpuSettings& settings) {
    const EventInfo waits{std::string(event_name::offcpu), settings.records ? "waiting time" : "waiting time by looks",
                          settings.frequency, 1};
    EventInfo idle = waits;
    idle.name = event_name::idle;
    file_.writer().event(settings.event, waits);
    file_.writer().event(settings.idle_event, idle);
    off_cpu_.emplace(pipeline_, settings);
    pipeline_.pass_records_to(&*off_cpu_);
}

void Recording::sample_events(const std::vector<EventInfo>& events) {
    const EventId first = off_cpu_ ? OffCpuSettings().idle_event + 1 : 1;
    next_event_ = first + static_cast<EventId>(events.size());
    std::vector<std::string> names;
    for (const EventInfo& event : events) {
        file_.writer().event(first + static_cast<EventId>(names.size()), event);
        names.push_back(event.name);
    }
    pipeline_.more_events(first, std::move(names));
}

void Recording::sample_allocations(alloc::State& state) {
    const EventId first = next_event_;
    for (const EventInfo& event : Allocations::events(state)) file_.writer().event(next_event_++, event);
    allocations_.emplace(pipeline_, state, first);
}

void Recording::sample_outside(OutsideEvent& event) {
    file_.writer().event(next_event_, event.info());
    event.begin(pipeline_, next_event_++, start_ns_);
    outside_ = &event;
}

Result<void> Recording::count_from(const CountedTo& from) {
    if (auto reopened = file_.reopen(); !reopened) return reopened;
    running_ = true;
    counted_time_ns_ = from.time_ns;
    counted_process_ns_ = from.process_ns;
    counted_own_ns_ = from.own_ns;
    counted_units_ = from.units;
    usage_.begin(from.time_ns);
    if (off_cpu_) off_cpu_->begin(from.time_ns);
    if (allocations_) allocations_->resume();
    return {};
}

Result<void> Recording::resume() {
    auto counts = count_from({clocks_.time_ns(), clocks_.process_ns(), clocks_.own_ns(), {}, unit_counts()});
    if (counts) pipeline_.threads().resume();
    return counts;
}

Result<void> Recording::resume_from(const CountedTo& end) {
    auto counts = count_from(end);
    if (!counts) return counts;
    pipeline_.threads().resume_from(end.threads);
    if (end.ended) pipeline_.ledger().samples_all_time(true);
    return counts;
}

Recording::CountedTo Recording::counted_to() const {
    return {counted_time_ns_, counted_process_ns_, counted_own_ns_, pipeline_.threads().readings(), counted_units_};
}

// Read from outside, a thread's clock is behind by up to a tick, so the process's stands for its only thread; unless
// another thread than the first has executed the program. Read from inside, the process's clock includes the
// collectors' time.
Recording::CountedTo Recording::count_from_now(bool units_from_birth, const CpuClocks& clocks) {
    const auto main_thread = static_cast<std::uint32_t>(host_process());
    constexpr std::uint64_t tick_ns = 10 * ns_per_ms;
    const std::uint64_t used = clocks.process_ns(), read = clocks.thread_ns(main_thread),
                        of_main = clocks.own_is_in_process() || used > read + tick_ns ? read : used;
    return {clocks.time_ns(),
            used,
            clocks.own_ns(),
            {{main_thread, of_main}},
            units_from_birth ? UnitCounts{} : unit_counts()};
}

void Recording::pause() {
    if (!running_) return;
    read_process_clocks();
    pipeline_.threads().read_all_clocks();
    usage_.read(counted_time_ns_, true);
    if (off_cpu_) off_cpu_->pause(counted_time_ns_);
    if (allocations_) allocations_->pause();
    running_ = false;
}

void Recording::read_clocks() {
    if (!running_) return;
    read_process_clocks();
    pipeline_.threads().read_clocks();
}

// Of a thousand threads the clocks take half a millisecond.
void Recording::read_clocks_in_time(std::uint64_t now_ns) {
    constexpr std::uint64_t least_between_ns = 50 * ns_per_ms, most_between_ns = 100 * ns_per_ms, part_of_a_cpu = 250;
    if (next_clocks_ns_ == 0) next_clocks_ns_ = now_ns + least_between_ns;
    if (now_ns < next_clocks_ns_) return;
    read_clocks();
    next_clocks_ns_ = now_ns + std::clamp(part_of_a_cpu * (monotonic_ns() - now_ns), least_between_ns, most_between_ns);
}

// A round later: by then the kernel's records of their ends are drained, and their accounts have all that came before.
void Recording::threads_ended(std::vector<EndedThread> threads) {
    for (const auto& thread : std::exchange(ended_, std::move(threads))) pipeline_.ledger().thread_ended(thread);
}

void Recording::read_process_clocks() {
    const std::uint64_t time = clocks_.time_ns(), own_now = clocks_.own_ns();
    const std::uint64_t process_now = std::max(clocks_.process_ns(), counted_process_ns_);
    const std::uint64_t process = process_now - counted_process_ns_, own = own_now - counted_own_ns_;
    duration_ns_ += time - counted_time_ns_;
    own_cpu_ns_ += own;
    // A collector that is a thread of the host is in the process's clock, but its time is not the host's.
    process_cpu_ns_ += clocks_.own_is_in_process() ? process - std::min(process, own) : process;
    pipeline_.ledger().used(process_cpu_ns_);
    counted_time_ns_ = time;
    counted_process_ns_ = process_now;
    counted_own_ns_ = own_now;
    usage_.read(time, false);
    read_units();
}

void Recording::read_units() {
    UnitCounts now = unit_counts();
    for (const auto& [name, amount] : now) {
        const std::uint64_t done = amount - counted_units_[name];
        if (done == 0) continue;
        pipeline_.host(WorkCount{clocks_.time_ns() - start_ns_, name, done});
        counted_any_ = true;
    }
    counted_units_ = std::move(now);
}

// Also while sampling pauses, since what the engine's buffers held is drained afterwards.
void Recording::write_account() {
    Summary& summary = pipeline_.summary();
    summary.threads = pipeline_.threads().accounts();
    summary.duration_ns = duration_ns_;
    summary.process_cpu_ns = used_ns();
    summary.own_cpu_ns = own_cpu_ns_;
    summary.own_memory = pipeline_.memory() + buffer_bytes_;
    set_counter("threads that share an account with others of their name", pipeline_.threads().without_entry());
    set_counter("CPU time not sampled, ns", pipeline_.ledger().not_sampled_ns());
    if (off_cpu_) {
        off_cpu_->add_to(summary.counters);
        summary.own_memory += off_cpu_->memory();
    }
    if (allocations_) {
        allocations_->add_to(summary.counters);
        summary.own_memory += allocations_->memory();
    }
    if (outside_ != nullptr) outside_->add_to(summary.counters);
    summary.own_memory += requests_.memory();
    set_counter("requests whose duration is not known", untimed_passings());
    usage_.add_to(summary.counters);
    const auto statistics = pipeline_.unwind_statistics();
    summary.counters["unwind rule hits"] = statistics.rule_hits;
    summary.counters["unwind rule misses"] = statistics.rule_misses;
    const auto& scopes = pipeline_.scope_statistics();
    if (scopes.accepted != 0) {
        summary.counters["scopes found open"] = scopes.accepted;
        summary.counters["scopes past the copy, not proven"] = scopes.unproven;
    }
    summary.counters["steps by expressions"] = statistics.irregular_steps;
}

// Read from outside, the process's clock is behind, by its last tick on a busy machine's virtual CPUs by 40 ms. But the
// process used no less than its threads, and samples prove that it used more: as far as the clock has gone on since, or
// without limit where it has ended with the host.
std::uint64_t Recording::used_ns() const {
    const std::uint64_t now = clocks_.process_ns(), sampled = run_.period_ns != 0 ? pipeline_.threads().accounted() : 0;
    const bool ended = now == 0, exact = !ended && clocks_.behind_ns() == 0;
    const std::uint64_t since = exact ? 0 : now - std::min(now, counted_process_ns_);
    const std::uint64_t proven = ended ? sampled : std::min(sampled, process_cpu_ns_ + since);
    return std::max({process_cpu_ns_, pipeline_.threads().cpu_ns(), proven});
}

// What the CPU clocks counted and no sample stands for was spent in the kernel, where that is left out. Else only
// throttling leaves so much out.
void Recording::note_what_is_not_permitted() {
    pipeline_.ledger().assign_lost();
    const bool left_out = !how_.all_time;
    if (!left_out && pipeline_.summary().throttled == 0) return;
    pipeline_.ledger().note_missing(left_out ? Note::kernel_not_permitted : Note::throttled, used_ns());
}

Result<void> Recording::flush() {
    // What it says at its end may be what it does to end.
    if (std::string& title = pipeline_.summary().title; running_ || title.empty()) title = host_title();
    if (!has_content()) return {};
    if (running_) note_what_is_not_permitted();
    running_ ? read_units() : requests_.write();
    write_account();
    file_.writer().summary(pipeline_.summary());
    // Last: a host that is killed in between leaves an empty file.
    if (auto created = file_.create(); !created) return created;
    return file_.flush();
}

bool Recording::tables_full() {
    return pipeline_.stacks().count() >= most_stacks || pipeline_.threads().count_accounts() >= most_threads;
}

bool Recording::grow(std::uint64_t most_bytes) {
    if (tables_full() || file_.bytes() + file_.most_bytes() > most_bytes) return false;
    file_.grow();
    return true;
}

Result<void> Recording::suspend() {
    auto flushed = flush();
    pipeline_.close_files();
    if (off_cpu_) off_cpu_->close_files();
    file_.close();
    return flushed;
}

Result<void> Recording::close() {
    pause();
    pipeline_.settle_all();
    for (const auto& thread : std::exchange(ended_, {})) pipeline_.ledger().thread_ended(thread);
    // Of a process that no sample hit, less than a period is nothing to draw.
    if (const std::uint64_t used = used_ns(); pipeline_.summary().samples != 0 || used >= run_.period_ns) {
        const std::uint64_t no_samples = pipeline_.ledger().write_rests(used);
        if (run_.period_ns != 0) set_counter("records lost that were no samples", no_samples / run_.period_ns);
    }
    missing_ = what_is_missing(pipeline_.summary(), run_.period_ns == 0 ? 0 : pipeline_.ledger().not_sampled_ns(),
                               run_.stack_bytes, how_.most_stack_bytes);
    if (!missing_.empty()) remark(missing_);
    if (off_cpu_) off_cpu_->settle_all();
    if (outside_ != nullptr) outside_->settle_all();
    requests_.write();
    if (!has_content()) {
        file_.remove();
        return {};
    }
    pipeline_.name_what_is_gone();
    pipeline_.summary().complete = true;
    return flush();
}

}  // namespace flameprobe
