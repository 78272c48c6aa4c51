// Why a thread waited, as far as its stack tells: first what somebody can change.
#pragma once

#include <cstdint>
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
    idle,     // for work: epoll_wait, condition variables, joins
    not_known,
    preempted,
};

struct WaitCause {
    WaitKind kind = WaitKind::none;
    std::string call;    // the system call
    std::string lock;    // short; empty: it is not known
    std::string holder;  // the thread
    NodeId held = 0;     // the note that says so, below it the waiter's frames
};

/// Of a stack of waiting time, or of both (wall), by its leaf.
WaitCause wait_cause(const NamedProfile& profile, NodeId leaf);

/// A lock's name without template arguments; an address as it is.
std::string short_lock_name(std::string_view lock);

}  // namespace flameprobe
