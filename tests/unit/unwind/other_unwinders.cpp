#include "other_unwinders.hpp"

#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <ucontext.h>
#include <unistd.h>

#include <boost/stacktrace.hpp>
#include <csignal>

#include "cpu/signal_frame.hpp"

namespace flameprobe::testing {
namespace {

thread_local OtherWalks* wanted = nullptr;

void on_signal(int, siginfo_t*, void* context) {
    auto* const interrupted = static_cast<ucontext_t*>(context);
    cpu::copy_registers(*interrupted, wanted->snapshot.registers);
    wanted->snapshot.stack = read_process(::getpid(), wanted->snapshot.registers.sp(), 64u << 10);

    unw_cursor_t cursor;
    ::unw_init_local2(&cursor, static_cast<unw_context_t*>(context), UNW_INIT_SIGNAL_FRAME);
    do {
        unw_word_t pc = 0;
        ::unw_get_reg(&cursor, UNW_REG_IP, &pc);
        wanted->libunwind.push_back(pc);
    } while (::unw_step(&cursor) > 0);

    for (const auto& frame : boost::stacktrace::stacktrace(0, 4096))
        wanted->boost.push_back(reinterpret_cast<std::uint64_t>(frame.address()));
}

}  // namespace

void walk_with_others(OtherWalks& out) {
    wanted = &out;
    struct sigaction action {
    }, old{};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGUSR1, &action, &old);
    ::raise(SIGUSR1);  // not async: the handler may allocate
    ::sigaction(SIGUSR1, &old, nullptr);
    wanted = nullptr;
}

}  // namespace flameprobe::testing
