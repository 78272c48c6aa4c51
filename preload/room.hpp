// A call of the host that fails because the collector has what it needs.
#pragma once

#include <errno.h>
#include <time.h>

#include "parts.hpp"

namespace flameprobe {

/// Of a call that gives an error number: there is no room for another process or thread.
inline bool has_no_place(int error) { return error == EAGAIN; }

/// Makes the call. If it then `lacks_room`, ends the collector, whose results are written as at the host's end, and
/// repeats the call: for at most a second, since the kernel keeps a process until it is waited for.
template <class Call, class Lacks>
auto without_collector(Call call, Lacks lacks_room) {
    auto result = call();
    if (!lacks_room(result)) return result;
    const flameprobe_core* const core = core_if_loaded();
    if (core == nullptr || core->make_room() == 0) return result;
    constexpr int tries = 1000;
    constexpr timespec pause{0, 1'000'000};
    for (int turn = 0; turn < tries; ++turn) {
        result = call();
        if (!lacks_room(result)) break;
        ::nanosleep(&pause, nullptr);
    }
    return result;
}

}  // namespace flameprobe
