#include "collect/unsampled_time.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/elementary.hpp"

namespace flameprobe {
namespace {

// What a thread uses at most in the kernel after it has reported its CPU clock.
constexpr std::uint64_t most_after_end_ns = 50'000;
// The kind of the main thread, which has no start routine that was told, is its own.
constexpr std::uint64_t begin_of_main = 1;

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

// A perf event counts what a hypervisor or an interrupt took from its thread, and ticks and brief threads are right on
// average only: what samples stand for in excess of the process's clock is taken from those that follow, in parts.
void UnsampledTime::used(std::uint64_t process_cpu_ns) {
    excess_ns_ = credit_ns_ - std::min(credit_ns_, process_cpu_ns);
}

std::uint64_t UnsampledTime::sampled(ThreadId thread, std::uint64_t periods, std::int64_t short_by_ns) {
    if (period_ns_ == 0) return periods;
    std::uint64_t cpu_ns = periods * period_ns_ - static_cast<std::uint64_t>(short_by_ns);
    const std::uint64_t less = std::min(excess_ns_, cpu_ns / 4);
    excess_ns_ -= less;
    cpu_ns -= less;
    credit_ns_ += cpu_ns;
    Sampled& sampled = of(thread);
    const std::uint64_t whole = cpu_ns / period_ns_, rest_ns = cpu_ns % period_ns_;
    sampled.credit_ns += cpu_ns;
    sampled.periods += whole;
    return rest_ns == 0 ? whole : whole + whole_periods(sampled, static_cast<std::int64_t>(rest_ns));
}

// The periods are right within one for all threads together, and for each. `ns` is in the thread's credit already.
std::uint64_t UnsampledTime::whole_periods(Sampled& sampled, std::int64_t ns) {
    const std::uint64_t below = sampled.credit_ns / period_ns_, above = below + 1;
    const std::uint64_t given =
        rest_.add(ns, below - std::min(below, sampled.periods), above - std::min(above, sampled.periods));
    sampled.periods += given;
    return given;
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
void UnsampledTime::lost(std::uint64_t samples) {
    if (period_ns_ == 0) return note(Note::lost, threads_.unknown(), samples);
    lost_unassigned_ += samples;
}

void UnsampledTime::note(Note note, ThreadId thread, std::uint64_t weight) {
    if (note == Note::lost) summary_.lost += weight;
    threads_.count_noted(thread, weight);
    credit_ns_ += weight * period_ns_;
    of(thread).credit_ns += weight * period_ns_;
    of(thread).periods += weight;
    write(thread, stacks_.of_note(note), weight);
}

UnsampledTime::Kind& UnsampledTime::kind(const std::string& name, const Begin& begin) {
    const auto [known, is_new] = kinds_.try_emplace({name, begin.routine});
    if (is_new) known->second.begin = begin;
    return known->second;
}

ThreadId UnsampledTime::account(Kind& kind, const std::string& name) {
    if (!kind.without_id) kind.without_id = threads_.unsampled(name);
    return *kind.without_id;
}

void UnsampledTime::thread_ended(const EndedThread& ended) {
    std::uint64_t cpu_ns = ended.cpu_ns;
    const auto known = threads_.end_reported(ended.tid, cpu_ns);
    if (period_ns_ == 0) return;
    const Begin begin{ended.routine, ended.caller};
    ++kind(ended.name, begin).ended;
    known ? settle(*known, cpu_ns, ended.name, begin) : settle_unsampled(ended.name, cpu_ns, begin);
}

// Where perf may not sample the kernel, less than a period may have gone by since the last sample; the remainder was in
// the kernel.
void UnsampledTime::settle(ThreadId thread, std::uint64_t cpu_ns, const std::string& name, const Begin& begin) {
    Kind& its = kind(name, begin);
    std::int64_t rest = static_cast<std::int64_t>(cpu_ns) - static_cast<std::int64_t>(of(thread).credit_ns);
    if (const auto period = static_cast<std::int64_t>(period_ns_); !samples_all_time_ && rest > period) {
        its.add({thread, rest - period, true});
        rest = period;
    }
    its.add({thread, rest});
}

// Where perf may not sample the kernel, such a thread may have been there, or had no event.
void UnsampledTime::settle_unsampled(const std::string& name, std::uint64_t cpu_ns, const Begin& begin) {
    Kind& its = kind(name, begin);
    const ThreadId thread = account(its, name);
    threads_.used(thread, cpu_ns);
    its.of_unsampled_ns += static_cast<std::int64_t>(cpu_ns);
    its.sum_ns += static_cast<std::int64_t>(cpu_ns);
}

void UnsampledTime::settle_living() {
    for (const auto& [tid, cpu_ns] : threads_.living()) {
        const Begin begin{threads_.is_main(tid) ? begin_of_main : 0, 0};
        if (threads_.has_id(tid) || cpu_ns >= period_ns_)
            settle(threads_.find(tid), cpu_ns, threads_.name_of(tid), begin);
        else
            settle_unsampled(threads_.name_of(tid), cpu_ns, begin);
    }
}

// What the process used and no sample or note stands for. The threads' clocks say whose it was, as far as they can: a
// running thread's may be behind, and what a thread uses after its report, in the kernel, is in none. More than that
// belongs to threads that reported nothing.
void UnsampledTime::write_rests(std::uint64_t process_cpu_ns) {
    if (period_ns_ == 0) return;
    settle_living();
    std::int64_t of_clocks = 0;
    std::uint64_t allowance_ns = threads_.living().size() * (period_ns_ + threads_.behind_ns());
    for (const auto& [key, kind] : kinds_) {
        of_clocks += std::max<std::int64_t>(0, kind.sum_ns);
        allowance_ns += kind.ended * most_after_end_ns;
    }
    const std::int64_t missing = static_cast<std::int64_t>(process_cpu_ns) - static_cast<std::int64_t>(credit_ns_);
    const std::int64_t of_threads =
        of_clocks == 0 ? 0 : std::min(missing, of_clocks + static_cast<std::int64_t>(allowance_ns));
    const double lost = static_cast<double>(lost_unassigned_ * period_ns_) / static_cast<double>(missing);
    if (of_threads > 0) {
        const double share = static_cast<double>(of_threads) / static_cast<double>(of_clocks);
        for (auto& [key, kind] : kinds_) write_kind(key.first, kind, share, std::min(1.0, lost));
    }
    kinds_.clear();
    if (const std::int64_t unknown = missing - of_threads; unknown > static_cast<std::int64_t>(period_ns_)) {
        threads_.used(threads_.unknown(), static_cast<std::uint64_t>(unknown));
        write_rest({threads_.unknown(), unknown}, {}, std::min(1.0, lost));
    }
}

void UnsampledTime::write_kind(const std::string& name, Kind& kind, double of_sum, double lost_share) {
    if (kind.sum_ns <= 0) return;
    std::int64_t above_zero = kind.of_unsampled_ns;
    for (const Rest& rest : kind.rests) above_zero += rest.ns;
    const double share = of_sum * static_cast<double>(kind.sum_ns) / static_cast<double>(above_zero);
    const auto part = [share](std::int64_t ns) {
        return static_cast<std::int64_t>(static_cast<double>(ns) * share + 0.5);
    };
    for (const Rest& rest : kind.rests)
        write_rest({rest.thread, part(rest.ns), rest.in_kernel}, kind.begin, lost_share);
    if (kind.of_unsampled_ns != 0)
        write_rest({account(kind, name), part(kind.of_unsampled_ns)}, kind.begin, lost_share);
}

void UnsampledTime::write_rest(const Rest& rest, const Begin& begin, double lost_share) {
    const ThreadId thread = rest.thread;
    std::uint64_t weight = rest_.add(rest.ns);
    const std::uint64_t lost = std::min(
        lost_unassigned_,
        static_cast<std::uint64_t>(rounded_up(std::max(0.0, static_cast<double>(weight) * lost_share - 1e-6))));
    if (lost != 0) assign_lost_to(thread, lost);
    weight -= lost;
    if (weight == 0) return;
    if (rest.in_kernel) return note(Note::kernel_not_permitted, thread, weight);
    if (summary_.throttled != 0) return note(Note::throttled, thread, weight);
    not_sampled_ += weight;
    threads_.count_noted(thread, weight);
    write(thread, not_sampled_stack(begin), weight);
}

// The stack begins with the outermost frames of sampled threads, as far as they are known.
StackId UnsampledTime::not_sampled_stack(const Begin& begin) {
    const std::uint64_t caller = begin.caller == 0 ? 0 : begin.caller - 1;
    const std::uint64_t routine = begin.routine == begin_of_main ? 0 : begin.routine;
    const auto root = root_of_.find(caller);
    return stacks_.of_addresses({root != root_of_.end() ? root->second : 0, caller, routine}, "[not sampled]");
}

std::size_t UnsampledTime::memory() const {
    constexpr std::size_t node = 48, named_node = 192;  // of a hash table, and of a map by names and addresses
    std::size_t bytes = sampled_.capacity() * sizeof(Sampled) + (less_than_one_.size() + root_of_.size()) * node;
    for (const auto& [key, kind] : kinds_) bytes += named_node + kind.rests.capacity() * sizeof(Rest);
    return bytes;
}

}  // namespace flameprobe
