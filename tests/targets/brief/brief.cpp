// Lives too short for a sampling period, with known CPU time: brief MODE MICROSECONDS TOTAL_MS. The main thread and a
// thread (or process) that uses MICROSECONDS of CPU take turns; both use the same. MODE: thread, raw (by clone, which
// no library function sees), fork. Prints the nanoseconds of CPU time in main_half, in brief_life, and of the process
// (with its children).
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

namespace {

std::uint64_t read(clockid_t clock) {
    timespec now;
    ::clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}
std::uint64_t own_cpu() { return read(CLOCK_THREAD_CPUTIME_ID); }

std::uint64_t piece_ns = 0;
std::uint64_t* brief_ns = nullptr;

void work_until(std::uint64_t end_ns) {
    while (own_cpu() < end_ns)
        for (int i = 0; i < 6000; ++i) __asm__ volatile("");
}

}  // namespace

// In no namespace, so that their names are these.
__attribute__((noinline)) std::uint64_t main_half() {
    const std::uint64_t began = own_cpu();
    work_until(began + piece_ns);
    return own_cpu() - began;
}

__attribute__((noinline)) void brief_life() {
    work_until(piece_ns);
    __atomic_fetch_add(brief_ns, own_cpu(), __ATOMIC_RELAXED);
}

void* brief_thread(void*) {
    brief_life();
    return nullptr;
}

int brief_task(void*) {
    brief_life();
    return 0;
}

namespace {

void live_as_task() {
    static char stack[64 << 10];
    static int alive;
    alive = 1;
    constexpr int flags =
        CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;
    if (::clone(brief_task, stack + sizeof stack, flags, nullptr, nullptr, nullptr, &alive) < 0) ::abort();
    while (__atomic_load_n(&alive, __ATOMIC_ACQUIRE) != 0) ::syscall(SYS_futex, &alive, FUTEX_WAIT, 1, nullptr);
}

void live_once(const char* mode) {
    if (::strcmp(mode, "thread") == 0) {
        pthread_t thread;
        if (::pthread_create(&thread, nullptr, brief_thread, nullptr) != 0) ::abort();
        ::pthread_join(thread, nullptr);
    } else if (::strcmp(mode, "raw") == 0) {
        live_as_task();
    } else {
        const pid_t child = ::fork();
        if (child < 0) ::abort();
        if (child == 0) {
            brief_life();
            ::_exit(0);
        }
        int status;
        ::waitpid(child, &status, 0);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) return 2;
    piece_ns = ::strtoull(argv[2], nullptr, 10) * 1000;
    const std::uint64_t total_ns = ::strtoull(argv[3], nullptr, 10) * 1'000'000;
    brief_ns =
        static_cast<std::uint64_t*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    std::uint64_t main_ns = 0;
    while (main_ns + __atomic_load_n(brief_ns, __ATOMIC_RELAXED) < total_ns) {
        main_ns += main_half();
        live_once(argv[1]);
    }
    rusage children;
    ::getrusage(RUSAGE_CHILDREN, &children);
    const auto ns_of = [](const timeval& time) {
        return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
               static_cast<std::uint64_t>(time.tv_usec) * 1000;
    };
    ::printf("%llu %llu %llu\n", static_cast<unsigned long long>(main_ns), static_cast<unsigned long long>(*brief_ns),
             static_cast<unsigned long long>(read(CLOCK_PROCESS_CPUTIME_ID) + ns_of(children.ru_utime) +
                                             ns_of(children.ru_stime)));
    return 0;
}
