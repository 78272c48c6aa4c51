#include "render/wait_cause.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "outside/counters.hpp"
#include "profile/counters.hpp"
#include "profile/model.hpp"
#include "render/describe.hpp"
#include "render/role.hpp"
#include "render/text.hpp"

namespace flameprobe {

namespace {

bool is_one_of(std::string_view name, const auto& names) { return std::ranges::find(names, name) != names.end(); }

constexpr std::array<std::string_view, 10> network = {"recvfrom", "recvmsg", "recvmmsg", "sendto", "sendmsg",
                                                      "sendmmsg", "connect", "shutdown", "recv",   "send"};
constexpr std::array<std::string_view, 20> idle = {
    "epoll_wait",      "epoll_pwait",  "epoll_pwait2",  "poll",           "ppoll",       "select", "pselect6",
    "accept",          "accept4",      "futex",         "futex_wait",     "futex_waitv", "pause",  "rt_sigsuspend",
    "rt_sigtimedwait", "io_getevents", "io_pgetevents", "io_uring_enter", "semtimedop",  "msgrcv"};
constexpr std::array<std::string_view, 4> sleeps = {"nanosleep", "clock_nanosleep", "restart_syscall", "sched_yield"};
constexpr std::array<std::string_view, 4> processes = {"wait4", "waitid", "vfork", "pidfd_wait"};
/// glibc's functions that take a lock (nptl/).
constexpr std::array<std::string_view, 13> locking = {"pthread_mutex_lock",
                                                      "__pthread_mutex_lock",
                                                      "___pthread_mutex_lock",
                                                      "__GI___pthread_mutex_lock",
                                                      "__lll_lock_wait",
                                                      "__lll_lock_wait_private",
                                                      "pthread_rwlock_wrlock",
                                                      "pthread_rwlock_rdlock",
                                                      "___pthread_rwlock_wrlock",
                                                      "___pthread_rwlock_rdlock",
                                                      "__pthread_rwlock_wrlock_full64",
                                                      "__pthread_mutex_lock_full",
                                                      "pthread_mutex_timedlock"};

constexpr double nearly_always = .9;
/// How names of the kernel's functions begin in which these wait.
constexpr std::array<std::string_view, 8> in_sockets = {"unix_stream", "unix_dgram", "sk_wait", "sk_stream",
                                                        "__skb_wait",  "skb_wait",   "inet_",   "tcp_"};
constexpr std::array<std::string_view, 4> in_pipes = {"anon_pipe", "pipe_", "fifo_", "wait_for_partner"};

bool begins_as_one_of(std::string_view name, const auto& begins) {
    return std::ranges::any_of(begins, [&](std::string_view begin) { return name.starts_with(begin); });
}

}  // namespace

std::map<std::string, std::string> calls_of_one_kind(const NamedProfile& profile) {
    constexpr std::array<std::string_view, 8> any_file = {"read",    "write",    "readv",    "writev",
                                                          "preadv2", "pwritev2", "sendfile", "splice"};
    std::map<std::string, std::string> found;
    for (const BlockedCall& call : blocked_calls(profile.summary.counters)) {
        if (!is_one_of(call.call, any_file)) continue;
        std::uint64_t socket = 0, pipe = 0;
        for (const auto& [channel, ns] : call.channels)
            if (begins_as_one_of(channel, in_sockets))
                socket += ns;
            else if (begins_as_one_of(channel, in_pipes))
                pipe += ns;
        const double least = nearly_always * static_cast<double>(call.ns);
        if (call.ns != 0 && static_cast<double>(socket) >= least) found[call.call] = call.call + " of a socket";
        if (call.ns != 0 && static_cast<double>(pipe) >= least) found[call.call] = call.call + " of a pipe";
    }
    return found;
}

std::string short_lock_name(std::string_view lock) { return clean_text(short_name(lock)); }

WaitCause wait_cause(const NamedProfile& profile, NodeId leaf) {
    WaitCause cause;
    bool locks = false;
    for (NodeId node = leaf; node != 0; node = profile.nodes[node].parent) {
        const Function& function = profile.function(node);
        const std::string_view name = profile.strings.view(function.name);
        if (function.kind == FrameKind::note && is_holder_note(name)) {
            constexpr std::string_view begin = "[held by ";
            cause.kind = WaitKind::lock;
            cause.lock = short_lock_name(lock_name(profile.strings.view(function.file)));
            cause.holder = clean_text(name.substr(begin.size(), name.size() - begin.size() - 1));
            cause.held = node;  // the last one towards the root is the waiter's own
        }
        locks = locks || is_one_of(name, locking);
    }
    if (cause.held != 0) return cause;
    const Function& last = profile.function(leaf);
    const std::string_view name = profile.strings.view(last.name);
    if (last.kind != FrameKind::note) return cause;
    const Role role = role_of_note(name);
    cause.call = clean_text(name);
    if (role == Role::preempted)
        cause.kind = WaitKind::preempted;
    else if (role == Role::note)
        cause.kind = WaitKind::not_known;
    else if (role != Role::waiting)
        cause.kind = WaitKind::none;
    else if (locks)
        cause.kind = WaitKind::lock;
    else if (is_one_of(name, network))
        cause.kind = WaitKind::network;
    else if (is_one_of(name, sleeps))
        cause.kind = WaitKind::sleep;
    else if (is_one_of(name, processes))
        cause.kind = WaitKind::process;
    else
        cause.kind = is_one_of(name, idle) ? WaitKind::idle : WaitKind::file;
    return cause;
}

}  // namespace flameprobe
