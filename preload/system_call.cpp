// syscall(2), as the way to seccomp(2), for which libc has no function, and past sigaltstack(2) and execve(2). Every
// other number goes straight on.
//
// syscall itself is in src/arch. It goes on by a jump: the next function finds registers and stack as the caller left
// them, however many words there are, and returns to the caller itself: also a clone that comes back on another stack,
// where no frame of ours would be.
#include <errno.h>
#include <sys/syscall.h>

#include "alternate_stack.hpp"
#include "exec.hpp"
#include "filters.hpp"
#include "interpose.hpp"

using SystemCall = long(long, ...);

namespace flameprobe {
namespace {

long alternate_stack_by_number(long, const stack_t* wanted, stack_t* before) noexcept {
    const int result = set_alternate_stack(wanted, before);
    if (result < 0) errno = -result;
    return result < 0 ? -1 : 0;
}

}  // namespace
}  // namespace flameprobe

extern "C" {
/// The function that ours replaces; null until it has been looked up.
__attribute__((visibility("hidden"), used)) constinit SystemCall* flameprobe_next_syscall_ = nullptr;

/// For these, and the first call of all. Takes what `syscall` was given, gives the function that
/// is to have it.
__attribute__((visibility("hidden"), used)) SystemCall* flameprobe_before_syscall_(long number, unsigned long operation,
                                                                                   unsigned long flags,
                                                                                   const void* program) noexcept {
    if (number == SYS_sigaltstack) return reinterpret_cast<SystemCall*>(&flameprobe::alternate_stack_by_number);
    if (number == SYS_execve) return reinterpret_cast<SystemCall*>(&flameprobe::execve_by_number);
    if (number == SYS_execveat) return reinterpret_cast<SystemCall*>(&flameprobe::execveat_by_number);
    if (number == SYS_seccomp) flameprobe::before_filter(operation, flags, program);
    return flameprobe::next(flameprobe_next_syscall_, "syscall");
}
}

namespace flameprobe {
namespace {

// Looked up at load time: dlsym must not be called in a signal handler, or in a child of vfork.
__attribute__((constructor(101))) void find_syscall() { next(flameprobe_next_syscall_, "syscall"); }

}  // namespace
}  // namespace flameprobe
