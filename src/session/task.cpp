#include "session/task.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <gnu/lib-names.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <vector>

#include "base/deadline.hpp"
#include "base/host_process.hpp"
#include "base/proc.hpp"
#include "capture/handler/raw_system_call.hpp"
#include "cpu/kernel_abi.hpp"
#include "cpu/signal_frame.hpp"
#include "session/command_queue.hpp"
#include "session/family.hpp"

namespace flameprobe {
namespace {

constexpr std::size_t stack_bytes = 1 << 20, stack_between_bytes = 16 << 10;

// A host that waits for children of any parent would find the task among its own (prctl(2): PR_SET_CHILD_SUBREAPER).
// Nor is it left to init where that is a program of the run, as in containers: most do not wait for orphans.
bool is_better_a_child() {
    int reaper = 0;
    return host_process() == 1 || family().pid == 1 || family().adopted ||
           (::prctl(PR_GET_CHILD_SUBREAPER, &reaper) == 0 && reaper != 0);
}

// Where libc has registered the calling thread's restartable sequences (rseq(2)); null if it has not. Not for the task,
// which must not need the dynamic linker's lock: a thread of the host may end while it holds that.
char* restartable_sequences() {
    const auto* offset = static_cast<const std::ptrdiff_t*>(::dlsym(RTLD_DEFAULT, "__rseq_offset"));
    const auto* size = static_cast<const unsigned*>(::dlsym(RTLD_DEFAULT, "__rseq_size"));
    if (offset == nullptr || size == nullptr || *size == 0) return nullptr;
    return static_cast<char*>(__builtin_thread_pointer()) + *offset;
}

// The kernel registers each task's anew. An allocator that keeps memory per CPU would otherwise trust a number that no
// longer changes.
void register_restartable_sequences(char* area) {
    constexpr std::uint32_t area_bytes = 32, failed = static_cast<std::uint32_t>(-2);
    constexpr std::size_t cpu_id = 4;
    if (area == nullptr) return;
    if (::syscall(SYS_rseq, area, area_bytes, 0, cpu::rseq_signature) != 0)
        __atomic_store_n(reinterpret_cast<std::uint32_t*>(area + cpu_id), failed, __ATOMIC_RELAXED);
}

// Of the one task in this memory, for the handler.
constinit std::atomic<int> watched_host{-1};  // a pidfd
constinit std::atomic<int> looks_without_progress{0};
constinit std::uint64_t page_bytes = 4096;

/// Calls nothing of libc, whose locks may be held here, or which may hold breakpoints.
bool watched_host_ended(timespec patience) {
    pollfd host{watched_host.load(), POLLIN, 0};
    return handler::system_call(SYS_ppoll, &host, 1, &patience, 0L, 8L) == 1;
}

/// Runs every half minute, and ends a task that has made no progress between two runs after the host's end.
void end_after_host(int) {
    if (watched_host_ended({}) && ++looks_without_progress > 1) handler::system_call(SYS_exit_group, 0);
}

/// The host's debugger does not know the task, which meets its breakpoints in the memory that they share: the task
/// waits at one until the debugger takes it away, at the next stop for one. After the host's end no debugger does, and
/// no other thread runs there: the page's copy, which has the breakpoint, is dropped, and the file's page is read
/// again.
void wait_at_breakpoint(int, siginfo_t* info, void* context) {
    if (info->si_code != SI_KERNEL && info->si_code != TRAP_BRKPT) return;
    const std::uint64_t address = cpu::step_back(*static_cast<ucontext_t*>(context));
    const auto* const code = reinterpret_cast<const volatile cpu::BreakpointCode*>(address);
    paused_at_breakpoint = true;
    while (cpu::is_breakpoint(*code)) {
        if (!watched_host_ended({0, 10'000'000})) continue;
        handler::system_call(SYS_madvise, address & ~(page_bytes - 1), page_bytes, MADV_DONTNEED);
        if (cpu::is_breakpoint(*code)) handler::system_call(SYS_exit_group, 0);
    }
    paused_at_breakpoint = false;
}

void handle(int signal, std::uintptr_t by, unsigned long flags) {
    handler::KernelAction action;
    action.handler = by;
    action.flags |= flags;
    handler::system_call(SYS_rt_sigaction, signal, &action, 0L, sizeof action.mask);
}

// Also the two signals that libc's own functions leave unblocked, since they are meant for threads of the host.
// SIGALRM, which no other code should send, is the task's, and SIGTRAP comes from its own code only. Bare system calls,
// since libc's are interposed.
void block_all_signals_but_own() {
    const std::uint64_t all_but_own = ~(std::uint64_t{1} << (SIGALRM - 1) | std::uint64_t{1} << (SIGTRAP - 1));
    handle(SIGALRM, reinterpret_cast<std::uintptr_t>(&end_after_host), SA_RESTART);
    handle(SIGTRAP, reinterpret_cast<std::uintptr_t>(&wait_at_breakpoint), SA_RESTART | SA_SIGINFO);
    handler::system_call(SYS_rt_sigprocmask, SIG_SETMASK, &all_but_own, 0L, sizeof all_but_own);
    constexpr itimerval half_minutes{{30, 0}, {30, 0}};
    handler::system_call(SYS_setitimer, ITIMER_REAL, &half_minutes, 0L);
}

}  // namespace

bool Task::possible() {
    constexpr const char *of_valgrind = "_vgnU_freeres", *of_sanitizers = "__sanitizer_print_stack_trace";
    if (::dlsym(RTLD_DEFAULT, of_valgrind) != nullptr || ::dlsym(RTLD_DEFAULT, of_sanitizers) != nullptr) return false;
    // A program that a sanitizer is linked into exports no more than the functions of libc that it replaces. Not by
    // dladdr, which walks through all symbols of libc.
    void* const libc = ::dlopen(LIBC_SO, RTLD_LAZY | RTLD_NOLOAD);
    if (libc == nullptr) return false;
    const bool is_of_libc = ::dlsym(RTLD_DEFAULT, "clone") == ::dlsym(libc, "clone");
    ::dlclose(libc);
    return is_of_libc;
}

int Task::begin(void* self) {
    static_cast<Task*>(self)->run();
    return 0;
}

int Task::begin_between(void* self) {
    auto* const task = static_cast<Task*>(self);
    return task->clone_task() > 0 ? 0 : 1;
}

// No signal is sent when it ends, so wait(2) of the host does not see it; a tracer of the host is not handed it either.
int Task::clone_task() {
    constexpr int flags = CLONE_VM | CLONE_FILES | CLONE_FS | CLONE_UNTRACED | CLONE_CHILD_CLEARTID;
    alive_ = 1;
    const int task = ::clone(begin, stack_.data() + stack_.size(), flags, this, nullptr, nullptr, &alive_);
    if (task < 0) alive_ = 0;
    return task;
}

// Made by a process in between that ends at once, the task is init's child from the start, which reaps it; as the
// host's it would stay a zombie if it ended first, since the host does not wait for it.
bool Task::take_over(std::function<void()> body) {
    body_ = std::move(body);
    host_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, host_process(), 0)));
    if (!host_) return false;
    stack_ = MemoryMap::reserve(stack_bytes);
    if (!stack_) return false;
    ::madvise(stack_.data(), stack_bytes, MADV_DONTFORK);
    thread_ = ::gettid();
    sequences_ = restartable_sequences();
    page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    if (::prctl(PR_GET_TID_ADDRESS, &thread_id_) != 0 || thread_id_ == nullptr || *thread_id_ != thread_)
        thread_id_ = nullptr;
    if (is_better_a_child()) {
        const int child = clone_task();
        if (child < 0) return false;
        child_ = child;
    } else {
        constexpr int flags = CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_FS | CLONE_UNTRACED;
        std::array<char, stack_between_bytes> stack{};
        const int between = ::clone(begin_between, stack.data() + stack.size(), flags, this);
        if (between < 0) return false;
        int status = 0;
        while (::waitpid(between, &status, __WALL) < 0 && errno == EINTR) {
        }
        if (status != 0) return false;
    }
    ::syscall(SYS_set_tid_address, &thread_alive_);
    return true;
}

// Nothing here may touch errno, or anything else of the thread's, before the thread is gone. The kernel wakes by the
// address's shared key (set_tid_address(2)); but not for a thread that was killed before it had set the address, by the
// host's exit for one.
void Task::run() {
    while (thread_alive_.load(std::memory_order_acquire) != 0) {
        const timespec limit{0, 10'000'000};
        handler::system_call(SYS_futex, &thread_alive_, FUTEX_WAIT, 1, &limit);
        if (handler::system_call(SYS_tgkill, host_process(), thread_, 0) == -ESRCH) break;
    }
    watched_host = host_.get();
    block_all_signals_but_own();
    if (thread_id_ != nullptr) *thread_id_ = ::gettid();  // owns libc's recursive mutexes
    register_restartable_sequences(sequences_);
    ::prctl(PR_SET_NAME, "flameprobe");
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // the drawing program is none of the host's children
    // Signals to the host's process group are not meant for the task. It stays in the host's session, which is what the
    // kernel shares CPUs among (sched_autogroup): in one of its own it can wait 75 ms beside a busy host.
    ::setpgid(0, 0);
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    rlimit files{};  // one for each thread of the host, where the host's own limit would be too low
    if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &files);
    }
    body_();
    ::syscall(SYS_exit_group, 0);  // nothing of what libc does at an exit: that is the host's
}

void reap_child(int child) noexcept {
    constexpr timespec pause{0, 1'000'000};
    for (const Deadline deadline(ns_per_second);
         !deadline.over() && handler::system_call(SYS_wait4, child, 0L, __WALL | WNOHANG, 0L) == 0;)
        handler::system_call(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0L, &pause, 0L);
}

// Those of images that exec has replaced are the host's children too. No other wait sees them, for want of a signal at
// their end.
void Task::reap() const noexcept {
    for (const Deadline deadline(ns_per_second); !ended() && !deadline.over();) {
        const timespec left = timespec_of(deadline.left_ns());
        handler::system_call(SYS_futex, &alive_, FUTEX_WAIT, 1, &left);
    }
    const int child = child_;
    if (child == 0) return;
    reap_child(child);
    while (handler::system_call(SYS_wait4, -1, 0L, __WCLONE | WNOHANG, 0L) > 0) {
    }
}

void Task::progress() const { looks_without_progress.store(0, std::memory_order_relaxed); }

bool Task::host_ended() { return watched_host_ended({}); }

void Task::follow_credentials() const {
    const auto host = read_small_file((host_proc_directory() + "/status").c_str());
    const auto own = read_small_file("/proc/self/status");
    if (!host || !own) return;
    const auto differ = [&](const char* name) {
        return status_numbers(*host, name, 16) != status_numbers(*own, name, 16);
    };
    // Bare system calls: libc's would have the host's threads do the same.
    if (differ("Groups") || differ("Gid") || differ("Uid")) {
        std::vector<gid_t> groups;
        for (const auto group : status_numbers(*host, "Groups")) groups.push_back(static_cast<gid_t>(group));
        ::syscall(SYS_setgroups, groups.size(), groups.data());
        if (const auto ids = status_numbers(*host, "Gid"); ids.size() == 4)
            ::syscall(SYS_setresgid, ids[0], ids[1], ids[2]);
        if (const auto ids = status_numbers(*host, "Uid"); ids.size() == 4)
            ::syscall(SYS_setresuid, ids[0], ids[1], ids[2]);
    }
    if (differ("CapPrm") || differ("CapEff") || differ("CapInh")) {
        const auto set = [&](const char* name) { return status_number(*host, name, 16).value_or(0); };
        const std::uint64_t effective = set("CapEff"), permitted = set("CapPrm"), inheritable = set("CapInh");
        __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
        __user_cap_data_struct data[2];
        for (int word = 0; word < 2; ++word) {
            const int shift = 32 * word;
            data[word] = {static_cast<std::uint32_t>(effective >> shift),
                          static_cast<std::uint32_t>(permitted >> shift),
                          static_cast<std::uint32_t>(inheritable >> shift)};
        }
        ::syscall(SYS_capset, &header, data);
    }
}

}  // namespace flameprobe
