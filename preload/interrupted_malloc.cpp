// A handler may fork, a crash handler for instance that starts a debugger (signal-safety(7)). Whether malloc's lock is
// held cannot be asked of libc. So where the stack has the frame of a signal that interrupted libc's code, a child that
// shares nothing tries to take it.
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/deadline.hpp"
#include "capture/handler/raw_system_call.hpp"
#include "cpu/signal_frame.hpp"
#include "interpose.hpp"
#include "parts.hpp"

namespace flameprobe {
namespace {

struct mallinfo (*next_mallinfo)() = nullptr;

constinit Segment libc{};  // its code

__attribute__((constructor(101))) void find_libc() {
    if (void* const function = ::dlsym(RTLD_NEXT, "abort")) libc = segment_of(function);
    next(next_mallinfo, "mallinfo");
}

/// Whether a signal interrupted libc, by the frames above the caller's. A stale one does no harm: it is only tried.
bool has_interrupted_libc() {
    constexpr uintptr_t page = 4096, far_enough = 64 * 1024;
    const uintptr_t from = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    uintptr_t mapped_to = (from | (page - 1)) + 1;
    for (uintptr_t at = from; at < from + far_enough; at += sizeof(uintptr_t)) {
        if (at + sizeof(ucontext_t) > mapped_to) {  // as much as a frame's beginning has
            if (!is_mapped(mapped_to)) return false;
            mapped_to += page;
        }
        const uintptr_t pc = cpu::interrupted_at(reinterpret_cast<const uintptr_t*>(at));
        if (pc != 0 && libc.has(pc)) return true;
    }
    return false;
}

/// Whether a process sleeps, as for a lock; false where /proc does not tell.
bool sleeps(long pid) {
    char path[32], text[64];
    ::snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    const long file = handler::system_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    const long size = handler::system_call(SYS_read, file, text, sizeof text);
    handler::system_call(SYS_close, file);
    long at = size;
    while (at > 0 && text[at - 1] != ')') --at;  // behind the name
    return at > 0 && at + 1 < size && text[at + 1] == 'S';
}

/// Without an exit signal: the host's waits do not see it.
bool can_take_lock() {
    const timespec pause{0, 200'000};
    const long child = handler::system_call(SYS_clone);
    if (child == 0) {
        next_mallinfo();
        handler::system_call(SYS_exit_group);
    }
    if (child < 0) return true;  // no more can be known
    for (const Deadline deadline(ns_per_second / 5); !deadline.over() && !sleeps(child);) {
        if (handler::system_call(SYS_wait4, child, 0, WNOHANG | static_cast<int>(__WALL)) != 0) return true;
        handler::system_call(SYS_nanosleep, &pause);
    }
    handler::system_call(SYS_kill, child, SIGKILL);
    handler::system_call(SYS_wait4, child, 0, static_cast<int>(__WALL));
    return false;
}

}  // namespace

bool is_in_interrupted_malloc() noexcept {
    return next_mallinfo != nullptr && libc.end != 0 && has_interrupted_libc() && !can_take_lock();
}

}  // namespace flameprobe
