// A host may block a signal that an engine samples with, and wait for it instead (sigwait(3), signalfd(2)). The
// engine's signals are then pending too, though the host did not ask for them: these calls skip them.
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <initializer_list>

#include "base/deadline.hpp"
#include "capture/handler/raw_system_call.hpp"
#include "interpose.hpp"
#include "parts.hpp"

namespace flameprobe {
namespace {

using Wait = int(const sigset_t*, siginfo_t*, const timespec*);
Wait* next_sigtimedwait = nullptr;
int (*next_sigpending)(sigset_t*) = nullptr;
int (*next_signalfd)(int, const sigset_t*, int) = nullptr;

constexpr int signals = 65;

bool is_engines(const siginfo_t& info) {
    const flameprobe_core* core = core_if_loaded();
    return core != nullptr && core->is_own_signal(&info) != 0;
}

int by_libc(const sigset_t* set, siginfo_t* info, const timespec* limit) {
    return next(next_sigtimedwait, "sigtimedwait")(set, info, limit);
}

int by_kernel(const sigset_t* set, siginfo_t* info, const timespec* limit) {
    constexpr long kernels_set = 8;
    const long result = handler::system_call(SYS_rt_sigtimedwait, set, info, limit, kernels_set);
    if (result >= 0) return static_cast<int>(result);
    errno = static_cast<int>(-result);
    return -1;
}

int wait_for_hosts(const sigset_t* set, siginfo_t* info, const timespec* limit, Wait* real = by_libc) {
    // Where the kernel answers EFAULT, it is asked as without us.
    if (core_if_loaded() == nullptr || !is_readable(info) || !is_readable(limit)) return real(set, info, limit);
    // A limit that the kernel will refuse stays as it is, and one of decades.
    constexpr long second_ns = ns_per_second;
    const bool counts = limit != nullptr && limit->tv_sec >= 0 && limit->tv_sec < second_ns && limit->tv_nsec >= 0 &&
                        limit->tv_nsec < second_ns;
    const Deadline deadline(counts ? ns_of(*limit) : 0);
    timespec left = limit != nullptr ? *limit : timespec{};
    for (;;) {
        siginfo_t found;
        const int number = real(set, &found, limit != nullptr ? &left : nullptr);
        if (number <= 0 || !is_engines(found)) {
            if (number > 0 && info != nullptr) *info = found;
            return number;
        }
        if (counts) left = timespec_of(deadline.left_ns());
    }
}

/// Calls `act` for each of them that an engine samples with.
template <class Action>
void for_engines(const sigset_t& set, Action act) {
    const flameprobe_core* core = core_if_loaded();
    if (core == nullptr) return;
    for (int number = 1; number < signals; ++number) {
        if (sigismember(&set, number) == 1 && core->signals_with(number) != 0) act(number);
    }
}

/// Whether an engine could take a signal that the host does not wait for.
bool leaves_a_signal(const sigset_t& set) {
    for (const int number : {SIGPROF, SIGVTALRM, SIGSTKFLT, SIGPWR, SIGRTMAX})
        if (sigismember(&set, number) != 1) return true;
    return false;
}

/// To whom it was sent: the process's may be taken by any thread of it. Of another thread than the main one the kernel
/// takes only a signal for itself (kernel/signal.c, do_rt_sigqueueinfo).
void send_again(int number, siginfo_t& info) noexcept {
    if (info.si_code != SI_TKILL && ::syscall(SYS_rt_sigqueueinfo, ::getpid(), number, &info) == 0) return;
    ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), ::gettid(), number, &info);
}

/// For a signal that the calling thread blocks: takes back what an engine has sent. What others sent goes on waiting.
/// Gives whether something does.
bool drop_engines_signals(int number) noexcept {
    sigset_t one;
    siginfo_t info;
    const timespec at_once{};
    sigemptyset(&one);
    sigaddset(&one, number);
    while (by_kernel(&one, &info, &at_once) == number) {
        if (is_engines(info)) continue;
        send_again(number, info);
        return true;
    }
    return false;
}

// A handler of the host's may call these: dlsym must not be called there.
__attribute__((constructor(101))) void find_functions() {
    next(next_sigtimedwait, "sigtimedwait");
    next(next_sigpending, "sigpending");
    next(next_signalfd, "signalfd");
}

}  // namespace

void yield_to_host(int number) noexcept {
    const flameprobe_core* core = core_if_loaded();
    if (core == nullptr || number <= 0) return;  // a host may try 0, which for the core is every signal
    const int saved = errno;
    const bool sampled = core->signals_with(number) != 0;
    core->yield_signal(number);
    if (sampled) drop_engines_signals(number);
    errno = saved;
}

int sigtimedwait_by_number(const sigset_t* set, siginfo_t* info, const timespec* limit) {
    return wait_for_hosts(set, info, limit, by_kernel);
}

}  // namespace flameprobe

using namespace flameprobe;

FLAMEPROBE_INTERPOSED int sigtimedwait(const sigset_t* set, siginfo_t* info, const timespec* limit) {
    return wait_for_hosts(set, info, limit);
}
FLAMEPROBE_INTERPOSED int sigwaitinfo(const sigset_t* set, siginfo_t* info) {
    return wait_for_hosts(set, info, nullptr);
}
FLAMEPROBE_INTERPOSED int sigwait(const sigset_t* set, int* number) {
    const int saved = errno;
    int found;
    do {
        found = wait_for_hosts(set, nullptr, nullptr);
    } while (found < 0 && errno == EINTR);
    const int failed = found < 0 ? errno : 0;
    if (failed == 0) *number = found;
    errno = saved;
    return failed;
}
FLAMEPROBE_INTERPOSED int sigpending(sigset_t* set) noexcept {
    const int failed = next(next_sigpending, "sigpending")(set);
    if (failed != 0) return failed;
    const int saved = errno;
    for_engines(*set, [&](int number) {
        if (!drop_engines_signals(number)) sigdelset(set, number);
    });
    errno = saved;
    return 0;
}
FLAMEPROBE_INTERPOSED int signalfd(int descriptor, const sigset_t* set, int flags) noexcept {
    if (!is_mapped(reinterpret_cast<uintptr_t>(set))) return next(next_signalfd, "signalfd")(descriptor, set, flags);
    sigset_t hosts = *set;
    // An engine takes another signal, as where the host sets a handler for this one. Where none is left it is the
    // engine's, and the host does not see it.
    const bool yields = leaves_a_signal(hosts);
    for_engines(*set,
                [&](int number) { yields ? yield_to_host(number) : static_cast<void>(sigdelset(&hosts, number)); });
    return next(next_signalfd, "signalfd")(descriptor, &hosts, flags);
}
