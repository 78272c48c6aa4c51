#include "collect/ledger.hpp"

#include <algorithm>
#include <cmath>

#include "base/clock.hpp"

namespace flameprobe {
namespace {

// What a thread uses at most in the kernel after it has reported its CPU clock.
constexpr std::uint64_t most_after_end_ns = 50'000;
// Samples come late: from pending stacks, and by ticks that miss a thread for a while. Less than this many periods,
// than this time and than this part of a thread's CPU time is not noted while it runs.
constexpr std::uint64_t late_periods = 20, late_ns = 200'000'000, late_part = 20;
// Samples that stand for more than was used are corrected by at most this part each.
constexpr std::uint64_t most_correction = 4;
// The kind of the main thread, which has no start routine that was told, is its own.
constexpr std::uint64_t begin_of_main = 1;

std::uint64_t part_of(std::uint64_t ns, double share) {
    return static_cast<std::uint64_t>(static_cast<double>(ns) * std::clamp(share, 0.0, 1.0));
}

}  // namespace

// A perf event counts what a hypervisor or an interrupt took from its thread, and ticks and brief threads are right on
// average only: what samples stand for in excess of the process's clock is taken from those that follow, in parts. What
// chance explains of it is given back when they stand for less.
void Ledger::used(std::uint64_t process_cpu_ns) {
    const std::uint64_t accounted = threads_.accounted();
    excess_ns_ = accounted - std::min(accounted, process_cpu_ns);
    deficit_ns_ = process_cpu_ns - std::min(accounted, process_cpu_ns);
    const double by_chance = std::sqrt(static_cast<double>(accounted) * static_cast<double>(period_ns_));
    taken_ns_ = std::min(taken_ns_, static_cast<std::uint64_t>(by_chance));
}

std::uint64_t Ledger::sampled(ThreadId thread, std::uint64_t weight) {
    const std::uint64_t most = period_ns_ == 0 ? 0 : weight / most_correction;
    const std::uint64_t less = std::min(excess_ns_, most), more = std::min({deficit_ns_, taken_ns_, most});
    excess_ns_ -= less;
    deficit_ns_ -= more;
    taken_ns_ += less - more;
    weight += more - less;
    threads_.count(thread, weight);
    return weight;
}

void Ledger::write(ThreadId thread, StackId stack, std::uint64_t weight) {
    wrote_ = true;
    sink_.sample({.time_ns = monotonic_ns() - start_ns_,
                  .thread = threads_.shown(thread),
                  .stack = stack,
                  .weight = weight,
                  .hits = 0});
}

void Ledger::note(Note note, ThreadId thread, std::uint64_t weight) {
    if (weight == 0) return;
    if (note == Note::lost) summary_.lost += weight;
    threads_.count_noted(thread, weight);
    write(thread, stacks_.of_note(note), weight);
}

void Ledger::lost(std::uint64_t weight) {
    if (period_ns_ == 0) return note(Note::lost, threads_.unknown(), weight);
    lost_unassigned_ += weight;
}

void Ledger::assign_lost_to(ThreadId thread, std::uint64_t weight) {
    note(Note::lost, thread, weight);
    lost_unassigned_ -= weight;
}

// By what each thread's CPU clock misses. What is left over belongs to threads that have ended, whose rests are written
// at the end.
void Ledger::assign_lost() {
    if (lost_unassigned_ == 0) return;
    const auto running = threads_.running();
    std::uint64_t all = 0;
    for (const auto& thread : running) all += thread.missing_ns;
    const double share = static_cast<double>(lost_unassigned_) / static_cast<double>(std::max<std::uint64_t>(all, 1));
    for (const auto& thread : running)
        if (const std::uint64_t lost = std::min(part_of(thread.missing_ns, share), lost_unassigned_); lost != 0)
            assign_lost_to(threads_.find(thread.tid), lost);
}

void Ledger::note_missing(Note why, std::uint64_t used_ns) {
    if (period_ns_ == 0) return;
    for (const auto& thread : threads_.running()) {
        const std::uint64_t spared = std::max({late_periods * period_ns_, late_ns, thread.cpu_ns / late_part});
        const std::uint64_t unaccounted = used_ns - std::min(used_ns, threads_.accounted());
        if (thread.missing_ns <= spared || unaccounted == 0) continue;
        note(why, threads_.find(thread.tid), std::min(thread.missing_ns - spared, unaccounted));
    }
}

Ledger::Kind& Ledger::kind(const std::string& name, const Begin& begin) {
    constexpr std::size_t most = 4096;
    static constexpr const char* others = "[other threads]";
    const bool full = kinds_.size() >= most && !kinds_.contains({name, begin.routine});
    const auto [known, is_new] = full ? kinds_.try_emplace({others, 0}) : kinds_.try_emplace({name, begin.routine});
    if (is_new && !full) known->second.begin = begin;
    return known->second;
}

void Ledger::thread_ended(const EndedThread& ended) {
    std::uint64_t cpu_ns = ended.cpu_ns;
    const auto known = threads_.end_reported(ended.tid, cpu_ns);
    if (period_ns_ == 0) return;
    const Begin begin{ended.routine, ended.caller};
    ++kind(ended.name, begin).ended;
    known ? settle(*known, cpu_ns, ended.name, begin) : settle_unsampled(ended.name, cpu_ns, begin);
}

// Where perf may not sample the kernel, less than a period may have gone by since the last sample; the remainder was in
// the kernel.
void Ledger::settle(ThreadId thread, std::uint64_t cpu_ns, const std::string& name, const Begin& begin) {
    if (threads_.is_shared(thread)) return settle_unsampled(name, cpu_ns, begin);
    Kind& its = kind(name, begin);
    std::int64_t rest = static_cast<std::int64_t>(cpu_ns) - static_cast<std::int64_t>(threads_.accounted(thread));
    if (const auto period = static_cast<std::int64_t>(period_ns_); !samples_all_time_ && rest > period) {
        its.add({thread, rest - period, true});
        rest = period;
    }
    its.add({thread, rest});
}

// Where perf may not sample the kernel, such a thread may have been there, or had no event.
void Ledger::settle_unsampled(const std::string& name, std::uint64_t cpu_ns, const Begin& begin) {
    Kind& its = kind(name, begin);
    threads_.used(threads_.unsampled(name), cpu_ns);
    its.of_unsampled_ns += static_cast<std::int64_t>(cpu_ns);
    its.sum_ns += static_cast<std::int64_t>(cpu_ns);
}

void Ledger::settle_running(const ThreadRegistry::Running& thread) {
    const Begin begin{thread.is_main ? begin_of_main : 0, 0};
    const std::string name = threads_.account_name(thread.tid);
    if (thread.has_id || thread.cpu_ns >= period_ns_)
        settle(threads_.find(thread.tid), thread.cpu_ns, name, begin);
    else
        settle_unsampled(name, thread.cpu_ns, begin);
}

// What the process used and no sample or note stands for. The threads' clocks say whose it was, as far as they can: a
// running thread's may be behind, and what a thread uses after its report, in the kernel, is in none. More than that
// belongs to threads that reported nothing.
std::uint64_t Ledger::write_rests(std::uint64_t process_cpu_ns) {
    if (period_ns_ == 0) return 0;
    const auto running = threads_.running();
    for (const auto& thread : running) settle_running(thread);
    std::int64_t of_clocks = 0;
    std::uint64_t allowance_ns = running.size() * (period_ns_ + threads_.behind_ns());
    for (const auto& [key, kind] : kinds_) {
        of_clocks += std::max<std::int64_t>(0, kind.sum_ns);
        allowance_ns += kind.ended * most_after_end_ns;
    }
    const std::int64_t missing =
        static_cast<std::int64_t>(process_cpu_ns) - static_cast<std::int64_t>(threads_.accounted());
    const std::int64_t of_threads =
        of_clocks == 0 ? 0 : std::min(missing, of_clocks + static_cast<std::int64_t>(allowance_ns));
    const double lost = static_cast<double>(lost_unassigned_) / static_cast<double>(missing);
    if (of_threads > 0) {
        const double share = static_cast<double>(of_threads) / static_cast<double>(of_clocks);
        for (auto& [key, kind] : kinds_) write_kind(key.first, kind, share, lost);
    }
    kinds_.clear();
    if (const std::int64_t unknown = missing - of_threads; unknown > static_cast<std::int64_t>(period_ns_)) {
        const ThreadId thread = threads_.unknown();
        threads_.used(thread, process_cpu_ns - std::min(process_cpu_ns, threads_.cpu_ns()));
        write_rest({thread, unknown}, {}, lost);
    }
    return std::exchange(lost_unassigned_, 0);
}

void Ledger::write_kind(const std::string& name, Kind& kind, double of_sum, double lost_share) {
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
        write_rest({threads_.unsampled(name), part(kind.of_unsampled_ns)}, kind.begin, lost_share);
}

void Ledger::write_rest(const Rest& rest, const Begin& begin, double lost_share) {
    const ThreadId thread = rest.thread;
    auto weight = static_cast<std::uint64_t>(rest.ns);
    const std::uint64_t lost = std::min(lost_unassigned_, part_of(weight, lost_share));
    assign_lost_to(thread, lost);
    weight -= lost;
    if (weight == 0) return;
    if (rest.in_kernel) return note(Note::kernel_not_permitted, thread, weight);
    if (summary_.throttled != 0) return note(Note::throttled, thread, weight);
    not_sampled_ns_ += weight;
    threads_.count_noted(thread, weight);
    write(thread, not_sampled_stack(begin), weight);
}

// The stack begins with the outermost frames of sampled threads, as far as they are known.
StackId Ledger::not_sampled_stack(const Begin& begin) {
    const std::uint64_t caller = begin.caller == 0 ? 0 : begin.caller - 1;
    const std::uint64_t routine = begin.routine == begin_of_main ? 0 : begin.routine;
    const auto root = root_of_.find(caller);
    return stacks_.of_addresses({root != root_of_.end() ? root->second : 0, caller, routine}, "[not sampled]");
}

std::size_t Ledger::memory() const {
    constexpr std::size_t node = 48, named_node = 192;  // of a hash table, and of a map by names and addresses
    std::size_t bytes = root_of_.size() * node;
    for (const auto& [key, kind] : kinds_) bytes += named_node + kind.rests.capacity() * sizeof(Rest);
    return bytes;
}

}  // namespace flameprobe
