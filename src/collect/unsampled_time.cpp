#include "collect/unsampled_time.hpp"

#include <algorithm>

#include "base/clock.hpp"

namespace flameprobe {
namespace {

// What a thread uses at most in the kernel after it has reported its CPU clock.
constexpr std::uint64_t most_after_end_ns = 50'000;
constexpr std::uint64_t few_periods = 10;
// What a thread may have used since its last sample: CPU timers are noticed at the tick.
constexpr std::uint64_t most_rest_ns = 10'000'000;
// A thread that used more than this should have been sampled.
constexpr std::uint64_t longest_brief_ns = 100'000'000;

}  // namespace

UnsampledTime::UnsampledTime(ProfileSink& sink, ProfileStacks& stacks, ThreadRegistry& threads, Summary& summary,
                             std::uint64_t start_ns, std::uint64_t period_ns, std::uint32_t pid)
    : sink_(sink),
      stacks_(stacks),
      threads_(threads),
      summary_(summary),
      start_ns_(start_ns),
      period_ns_(period_ns),
      rest_(period_ns, start_ns ^ pid) {}

UnsampledTime::Sampled& UnsampledTime::of(ThreadId thread) {
    if (sampled_.size() <= thread) sampled_.resize(thread + 1);
    return sampled_[thread];
}

std::uint64_t UnsampledTime::sampled(ThreadId thread, std::uint64_t periods, std::int64_t short_by_ns) {
    Sampled& sampled = of(thread);
    const std::uint64_t whole = short_by_ns == 0 ? periods : periods - 1;
    sampled.credit_ns += whole * period_ns_;
    sampled.periods += whole;
    if (short_by_ns == 0) return periods;
    sampled.credit_ns += period_ns_ - static_cast<std::uint64_t>(short_by_ns);
    return whole + whole_periods(sampled, static_cast<std::int64_t>(period_ns_) - short_by_ns);
}

// The periods are right within one for all threads together, and for each. `ns` is in the thread's credit already.
std::uint64_t UnsampledTime::whole_periods(Sampled& sampled, std::int64_t ns) {
    const std::uint64_t below = sampled.credit_ns / period_ns_, above = below + 1;
    const std::uint64_t given =
        rest_.add(ns, below - std::min(below, sampled.periods), above - std::min(above, sampled.periods));
    sampled.periods += given;
    return given;
}

void UnsampledTime::sampled_at(ThreadId thread, StackId stack, bool rooted) {
    Sampled& sampled = of(thread);
    sampled.last = stack;
    if (rooted) sampled.last_rooted = stack;
}

void UnsampledTime::write(ThreadId thread, StackId stack, std::uint64_t weight) {
    wrote_ = true;
    sink_.sample({.time_ns = monotonic_ns() - start_ns_,
                  .thread = threads_.shown(thread),
                  .stack = stack,
                  .weight = weight,
                  .hits = 0});
}

void UnsampledTime::could_not_sample(ThreadId thread, std::uint64_t cpu_ns, Note why) {
    std::uint64_t& waiting = less_than_one_[thread];
    waiting += cpu_ns;
    const std::uint64_t weight = waiting / period_ns_;
    if (weight == 0) return;
    waiting -= weight * period_ns_;
    note(why, thread, weight);
}

// An engine that drops samples does not know of which threads. The CPU clocks show that, unless the event is no clock.
// They may have shown it before: the kernel tells what a full ring lost with the next record that has room.
void UnsampledTime::lost(std::uint64_t samples) {
    if (period_ns_ == 0) return note(Note::lost, threads_.unknown(), samples);
    const std::uint64_t known = std::min(samples, lost_by_clocks_);
    lost_by_clocks_ -= known;
    lost_unassigned_ += samples - known;
}

void UnsampledTime::note(Note note, ThreadId thread, std::uint64_t weight) {
    if (note == Note::lost) summary_.lost += weight;
    threads_.count_noted(thread, weight);
    of(thread).credit_ns += weight * period_ns_;
    of(thread).periods += weight;
    write(thread, stacks_.of_note(note), weight);
}

void UnsampledTime::thread_ended(const EndedThread& ended) {
    std::uint64_t cpu_ns = ended.cpu_ns;
    const auto known = threads_.end_reported(ended.tid, cpu_ns);
    if (period_ns_ == 0) return;
    if (cpu_ns < few_periods * period_ns_) sees_brief_threads_ = true;
    if (known && of(*known).credit_ns != 0) return write_rest(*known, cpu_ns, {ended.routine, ended.caller});
    Brief& of_its_kind = brief(ended);
    ++of_its_kind.threads;
    threads_.used(of_its_kind.thread, cpu_ns);
    const std::uint64_t weight = rest_.add(static_cast<std::int64_t>(cpu_ns));
    if (cpu_ns >= period_ns_ && !samples_all_time_) {
        // A thread of a period or more that has no sample was in the kernel.
        if (weight != 0) note(Note::kernel_not_permitted, of_its_kind.thread, weight);
    } else if (cpu_ns > std::max(few_periods * period_ns_, longest_brief_ns)) {
        if (weight != 0) note(Note::lost, of_its_kind.thread, weight);
    } else {
        write_brief(of_its_kind.thread, of_its_kind.stack, weight);
    }
}

UnsampledTime::Brief& UnsampledTime::brief(const EndedThread& ended) {
    const auto [known, is_new] = briefs_.try_emplace({ended.name, ended.routine});
    if (!is_new) return known->second;
    known->second.stack = brief_stack({ended.routine, ended.caller});
    known->second.thread = threads_.unsampled(ended.name);
    return known->second;
}

// The stack begins with the outermost frames of sampled threads, as far as they are known.
StackId UnsampledTime::brief_stack(const Begin& begin) {
    const std::uint64_t caller = begin.caller == 0 ? 0 : begin.caller - 1;
    const auto root = root_of_.find(caller);
    return stacks_.of_addresses({root != root_of_.end() ? root->second : 0, caller, begin.routine},
                                "[not sampled: lived too briefly]");
}

void UnsampledTime::write_brief(ThreadId thread, StackId stack, std::uint64_t weight) {
    if (weight == 0) return;
    too_brief_ += weight;
    threads_.count_noted(thread, weight);
    write(thread, stack, weight);
}

// More than a few periods is no rest: samples are missing. They are noted as lost, unless something else reports that.
// The rest is put on a rooted stack only, since it may be many periods, and one truncated stack would then weigh
// as much.
void UnsampledTime::write_rest(ThreadId thread, std::uint64_t cpu_ns, const Begin& begin) {
    Sampled& sampled = of(thread);
    std::int64_t rest = static_cast<std::int64_t>(cpu_ns) - static_cast<std::int64_t>(sampled.credit_ns);
    const auto most = static_cast<std::int64_t>(std::max(3 * period_ns_, most_rest_ns));
    if (!samples_all_time_) {
        // Less than a period may have gone by since its last sample; the remainder was in the kernel.
        const std::int64_t kernel = std::max<std::int64_t>(0, rest - static_cast<std::int64_t>(period_ns_));
        if (const std::uint64_t weight = rest_.add(kernel); weight != 0)
            note(Note::kernel_not_permitted, thread, weight);
        rest -= kernel;
    }
    if (rest < -most) return;
    if (rest > most) {
        if (!reports_missing_ || summary_.throttled != 0) return;
        const std::uint64_t missing = static_cast<std::uint64_t>(rest) / period_ns_;
        const std::uint64_t reported = std::min(missing, lost_unassigned_);
        lost_by_clocks_ += missing - reported;
        lost_unassigned_ -= reported;
        return note(Note::lost, thread, missing);
    }
    if (sampled.last == 0) return;
    sampled.credit_ns = cpu_ns;
    const std::uint64_t weight = whole_periods(sampled, rest);
    if (weight == 0) return;
    if (sampled.last_rooted == 0) return write_brief(thread, brief_stack(begin), weight);
    summary_.samples += weight;
    summary_.rooted += weight;
    threads_.count(thread, weight);
    write(thread, sampled.last_rooted, weight);
}

void UnsampledTime::account_for_rests(std::uint64_t process_cpu_ns) {
    if (period_ns_ == 0) return;
    const auto living = threads_.living();
    std::uint64_t accounted = 0;
    for (const auto& [tid, cpu_ns] : living) {
        const bool sampled = threads_.has_id(tid) && of(threads_.find(tid)).credit_ns != 0;
        if (!sampled) {
            if (!threads_.has_id(tid)) accounted += cpu_ns;
            const std::uint64_t weight = rest_.add(static_cast<std::int64_t>(cpu_ns));
            if (weight == 0) continue;
            if (samples_all_time_ || cpu_ns < period_ns_) {
                write_brief(threads_.find(tid), brief_stack({}), weight);
            } else {  // as in thread_ended()
                note(Note::kernel_not_permitted, threads_.find(tid), weight);
            }
        } else if (const ThreadId thread = threads_.find(tid); samples_all_time_ && cpu_ns > of(thread).credit_ns) {
            write_rest(thread, cpu_ns, {});  // the clock of a running thread may be a tick behind
        }
    }
    accounted += threads_.cpu_ns();
    std::uint64_t missing = process_cpu_ns - std::min(process_cpu_ns, accounted);
    std::uint64_t threads = 0;
    for (const auto& [kind, brief] : briefs_) threads += brief.threads;
    const std::uint64_t each = threads == 0 ? 0 : std::min(missing / threads, most_after_end_ns);
    for (const auto& [kind, brief] : briefs_) {
        threads_.used(brief.thread, each * brief.threads);
        write_brief(brief.thread, brief.stack, rest_.add(static_cast<std::int64_t>(each * brief.threads)));
    }
    missing -= each * threads;
    // What is left belongs to threads that reported nothing. The clocks of running threads may be behind.
    const ThreadId unknown = threads_.unknown_if_any();
    const std::uint64_t noted = sampled_.size() > unknown ? sampled_[unknown].credit_ns : 0;
    missing -= std::min(missing, noted);
    const bool reported_elsewhere = !samples_all_time_ || lost_unassigned_ + summary_.throttled != 0;
    if (!reported_elsewhere && missing > period_ns_ + living.size() * (period_ns_ + threads_.behind_ns()))
        write_brief(threads_.unknown(), brief_stack({}), rest_.add(static_cast<std::int64_t>(missing)));
}

std::size_t UnsampledTime::memory() const {
    constexpr std::size_t node = 48, named_node = 128;  // of a hash table, and of a map by names and addresses
    return sampled_.capacity() * sizeof(Sampled) + (less_than_one_.size() + root_of_.size()) * node +
           briefs_.size() * named_node;
}

}  // namespace flameprobe
