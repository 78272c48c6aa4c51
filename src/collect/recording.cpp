#include "collect/recording.hpp"

#include <time.h>

#include <algorithm>

#include "base/clock.hpp"
#include "base/host_process.hpp"
#include "capture/proc_maps.hpp"

namespace flameprobe {
namespace {

// About 256 MiB; and each thread that was sampled has its account in memory and in every summary, of which a reader
// takes no larger one than a block (docs/formats.md).
constexpr std::size_t most_stacks = std::size_t{1} << 24;
constexpr std::size_t most_threads = std::size_t{1} << 18;

}  // namespace

Recording::Recording(const RunInfo& run, std::string stem, OlderResults older, std::uint64_t buffer_bytes,
                     std::uint64_t file_bytes)
    : run_(run),
      start_ns_(monotonic_ns()),
      buffer_bytes_(buffer_bytes),
      file_(std::move(stem), older, file_bytes),
      pipeline_(file_.writer(), run.unwinder == "fp", start_ns_, run.period_ns, run.pid) {
    file_.writer().run(run_);
    if (const auto maps = read_proc_maps()) {
        for (const auto& mapping : maps->mappings) pipeline_.mapping(mapping);
    }
}

Recording::Clocks Recording::Clocks::now() {
    return {monotonic_ns(), host_cpu_ns(), collector_cpu_ns(), is_in_host_process()};
}

Result<void> Recording::resume(const Clocks& from) {
    if (auto reopened = file_.reopen(); !reopened) return reopened;
    running_ = true;
    counted_to_ = from;
    pipeline_.threads().reset_clocks();
    return {};
}

void Recording::pause() {
    read_account();
    running_ = false;
}

void Recording::read_account() {
    if (!running_) return;
    Clocks now = Clocks::now();
    if (now.process_cpu_ns == 0) now.process_cpu_ns = counted_to_.process_cpu_ns;  // the host has ended
    const std::uint64_t process = now.process_cpu_ns - counted_to_.process_cpu_ns;
    const std::uint64_t own = now.own_cpu_ns - counted_to_.own_cpu_ns;
    duration_ns_ += now.time_ns - counted_to_.time_ns;
    own_cpu_ns_ += own;
    // The time of a collector that is a thread of the host is none of the host's.
    process_cpu_ns_ += now.own_is_in_process ? process - std::min(process, own) : process;
    counted_to_ = now;
    pipeline_.threads().read_clocks();
}

// Also while sampling pauses: what an engine's buffers held then is drained afterwards.
void Recording::write_account() {
    Summary& summary = pipeline_.summary();
    summary.duration_ns = duration_ns_;
    summary.process_cpu_ns = process_cpu_ns_;
    summary.own_cpu_ns = own_cpu_ns_;
    summary.own_memory = pipeline_.memory() + buffer_bytes_;
    summary.threads = pipeline_.threads().accounts();
    const auto statistics = pipeline_.unwind_statistics();
    summary.counters["unwind rule hits"] = statistics.rule_hits;
    summary.counters["unwind rule misses"] = statistics.rule_misses;
    const auto& scopes = pipeline_.scope_statistics();
    if (scopes.accepted != 0) {
        summary.counters["scopes found open"] = scopes.accepted;
        summary.counters["scopes past the copy, not proven"] = scopes.unproven;
    }
    summary.counters["libunwind steps"] = statistics.libunwind_steps;
}

// With exclude_kernel the kernel drops every sample that hits a system call: on a server most of the CPU time. What the
// CPU clocks counted and no sample stands for was spent there. Timers see that time; what they miss (a thread that was
// gone before it was found) is lost. With the kernel permitted, only throttling leaves so much out.
void Recording::account_for_unsampled(std::uint64_t margin_of_periods) {
    const Summary& summary = pipeline_.summary();
    if (run_.period_ns == 0 || (run_.kernel == "on" && summary.throttled == 0)) return;
    const Note why = run_.kernel == "on"      ? Note::throttled
                     : run_.engine == "timer" ? Note::lost
                                              : Note::kernel_not_permitted;
    const std::uint64_t expected = periods_of_cpu();
    const std::uint64_t known = summary.samples + summary.lost + all_noted_ + margin_of_periods;
    std::uint64_t missing = expected - std::min(expected, known);
    const auto& accounts = pipeline_.threads().accounts();
    noted_.resize(accounts.size() + 1);  // and that of the unknown, who may come at the end
    const auto tell = [&](ThreadId thread, std::uint64_t weight) {
        pipeline_.note(why, thread, weight);
        noted_[thread] += weight;
        all_noted_ += weight;
        missing -= weight;
    };
    for (const auto& account : accounts) {
        const std::uint64_t of_thread = account.cpu_ns / run_.period_ns;
        const std::uint64_t share =
            std::min(missing, of_thread - std::min(of_thread, account.samples + noted_[account.thread]));
        if (share > 1) tell(account.thread, share);  // 1: the period that was under way when the clock was read
    }
    if (missing > accounts.size()) tell(pipeline_.threads().unknown(), missing);  // they ended between two looks
}

Result<void> Recording::flush() {
    if (!has_samples()) return {};
    if (auto created = file_.create(); !created) return created;
    read_account();
    // Samples that are still in the engine's buffers are not missing.
    if (running_) account_for_unsampled(std::max<std::uint64_t>(20, periods_of_cpu() / 20));
    write_account();
    file_.writer().summary(pipeline_.summary());
    return file_.flush();
}

bool Recording::tables_full() {
    return pipeline_.stacks() >= most_stacks || pipeline_.threads().accounts().size() >= most_threads;
}

bool Recording::go_on(std::uint64_t most_bytes) {
    if (tables_full() || file_.bytes() + file_.most_bytes() > most_bytes) return false;
    file_.go_on();
    return true;
}

Result<void> Recording::suspend() {
    auto flushed = flush();
    pipeline_.close_files();
    file_.close();
    return flushed;
}

Result<void> Recording::close() {
    pipeline_.settle_all();
    read_account();
    if (!has_samples()) {
        file_.remove();
        return {};
    }
    account_for_unsampled(run_.kernel == "on" ? periods_of_cpu() * 3 / 100 : 0);
    pipeline_.summary().complete = true;
    return flush();
}

}  // namespace flameprobe
