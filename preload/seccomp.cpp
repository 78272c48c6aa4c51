// A thread that enters a seccomp filter may be killed for any system call that the filter does not know: the handler
// engines stop making theirs before.
#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>

#include "core.hpp"
#include "interpose.hpp"

namespace flameprobe {
namespace {

int (*next_prctl)(int, unsigned long, unsigned long, unsigned long, unsigned long) = nullptr;

}  // namespace
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
        if (const flameprobe_core* core = core_if_loaded()) core->expect_seccomp();
    }
    return next(next_prctl, "prctl")(option, words[0], words[1], words[2], words[3]);
}
