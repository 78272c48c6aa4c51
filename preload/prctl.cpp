// The options of prctl(2) after which something of ours would be wrong.
#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/clock.hpp"
#include "interpose.hpp"
#include "parts.hpp"

namespace flameprobe {
namespace {

int (*next_prctl)(int, unsigned long, unsigned long, unsigned long, unsigned long) = nullptr;
constexpr char mark_begin[] = "FLAMEPROBE_ROOT=";
constinit char* mark = nullptr;  // what follows that in the environment

void give_up_signals() noexcept {
    const int saved = errno;
    if (const flameprobe_core* core = core_if_loaded()) core->yield_signal(0);
    errno = saved;
}

/// Orphans become the host's children, which is not to meet the collectors of its descendants among them: the core says
/// so to forked ones, and to others the mark that they find in their environment (session/family.cpp).
void tell_descendants_of_reaper() noexcept {
    if (const flameprobe_core* core = core_if_loaded()) core->take_orphans();
    // A host may have written its title over its first environment.
    if (mark == nullptr || ::strncmp(mark - sizeof mark_begin + 1, mark_begin, sizeof mark_begin - 1) != 0) return;
    char* const point = mark + ::strspn(mark, "0123456789:");
    if (*point == '.') *point = ',';
}

void read_no_counter() noexcept {
    keep_off_counter();
    time_no_passings();
    if (const flameprobe_core* core = core_if_loaded()) core->keep_off_counter();
    if (alloc_table() != nullptr) alloc_table()->go_silent();
}

}  // namespace

void keep_mark(char* value) noexcept { mark = value; }

}  // namespace flameprobe

using namespace flameprobe;

// prctl(2) is variadic in C and takes four words at most.
FLAMEPROBE_INTERPOSED int prctl(int option, ...) noexcept {
    va_list list;
    va_start(list, option);
    unsigned long words[4];
    for (unsigned long& word : words) word = va_arg(list, unsigned long);
    va_end(list);
    if (option == PR_SET_SECCOMP) {
        const bool filter = words[0] == SECCOMP_MODE_FILTER;
        before_filter(filter ? SECCOMP_SET_MODE_FILTER : SECCOMP_SET_MODE_STRICT, 0,
                      reinterpret_cast<const void*>(words[1]));
    }
    if (option == PR_SET_CHILD_SUBREAPER && words[0] != 0 && is_of_this_process()) tell_descendants_of_reaper();
    if (option == PR_SET_TSC && words[0] == PR_TSC_SIGSEGV) read_no_counter();
    // From then on a handler of ours could not even return: rt_sigreturn is a system call (Linux 5.11).
    if (option == PR_SET_SYSCALL_USER_DISPATCH && words[0] == PR_SYS_DISPATCH_ON) give_up_signals();
    return next(next_prctl, "prctl")(option, words[0], words[1], words[2], words[3]);
}
