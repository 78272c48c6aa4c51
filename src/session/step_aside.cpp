// Where the collector is in the way of a call of the host's, for the kernel or for libc.
#include <linux/capability.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/deadline.hpp"
#include "base/proc.hpp"
#include "session/session.hpp"

namespace flameprobe {

using State = Life::State;

namespace {

/// Effective and permitted capabilities of a thread, 0 being the caller; all zero if they cannot be read.
std::array<std::uint32_t, 4> capabilities_of(std::uint32_t tid) noexcept {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, static_cast<int>(tid)};
    __user_cap_data_struct data[2] = {};
    if (::syscall(SYS_capget, &header, data) != 0) return {};
    return {data[0].effective, data[1].effective, data[0].permitted, data[1].permitted};
}

void sleep_for_a_millisecond() noexcept {
    const timespec time{0, 1'000'000};
    ::nanosleep(&time, nullptr);
}

}  // namespace

// With other threads the kernel refuses the calls that this is for but fork, and they might call this at the same time.
bool Session::step_aside(flameprobe_aside when) {
    if (!is_thread_of_host()) return false;
    if (when == aside_if_unequal && capabilities_of(0) == capabilities_of(collector_.commands().tid())) return false;
    return (when == aside_among_threads || only_caller_lives()) && send_away(request_leave);
}

void Session::leave_if_thread() {
    if (!step_aside(aside_among_threads)) return;
    wanted_ = false;
    log_.warning(
        "a zygote and its children are not sampled: it must have one thread, so it needs perf (flameprobe doctor)");
}

// A collector that was just launched may be about to become a task: its answer shows that this is decided.
bool Session::is_thread_of_host() {
    const Life& life = collector_.life();
    if (!launched() || host_is_filtered || !of_this_process() || life.is(State::task)) return false;
    if (life.is(State::newborn) || life.is(State::begun)) ask_and_wait(request_nothing);
    return life.is(State::begun) || life.is(State::thread);
}

bool Session::send_away(Request last) {
    const std::uint32_t tid = collector_.commands().tid();
    if (!ask_and_wait(last)) return false;
    wait_for_end(tid);
    if (!collector_.life().step<State::thread, State::none>()) collector_.life().step<State::begun, State::none>();
    return true;
}

// The collector's answer comes a moment before its thread is gone for the kernel.
void Session::wait_for_end(std::uint32_t tid) noexcept {
    for (const Deadline deadline(ns_per_second);
         !deadline.over() && ::syscall(SYS_tgkill, host_process(), tid, 0) == 0;)
        sleep_for_a_millisecond();
}

bool Session::make_room() noexcept {
    CommandQueue& commands = collector_.commands();
    if (!launched() || !of_this_process() || collector_.life().ends()) return false;
    wanted_ = false;
    const std::uint32_t tid = commands.tid();
    if (!collector_.birth().end() && !ask_and_wait(request_room)) return false;
    commands.nudge();  // a newborn one, which has nothing to answer
    if (commands.has_task())
        collector_.reap_task();
    else
        wait_for_end(tid);
    return true;
}

Outcome Session::come_back() {
    if (auto launched = launch(); !launched.ok()) return launched;
    if (wanted_) ask_and_wait(request_start);
    return {};
}

bool Session::only_caller_lives() const {
    const auto self = own_tid(), collector = collector_.commands().tid();
    const auto threads = list_threads();
    return !threads.empty() && std::none_of(threads.begin(), threads.end(), [&](std::uint32_t tid) {
        return tid != self && tid != collector && !has_ended(tid) && !runs_in_kernel(tid);
    });
}

// Where /proc is not mounted the threads cannot be counted: the collector ends instead, so that libc counts right.
bool Session::left_alone() {
    if (!is_thread_of_host()) return false;
    if (list_threads().empty()) {
        send_away(request_finish);
        return false;
    }
    for (const Deadline deadline(10 * ns_per_ms); !deadline.over(); sleep_for_a_millisecond())
        if (only_caller_lives()) return true;
    return false;
}

}  // namespace flameprobe
