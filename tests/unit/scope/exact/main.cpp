// Compares the scopes that the scanner finds with those that are open: in a child process, before every instruction, or
// at random moments of four threads.
//
// usage: exact step|random [SECONDS]      EXACT_VERBOSE=1 prints every difference on stderr; else the first
// scopes that were found and are not open
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "../../one_cpu.hpp"
#include "observer.hpp"
#include "work.hpp"

namespace exact {

Thread threads[most_threads];

namespace {

struct Copy {
    const char* name;
    std::span<const Case> cases;
};

constexpr int traced_threads = 4;
Truth truths[traced_threads];

void begin(int number) {
    self = &threads[number];
    self->tid = static_cast<int>(::syscall(SYS_gettid));
    fence();
    self->current = &truths[number];
    fence();
}

[[noreturn]] void be_stepped(const Case& work) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(77);
    ::raise(SIGSTOP);
    begin(0);
    work.run();
    fence();
    self->current = nullptr;
    ::_exit(0);
}

[[noreturn]] void be_interrupted(const Copy& copy) {
    if (::nice(10) == -1) {
    }  // so that the tracer gets CPU time
    ::raise(SIGSTOP);
    const auto work_for_ever = [&copy](int number) {
        begin(number);
        for (;;) {
            for (const auto& work : copy.cases) work.run();
        }
    };
    for (int i = 1; i < traced_threads; ++i) std::thread(work_for_ever, i).detach();
    work_for_ever(0);
    ::_exit(0);
}

/// Looks before every instruction of the case. False if the child did not end well.
bool step_through(const Case& work, Counts& counts) {
    const flameprobe::testing::OnOneCpu both;
    const pid_t child = ::fork();
    if (child == 0) be_stepped(work);
    int status = 0;
    if (::waitpid(child, &status, 0) != child) return false;
    const auto observer = std::make_unique<Observer>(child);
    while (WIFSTOPPED(status)) {
        const int got = WSTOPSIG(status);
        observer->look(child);
        const long deliver = got == SIGTRAP || got == SIGSTOP ? 0 : got;
        if (::ptrace(PTRACE_SINGLESTEP, child, nullptr, deliver) != 0 || ::waitpid(child, &status, 0) != child) break;
    }
    counts = observer->counts();
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Interrupts a thread and waits until it has stopped. False once the child is gone.
bool stop(pid_t tid) {
    int status = 0;
    if (::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr) != 0) return false;
    return ::waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status);
}

/// Looks at random moments of all threads.
bool interrupt(const Copy& copy, std::chrono::milliseconds time, Counts& counts) {
    const pid_t child = ::fork();
    if (child == 0) be_interrupted(copy);
    int status = 0;
    if (::waitpid(child, &status, WUNTRACED) != child) return false;
    if (::ptrace(PTRACE_SEIZE, child, nullptr, long{PTRACE_O_TRACECLONE} | long{PTRACE_O_EXITKILL}) != 0) return false;
    ::kill(child, SIGCONT);
    const auto observer = std::make_unique<Observer>(child);
    std::vector<pid_t> tids;
    std::mt19937 random(1);
    auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);  // of waiting for the threads
    bool alive = true, complete = false;
    while (alive && std::chrono::steady_clock::now() < end) {
        // New threads, and threads that stopped for another reason, go on.
        for (pid_t tid; (tid = ::waitpid(-1, &status, __WALL | WNOHANG)) > 0 && alive;) {
            alive = WIFSTOPPED(status);
            if (status >> 16 == PTRACE_EVENT_STOP || status >> 16 == PTRACE_EVENT_CLONE || WIFSTOPPED(status)) {
                if (std::find(tids.begin(), tids.end(), tid) == tids.end()) tids.push_back(tid);
            }
            if (alive) ::ptrace(PTRACE_CONT, tid, nullptr, 0L);
        }
        ::usleep(random() % 200);
        if (!alive || tids.size() < traced_threads) continue;  // clone(2) begins anew when it is interrupted
        if (!std::exchange(complete, true)) end = std::chrono::steady_clock::now() + time;
        const pid_t tid = tids[random() % tids.size()];
        if (!stop(tid)) continue;
        observer->look(tid);
        ::ptrace(PTRACE_CONT, tid, nullptr, 0L);
    }
    ::kill(child, SIGKILL);
    while (::waitpid(-1, &status, __WALL) > 0) {
    }
    counts = observer->counts();
    return alive && tids.size() == traced_threads;
}

void print(const char* copy, const char* what, const char* how, const Counts& counts, bool ended) {
    std::printf("%-9s %-32s %-6s %8lu looks %9lu open %9lu found %4lu wrong %5lu missing %7lu beyond %6lu unsure%s\n",
                copy, what, how, counts.looks, counts.open, counts.found, counts.wrong, counts.missing, counts.beyond,
                counts.unsure, ended ? "" : "  the child did not end well");
    std::fflush(stdout);
}

/// A few dozen instructions of each throw, in which libgcc rewrites its own frame, cannot be walked: one look in a
/// hundred, and three more where a busy machine leaves few.
bool is_good(const Counts& counts, bool ended) {
    return ended && counts.found != 0 && counts.wrong == 0 && counts.missing * 100 <= counts.open + 300;
}

}  // namespace
}  // namespace exact

#define DECLARE(name) extern const std::span<const exact::Case> work_##name;
EXACT_COPIES(DECLARE)

int main(int argc, char** argv) {
#define LIST(name) {#name, work_##name},
    const exact::Copy copies[] = {EXACT_COPIES(LIST)};
    const bool step = argc > 1 && std::string(argv[1]) == "step";
    const std::chrono::milliseconds time(static_cast<int>((argc > 2 ? std::atof(argv[2]) : 2.0) * 1000));
    bool good = true;
    for (const auto& copy : copies) {
        exact::Counts counts;
        if (!step) {
            const bool ended = exact::interrupt(copy, time, counts);
            exact::print(copy.name, "four threads doing all", "random", counts, ended);
            good = good && exact::is_good(counts, ended);
            continue;
        }
        for (const auto& work : copy.cases) {
            const bool ended = exact::step_through(work, counts);
            exact::print(copy.name, work.name, "step", counts, ended);
            good = good && exact::is_good(counts, ended);
        }
    }
    return good ? 0 : 1;
}
