// syscall(2), as the way to seccomp(2), for which libc has no function, and past functions that are wrapped here. Every
// other number goes straight on.
//
// syscall itself is in src/arch. It goes on by a jump: the next function finds registers and stack as the caller left
// them, however many words there are, and returns to the caller itself: also a clone that comes back on another stack,
// where no frame of ours would be.
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <type_traits>
#include <utility>

#include "interpose.hpp"
#include "parts.hpp"

using SystemCall = long(long, ...);

/// The function that ours replaces; null until it has been looked up.
extern "C" {
__attribute__((visibility("hidden"), used)) constinit SystemCall* flameprobe_next_syscall_ = nullptr;
}

namespace flameprobe {
namespace {

using Word = unsigned long;
/// A call by its number. What a caller has not given is not looked at.
using ByNumber = long(long number, Word, Word, Word, Word, Word);

template <class Argument>
Argument as(Word word) noexcept {
    if constexpr (std::is_pointer_v<Argument>)
        return reinterpret_cast<Argument>(word);
    else
        return static_cast<Argument>(word);
}

/// The wrapper of libc's function, called by number.
template <auto wrapper>
struct Wrapper;
template <class... Arguments, int (*wrapper)(Arguments...) noexcept>
struct Wrapper<wrapper> {
    static long call(long, Word a, Word b, Word c, Word d, Word e) noexcept {
        const Word words[] = {a, b, c, d, e};
        return [&]<size_t... at>(std::index_sequence<at...>) { return wrapper(as<Arguments>(words[at])...); }
        (std::index_sequence_for<Arguments...>{});
    }
};

SystemCall* next_syscall() noexcept { return next(flameprobe_next_syscall_, "syscall"); }

long prctl_by_number(long, Word option, Word a, Word b, Word c, Word d) noexcept {
    return ::prctl(static_cast<int>(option), a, b, c, d);
}
long pivot_by_number(long number, Word root, Word old, Word, Word, Word) noexcept {
    if (const flameprobe_core* core = core_if_loaded()) core->ask(request_secure);  // as chroot
    return next_syscall()(number, root, old);
}
long exit_by_number(long, Word status, Word, Word, Word, Word) noexcept { ::_exit(static_cast<int>(status)); }

/// A set of signals of the kernel's size, which is less than libc's. False where an engine sends no signals, or the
/// kernel has to say what is wrong with it.
bool read_set(Word set, Word size, sigset_t& out) noexcept {
    constexpr Word kernels_size = 8;
    const flameprobe_core* const core = core_if_loaded();
    if (core == nullptr || core->attaches_threads() == 0 || size != kernels_size || !is_mapped(set)) return false;
    sigemptyset(&out);
    ::memcpy(&out, as<const void*>(set), kernels_size);
    return true;
}

long signalfd_by_number(long number, Word descriptor, Word set, Word size, Word flags, Word) noexcept {
    sigset_t hosts;
    if (!read_set(set, size, hosts)) return next_syscall()(number, descriptor, set, size, flags);
    return ::signalfd(static_cast<int>(descriptor), &hosts, number == SYS_signalfd4 ? static_cast<int>(flags) : 0);
}

long wait_by_number(long number, Word set, Word info, Word limit, Word size, Word) {
    sigset_t hosts;
    if (!read_set(set, size, hosts)) return next_syscall()(number, set, info, limit, size);
    return sigtimedwait_by_number(&hosts, as<siginfo_t*>(info), as<const timespec*>(limit));
}

using handler::KernelAction;
constexpr Word has_restorer = KernelAction::restorer_flag;
constexpr KernelAction nothing{.handler = 0, .flags = 0, .restorer = nullptr};

struct sigaction as_libcs(const KernelAction& given) noexcept {
    struct sigaction action {};
    action.sa_handler = reinterpret_cast<void (*)(int)>(given.handler);
    action.sa_flags = static_cast<int>(given.flags & ~has_restorer);
    ::memcpy(&action.sa_mask, &given.mask, sizeof given.mask);
    return action;
}

// Past sigaction(3) the host could set the default action for the signal that the engine samples with, and the next
// sample would end it. Signals 32 and 33 are libc's own: sigaction(3) refuses them, so the kernel is asked.
long sigaction_by_number(long number, Word signal, Word action, Word old, Word size, Word) noexcept {
    const bool is_libcs = signal >= static_cast<Word>(__SIGRTMIN) && signal < static_cast<Word>(SIGRTMIN);
    if (size != sizeof KernelAction::mask || is_libcs || !is_readable(as<const KernelAction*>(action)) ||
        !is_readable(as<const KernelAction*>(old)))
        return next_syscall()(number, signal, action, old, size);
    KernelAction told = nothing;
    struct sigaction wanted {
    }, before{};
    if (action != 0) {
        KernelAction given = nothing;
        ::memcpy(&given, as<const void*>(action), sizeof given);
        wanted = as_libcs(given);
    }
    // A handler that the host sets again, past libc, needs the restorer that it has now.
    if (old != 0) next_syscall()(number, signal, nullptr, &told, size);
    if (::sigaction(static_cast<int>(signal), action != 0 ? &wanted : nullptr, &before) != 0) return -1;
    if (old == 0) return 0;
    const bool by_handler = before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN;
    told.handler = reinterpret_cast<uintptr_t>(before.sa_handler);
    told.flags = static_cast<unsigned>(before.sa_flags & ~static_cast<int>(has_restorer)) | (told.flags & has_restorer);
    if (!by_handler) told.flags &= ~has_restorer, told.restorer = nullptr;
    ::memcpy(&told.mask, &before.sa_mask, sizeof told.mask);
    ::memcpy(as<void*>(old), &told, sizeof told);
    return 0;
}

struct Call {
    long number;
    ByNumber* wrapper;  // null: the call goes on
};
constexpr std::array calls = {
    Call{SYS_seccomp, nullptr},
    Call{SYS_chroot, Wrapper<&::chroot>::call},
    Call{SYS_execve, Wrapper<&::execve>::call},
    Call{SYS_execveat, Wrapper<&::execveat>::call},
    Call{SYS_exit_group, exit_by_number},
    Call{SYS_mlockall, Wrapper<&::mlockall>::call},
    Call{SYS_pivot_root, pivot_by_number},
    Call{SYS_prctl, prctl_by_number},
    Call{SYS_prlimit64, Wrapper<&::prlimit64>::call},
    Call{SYS_rt_sigaction, sigaction_by_number},
    Call{SYS_rt_sigtimedwait, wait_by_number},
    Call{SYS_setrlimit, Wrapper<&::setrlimit64>::call},
    Call{SYS_setns, Wrapper<&::setns>::call},
    Call{SYS_sigaltstack, Wrapper<&::sigaltstack>::call},
#ifdef SYS_signalfd  // newer kinds of CPU have only signalfd4
    Call{SYS_signalfd, signalfd_by_number},
#endif
    Call{SYS_signalfd4, signalfd_by_number},
    Call{SYS_unshare, Wrapper<&::unshare>::call},
};

constexpr std::array<uint64_t, 8> bits_of_calls() {
    std::array<uint64_t, 8> bits{};
    for (const Call& call : calls) bits[static_cast<size_t>(call.number) / 64] |= uint64_t{1} << (call.number % 64);
    return bits;
}

}  // namespace
}  // namespace flameprobe

extern "C" {
/// A bit for each number below 512 for which flameprobe_before_syscall_ is called.
__attribute__((visibility("hidden"), used)) constinit auto flameprobe_wrapped_calls_ = flameprobe::bits_of_calls();

/// For these, and the first call of all. Takes what `syscall` was given, gives the function that
/// is to have it.
__attribute__((visibility("hidden"), used)) SystemCall* flameprobe_before_syscall_(long number, unsigned long operation,
                                                                                   unsigned long flags,
                                                                                   const void* program) noexcept {
    for (const auto& call : flameprobe::calls)
        if (call.number == number && call.wrapper != nullptr) return reinterpret_cast<SystemCall*>(call.wrapper);
    if (number == SYS_seccomp) flameprobe::before_filter(operation, flags, program);
    return flameprobe::next_syscall();
}
}

namespace flameprobe {
namespace {

// Looked up at load time: dlsym must not be called in a signal handler, or in a child of vfork.
__attribute__((constructor(101))) void find_syscall() { next_syscall(); }

}  // namespace
}  // namespace flameprobe
