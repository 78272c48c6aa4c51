// The ways a process can end: ends MODE. Some work first, so that there is a picture to keep.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string_view>

#include "breakpoint.hpp"
#include "host.h"

namespace {

void* tell_when_timer_is_off(void*) {
    itimerval left{};
    do ::getitimer(ITIMER_REAL, &left);
    while (left.it_value.tv_sec != 0 || left.it_value.tv_usec != 0);
    constexpr std::string_view told = "the timer is off\n";
    if (::write(STDOUT_FILENO, told.data(), told.size()) < 0) ::_exit(1);
    return nullptr;
}

/// Ends with a timer that would end it: a thread that still runs while the results are written tells when it is off.
void leave_timer() {
    const itimerval later{{0, 0}, {10, 0}};
    ::setitimer(ITIMER_REAL, &later, nullptr);
    pthread_t thread;
    if (::pthread_create(&thread, nullptr, tell_when_timer_is_off, nullptr) != 0) ::_exit(1);
}

/// The handler is called once: what it raises again, or what happens again when it returns, has the default action.
void handle_once(int number, int flags) {
    struct sigaction action {};
    action.sa_handler = [](int signal) {
        if (signal == SIGTERM) ::raise(signal);
    };
    action.sa_flags = static_cast<int>(SA_RESETHAND) | flags;
    ::sigaction(number, &action, nullptr);
}

/// For the first process of a pid namespace, which is not ended by them.
[[gnu::noinline]] void work_after_signals() {
    for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) ::kill(::getpid(), number);
    work_ms(200);
    asm volatile("");
}

/// All at the same time: libc runs its functions in one of them, and the process ends in another.
void exit_in_threads() {
    pthread_t thread;
    for (int number = 0; number < 4; ++number) {
        const auto leave = [](void*) -> void* { std::exit(13); };
        if (::pthread_create(&thread, nullptr, leave, nullptr) != 0) ::_exit(1);
    }
    ::pause();
}

constinit std::atomic<bool> exits{false};

/// A thread is in exit, behind the program's own functions, when main returns.
void exit_while_main_returns() {
    pthread_t thread;
    std::atexit([] { exits = true; });
    const auto leave = [](void*) -> void* { std::exit(13); };
    if (::pthread_create(&thread, nullptr, leave, nullptr) != 0) ::_exit(1);
    while (!exits) continue;
    ::usleep(2000);
}

void end_by_profiling_timer() {
    const itimerval soon{{0, 0}, {0, 20'000}};
    ::setitimer(ITIMER_PROF, &soon, nullptr);
    work_ms(5000);
}

[[gnu::noinline]] unsigned last_function_overflows(unsigned depth) {
    volatile char frame[4096];
    frame[0] = static_cast<char>(depth);
    return depth == 0 ? 0U : last_function_overflows(depth + 1) + static_cast<unsigned>(frame[0]);
}

[[gnu::noinline]] void last_function(const char* mode) {
    const auto is = [mode](const char* name) { return std::strcmp(mode, name) == 0; };
    if (is("timer")) leave_timer();
    if (is("overflow")) last_function_overflows(1);
    if (is("exit") || is("timer")) std::exit(7);
    if (is("two_exits")) exit_in_threads();
    if (is("exit_beside")) exit_while_main_returns();
    if (is("_exit")) ::_exit(8);
    if (is("_Exit")) std::_Exit(9);
    if (is("quick_exit")) std::quick_exit(10);
    if (is("exit_thread")) ::syscall(SYS_exit, 12);
    if (is("exit_group")) ::syscall(SYS_exit_group, 11);
    if (is("abort")) std::abort();
    if (is("throw")) throw std::runtime_error("not caught");
    if (is("terminate")) std::terminate();
    if (is("once_segv")) handle_once(SIGSEGV, SA_ONSTACK);
    if (is("segv") || is("once_segv")) *reinterpret_cast<volatile int*>(std::strlen(mode)) = 1;
    if (is("bus")) ::raise(SIGBUS);
    if (is("fpe")) ::raise(SIGFPE);
    if (is("ill")) asm volatile(".long 0xffffffff");  // an instruction of no CPU; __builtin_trap() may be a breakpoint
    if (is("trap")) breakpoint();
    if (is("int")) ::raise(SIGINT);
    if (is("term")) ::kill(::getpid(), SIGTERM);
    if (is("once") || is("once_on_stack")) handle_once(SIGTERM, is("once") ? 0 : SA_ONSTACK);
    if (is("once") || is("once_on_stack")) ::raise(SIGTERM);
    if (is("hup")) ::raise(SIGHUP);
    if (is("usr1")) ::raise(SIGUSR1);
    if (is("prof")) ::raise(SIGPROF);
    if (is("prof_timer")) end_by_profiling_timer();
    if (is("real_time")) ::raise(SIGRTMIN + 5);
    if (is("ignored")) work_after_signals();
    if (is("kill")) ::usleep(300'000);  // a kill loses a tenth of a second
    if (is("kill")) ::raise(SIGKILL);
    asm volatile("");
}

}  // namespace

int main(int argc, char** argv) {
    const char* mode = argc > 1 ? argv[1] : "return";
    work_ms(argc > 2 ? std::atof(argv[2]) : 60);
    std::printf("ending by %s\n", mode);
    std::fflush(stdout);
    last_function(mode);
    if (std::strcmp(mode, "exit_beside") == 0) return 13;
    return std::strcmp(mode, "return") == 0 || std::strcmp(mode, "ignored") == 0 ? 6 : 99;
}
