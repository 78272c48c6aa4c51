// Why a thread waited, as far as its stack tells: first what somebody can change.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// In the order in which they are told.
enum class WaitKind : std::uint8_t {
    none,  // it ran
    lock,  // whose holder may be known
    file,
    network,
    sleep,
    process,  // for the end of another
    others,   // in the midst of work, as idle: idle_waits.hpp
    idle,     // for work: epoll_wait, condition variables, joins
    not_known,
    preempted,
};

struct WaitCause {
    WaitKind kind = WaitKind::none;
    std::string call;    // the system call; "read of a socket", where its kind is known
    std::string lock;    // short; empty: it is not known
    std::string holder;  // the thread
    NodeId held = 0;     // the note that says so, below it the waiter's frames
};

/// Of calls like read(2) the names with what they nearly always waited for, by where in the kernel that was: "read of a
/// socket". From the profile's counters.
std::map<std::string, std::string> calls_of_one_kind(const NamedProfile& profile);

/// Of a stack of waiting time, or of both (wall), by its leaf.
WaitCause wait_cause(const NamedProfile& profile, NodeId leaf);

/// A lock's name without template arguments; an address as it is.
std::string short_lock_name(std::string_view lock);

}  // namespace flameprobe
