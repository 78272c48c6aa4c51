#include "collect/usage.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/host_process.hpp"
#include "base/proc.hpp"
#include "profile/model.hpp"

namespace flameprobe {
namespace {

// A look at a thread costs some 50 us.
constexpr std::size_t threads_at_the_ends = 256, threads_a_second = 16;

}  // namespace

std::optional<ThreadScheduling> read_scheduling(std::uint32_t tid) {
    const std::string task = host_proc_directory() + "/task/" + std::to_string(tid);
    const auto schedule = read_schedule(task);
    if (!schedule) return std::nullopt;
    return ThreadScheduling{schedule->delay_ns, read_migrations(task)};
}

void SchedulingAccount::begin(const std::vector<std::uint32_t>& tids) {
    known_.clear();
    for (const std::uint32_t tid : tids) {
        Known& thread = known_[tid];
        if (known_.size() > threads_at_the_ends) continue;  // the first look at it is the beginning
        if (const auto now = read_scheduling(tid)) thread = {*now, true};
    }
}

void SchedulingAccount::look(std::vector<std::uint32_t> tids, std::size_t most) {
    std::sort(tids.begin(), tids.end());
    std::erase_if(known_,
                  [&](const auto& known) { return !std::binary_search(tids.begin(), tids.end(), known.first); });
    const auto turn = std::upper_bound(tids.begin(), tids.end(), last_tid_);
    std::rotate(tids.begin(), turn, tids.end());
    tids.resize(std::min(tids.size(), most));
    for (const std::uint32_t tid : tids) look_at(tid);
    if (!tids.empty()) last_tid_ = tids.back();
}

// All that a thread has done counts if it was born after begin().
void SchedulingAccount::look_at(std::uint32_t tid) {
    const auto now = read_scheduling(tid);
    if (!now) return;
    const auto [entry, is_new] = known_.try_emplace(tid);
    Known& thread = entry->second;
    const auto more = [](std::uint64_t at_last, std::uint64_t at_now) {
        return at_now < at_last ? at_now : at_now - at_last;  // less: another thread has the number
    };
    if (thread.looked_at || is_new) {
        sum_.run_queue_ns += more(thread.last.run_queue_ns, now->run_queue_ns);
        if (now->migrations)
            sum_.migrations = sum_.migrations.value_or(0) + more(thread.last.migrations.value_or(0), *now->migrations);
        has_looked_ = true;
    }
    thread = {*now, true};
}

void SchedulingAccount::add_to(Counters& counters) const {
    if (!has_looked_) return;
    counters[std::string(counter::run_queue)] = sum_.run_queue_ns;
    if (sum_.migrations) counters[std::string(counter::migrations)] = *sum_.migrations;
}

std::optional<Usage> read_usage() {
    const auto stat = read_small_file((host_proc_directory() + "/stat").c_str());
    if (!stat) return std::nullopt;
    // proc(5): minflt and majflt.
    Usage usage;
    usage.minor_faults = stat_number(*stat, 10);
    usage.major_faults = stat_number(*stat, 12);
    const auto status = read_small_file((host_proc_directory() + "/status").c_str());
    if (const auto peak_kib = status ? status_number(*status, "VmHWM") : std::nullopt)
        usage.peak_bytes = 1024 * *peak_kib;
    return usage;
}

void UsageAccount::begin(std::uint64_t now_ns) {
    last_ = read_usage();
    read_ns_ = now_ns;
    scheduling_.begin(list_other_threads());
}

void UsageAccount::read(std::uint64_t now_ns, bool at_the_end) {
    constexpr std::uint64_t every_ns = 1'000'000'000;
    if (!last_ || (!at_the_end && now_ns < read_ns_ + every_ns)) return;
    read_ns_ = now_ns;
    const auto now = read_usage();
    if (!now) return;
    scheduling_.look(list_other_threads(), at_the_end ? threads_at_the_ends : threads_a_second);
    sum_.minor_faults += now->minor_faults - std::min(now->minor_faults, last_->minor_faults);
    sum_.major_faults += now->major_faults - std::min(now->major_faults, last_->major_faults);
    sum_.peak_bytes = std::max(sum_.peak_bytes, now->peak_bytes);
    last_ = now;
}

void UsageAccount::add_to(Counters& counters) const {
    if (!last_) return;
    counters[std::string(counter::minor_faults)] = sum_.minor_faults;
    counters[std::string(counter::major_faults)] = sum_.major_faults;
    if (sum_.peak_bytes != 0) counters[std::string(counter::peak_memory)] = sum_.peak_bytes;
    scheduling_.add_to(counters);
}

}  // namespace flameprobe
