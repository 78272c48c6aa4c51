// syscall(2), as the way to seccomp(2), for which libc has no function. Every other number goes straight on.
//
// syscall itself is in src/arch. It goes on by a jump: the next function finds registers and stack as the caller left
// them, however many words there are, and returns to the caller itself: also a clone that comes back on another stack,
// where no frame of ours would be.
#include <sys/syscall.h>

#include "interpose.hpp"
#include "seccomp.hpp"

using SystemCall = long(long, ...);

extern "C" {
/// The function that ours replaces; null until it has been looked up.
__attribute__((visibility("hidden"), used)) constinit SystemCall* flameprobe_next_syscall_ = nullptr;

/// For seccomp(2), and for the first call of all. Takes what `syscall` was given, gives the next function.
__attribute__((visibility("hidden"), used)) SystemCall* flameprobe_before_syscall_(long number, unsigned long operation,
                                                                                   unsigned long flags,
                                                                                   const void* program) noexcept {
    if (number == SYS_seccomp) flameprobe::before_seccomp(operation, flags, program);
    return flameprobe::next(flameprobe_next_syscall_, "syscall");
}
}

namespace flameprobe {
namespace {

// Looked up at load time: dlsym must not be called in a signal handler, or in a child of vfork.
__attribute__((constructor(101))) void find_syscall() { next(flameprobe_next_syscall_, "syscall"); }

}  // namespace
}  // namespace flameprobe
