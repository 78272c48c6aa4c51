#include "recorders.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "base/clock.hpp"
#include "base/proc.hpp"
#include "refusal.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

void add_children_of(pid_t pid, std::vector<pid_t>& all) {
    const TaskList tasks("/proc/" + std::to_string(pid) + "/task");
    std::vector<std::uint32_t> tids;
    static_cast<void>(tasks.read(tids));  // false: we are none of them
    for (const std::uint32_t tid : tids) {
        std::istringstream children(tasks.file(tid, "children").value_or(""));
        for (pid_t child = 0; children >> child;) {
            if (child == ::getpid()) continue;  // and our recorders
            all.push_back(child);
            add_children_of(child, all);
        }
    }
}

std::uint64_t cpu_of(pid_t pid) { return read_clock(process_cpu_clock(static_cast<std::uint32_t>(pid))); }

/// CPU time of the children that a process has waited for, and of theirs (proc(5), /proc/PID/stat: cutime, cstime); 0
/// if it has ended.
std::uint64_t waited_cpu_of(pid_t pid) {
    const auto stat = read_small_file(("/proc/" + std::to_string(pid) + "/stat").c_str());
    const std::uint64_t ticks = stat ? stat_number(*stat, 16) + stat_number(*stat, 17) : 0;
    return ticks * (ns_per_second / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK)));
}

}  // namespace

std::vector<pid_t> descendants_of(pid_t pid) {
    std::vector<pid_t> all;
    add_children_of(pid, all);
    return all;
}

Result<void> Recorders::start() {
    first_cpu_ns_ = last_cpu_ns_ = cpu_of(root_);
    first_waited_ns_ = last_waited_ns_ = waited_cpu_of(root_);
    auto first = Recorder::start(root_, settings_);
    if (!first) return first.error();
    recorders_.emplace(root_, std::move(*first));
    add_children();
    return {};
}

// One that cannot be recorded is told once. It may only be about to end, which nothing shows: so it is tried twice.
void Recorders::add_children() {
    if (!tree_) return;
    const std::vector<pid_t> descendants = descendants_of(root_);
    std::erase_if(failures_, [&](const auto& failure) {
        return std::find(descendants.begin(), descendants.end(), failure.first) == descendants.end();
    });
    for (const pid_t pid : descendants) {
        if (recorders_.contains(pid) || failures_[pid] == 2) continue;
        std::string why = why_not_attached(pid, settings_.options.off_cpu());
        if (why.empty()) {
            auto recorder = Recorder::start(pid, settings_);
            if (recorder) {
                recorders_.emplace(pid, std::move(*recorder));
                continue;
            }
            why = recorder.error().message;
        }
        if (++failures_[pid] == 2 && is_running(pid)) problems_.push_back(why);
    }
}

void Recorders::look() {
    last_cpu_ns_ = std::max(last_cpu_ns_, cpu_of(root_));  // 0 once it has ended
    last_waited_ns_ = std::max(last_waited_ns_, waited_cpu_of(root_));
    std::vector<pollfd> lives;
    for (const auto& [pid, recorder] : recorders_) lives.push_back({recorder.life().get(), 0, 0});
    ::poll(lives.data(), lives.size(), 0);
    std::size_t at = 0;
    for (auto each = recorders_.begin(); each != recorders_.end(); ++at) {
        std::uint64_t& clock = clocks_[each->first];
        clock = std::max(clock, cpu_of(each->first));
        if (lives[at].revents == 0) {
            ++each;
            continue;
        }
        if (each->first != root_) ended_cpu_ns_ += clock;
        clocks_.erase(each->first);
        take_end(each->second);
        each = recorders_.erase(each);
    }
    add_children();
}

void Recorders::take_end(Recorder& recorder) {
    std::string why = recorder.wait_for_end();
    if (why.empty()) return;
    problems_.push_back(std::move(why));
    failed_ = true;
}

// The clocks of those that were seen may be read up to one look before their end.
void Recorders::tell_unseen(const std::string& advice) {
    constexpr std::uint64_t least_ns = 100 * ns_per_ms;
    const std::uint64_t waited = last_waited_ns_ - first_waited_ns_;
    if (waited < ended_cpu_ns_ + std::max(least_ns, waited / 10)) return;
    problems_.push_back("children that ended before they were seen used about " +
                        duration_text(waited - ended_cpu_ns_) + " of CPU time, which is not in the picture" + advice);
}

void Recorders::end(const std::string& advice) {
    if (tree_) tell_unseen(advice);
    for (auto& [pid, recorder] : recorders_) recorder.ask_to_end();
    for (auto& [pid, recorder] : recorders_) take_end(recorder);
    recorders_.clear();
}

void Recorders::wait(int descriptor, std::uint64_t duration_ns) {
    constexpr std::uint64_t look_every_ms = 50;
    const std::uint64_t end_ns = monotonic_ns() + duration_ns;
    while (!recorders_.empty()) {
        const std::uint64_t now = monotonic_ns();
        if (duration_ns != 0 && now >= end_ns) break;
        const std::uint64_t left_ms = duration_ns == 0 ? look_every_ms : (end_ns - now) / ns_per_ms + 1;
        pollfd watched{descriptor, POLLIN, 0};
        if (::poll(&watched, 1, static_cast<int>(std::min(left_ms, look_every_ms))) > 0) {
            signalfd_siginfo taken{};  // the next one gives up what does not end
            [[maybe_unused]] const ssize_t got = ::read(descriptor, &taken, sizeof taken);
            break;
        }
        look();
    }
}

}  // namespace flameprobe
