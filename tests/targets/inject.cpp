// Makes a program's n-th call of a system call fail: inject CALL[,CALL] N[+] ERRNO [--after TEXT] [--path TEXT]
// [--threads later] [--report FILE] -- COMMAND ARGS...  "3" fails the third call only, "3+" all from the third on, 0
// none: it only counts.
// --after counts from the first openat whose path holds TEXT; --path counts only calls whose first argument is a
// descriptor of a file with TEXT in its path; --threads later counts no calls of the first thread. The report is the
// number of calls counted and of those that failed.
//
// A seccomp filter stops the program at just these calls (SECCOMP_RET_TRACE, seccomp(2)) and the tracer replaces the
// call by its error, so that it does not matter who makes it: the program, the dynamic linker, a raw `syscall`
// instruction. Ends as the command does.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "stopped_call.hpp"

// Younger CPUs have only what took their place, and nothing makes these calls there.
#ifndef SYS_rename
#define SYS_rename (-1L)
#endif
#ifndef SYS_vfork
#define SYS_vfork (-1L)
#endif
#ifndef SYS_readlink
#define SYS_readlink (-1L)
#endif

namespace {

struct Plan {
    std::vector<long> calls;
    unsigned long nth = 0;
    bool from_there_on = false;
    int error = 0;
    std::string after, path, threads, report;
    char** command = nullptr;
};

constexpr struct {
    const char* name;
    long number;
} known_calls[] = {{"perf_event_open", SYS_perf_event_open},
                   {"mmap", SYS_mmap},
                   {"munmap", SYS_munmap},
                   {"mprotect", SYS_mprotect},
                   {"openat", SYS_openat},
                   {"read", SYS_read},
                   {"write", SYS_write},
                   {"pwrite64", SYS_pwrite64},
                   {"rename", SYS_rename},
                   {"renameat", SYS_renameat},
                   {"renameat2", SYS_renameat2},
                   {"ftruncate", SYS_ftruncate},
                   {"fsync", SYS_fsync},
                   {"newfstatat", SYS_newfstatat},
                   {"set_tid_address", SYS_set_tid_address},
                   {"ioctl", SYS_ioctl},
                   {"prctl", SYS_prctl},
                   {"unshare", SYS_unshare},
                   {"close_range", SYS_close_range},
                   {"pipe2", SYS_pipe2},
                   {"lseek", SYS_lseek},
                   {"rt_sigaction", SYS_rt_sigaction},
                   {"timer_create", SYS_timer_create},
                   {"timer_settime", SYS_timer_settime},
                   {"clone", SYS_clone},
                   {"clone3", SYS_clone3},
                   {"vfork", SYS_vfork},
                   {"futex", SYS_futex},
                   {"getdents64", SYS_getdents64},
                   {"readlink", SYS_readlink},
                   {"pidfd_open", SYS_pidfd_open},
                   {"memfd_create", SYS_memfd_create},
                   {"process_vm_readv", SYS_process_vm_readv}};

constexpr struct {
    const char* name;
    int number;
} known_errors[] = {{"EPERM", EPERM},   {"EACCES", EACCES}, {"ENOENT", ENOENT},        {"ENOMEM", ENOMEM},
                    {"EINVAL", EINVAL}, {"EMFILE", EMFILE}, {"ENFILE", ENFILE},        {"ENOSPC", ENOSPC},
                    {"EIO", EIO},       {"EAGAIN", EAGAIN}, {"EINTR", EINTR},          {"EBUSY", EBUSY},
                    {"ENOSYS", ENOSYS}, {"EFBIG", EFBIG},   {"EDQUOT", EDQUOT},        {"EROFS", EROFS},
                    {"E2BIG", E2BIG},   {"ENODEV", ENODEV}, {"EOPNOTSUPP", EOPNOTSUPP}};

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "inject: %s\n", what.c_str());
    std::exit(125);
}

template <class Table>
long look_up(const Table& table, const std::string& name) {
    for (const auto& entry : table)
        if (name == entry.name) return entry.number;
    fail("not known: " + name);
}

Plan read_arguments(int argc, char** argv) {
    if (argc < 5)
        fail(
            "usage: inject CALL[,CALL] N[+] ERRNO [--after TEXT] [--path TEXT] [--threads later] [--report FILE] -- "
            "COMMAND");
    Plan plan;
    std::istringstream names(argv[1]);
    for (std::string name; std::getline(names, name, ',');) plan.calls.push_back(look_up(known_calls, name));
    char* rest = nullptr;
    plan.nth = std::strtoul(argv[2], &rest, 10);
    plan.from_there_on = *rest == '+';
    plan.error = static_cast<int>(look_up(known_errors, argv[3]));
    int i = 4;
    for (; i + 1 < argc && std::strcmp(argv[i], "--") != 0; i += 2) {
        const std::string option = argv[i];
        (option == "--after"     ? plan.after
         : option == "--path"    ? plan.path
         : option == "--threads" ? plan.threads
                                 : plan.report) = argv[i + 1];
    }
    if (i + 1 >= argc) fail("no command");
    plan.command = argv + i + 1;
    return plan;
}

void stop_at(const std::vector<long>& calls) {
    std::vector<sock_filter> code;
    code.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
    for (const long call : calls) {
        code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<__u32>(call), 0, 1));
        code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE));
    }
    code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        fail("cannot install a seccomp filter");
}

pid_t start(const Plan& plan) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) fail("cannot be traced");
    ::raise(SIGSTOP);
    auto calls = plan.calls;
    if (!plan.after.empty()) calls.push_back(SYS_openat);
    stop_at(calls);
    ::execvp(plan.command[0], plan.command);
    fail("cannot run " + std::string(plan.command[0]));
}

std::string read_text(pid_t tid, unsigned long long address) {
    char text[256];
    const iovec local{text, sizeof text}, remote{reinterpret_cast<void*>(address), sizeof text};
    const ssize_t size = ::process_vm_readv(tid, &local, 1, &remote, 1, 0);
    return size <= 0 ? std::string() : std::string(text, ::strnlen(text, static_cast<std::size_t>(size)));
}

std::string path_of(pid_t tid, unsigned long long fd) {
    char text[4096];
    const std::string link = "/proc/" + std::to_string(tid) + "/fd/" + std::to_string(fd);
    const ssize_t size = ::readlink(link.c_str(), text, sizeof text);
    return {text, size < 0 ? 0 : static_cast<std::size_t>(size)};
}

class Tracer {
public:
    explicit Tracer(const Plan& plan) : plan_(plan), counting_(plan.after.empty()) {}

    /// Follows `child` and all that it begets; gives the wait status of `child`.
    int follow(pid_t child) {
        int status = 0, result = 0;
        ::waitpid(child, &status, __WALL);
        known_.insert(child);
        first_ = child;
        constexpr long options = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                                 PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
        if (::ptrace(PTRACE_SETOPTIONS, child, nullptr, options) != 0) fail("cannot trace");
        ::ptrace(PTRACE_CONT, child, nullptr, nullptr);
        for (pid_t tid; (tid = ::waitpid(-1, &status, __WALL)) > 0;) {
            if (!WIFSTOPPED(status)) {
                if (tid == child) result = status;
                continue;
            }
            const long signal = on_stop(tid, status);
            ::ptrace(PTRACE_CONT, tid, nullptr, signal);
        }
        return result;
    }
    void report() const {
        if (!plan_.report.empty()) std::ofstream(plan_.report) << counted_ << ' ' << failed_ << '\n';
    }

private:
    long on_stop(pid_t tid, int status) {
        const int event = status >> 16, signal = WSTOPSIG(status);
        if (event == PTRACE_EVENT_SECCOMP) on_call(tid);
        if (event != 0) return 0;
        if (signal == SIGSTOP && known_.insert(tid).second) return 0;  // every new thread's first stop
        return signal;
    }
    void on_call(pid_t tid) {
        StoppedCall stopped(tid);
        const long call = stopped.number();
        if (!counting_ && call == SYS_openat)
            counting_ = read_text(tid, stopped.second()).find(plan_.after) != std::string::npos;
        if (!counting_ || !is_planned(call)) return;
        if (!plan_.threads.empty() && tid == first_) return;
        if (!plan_.path.empty() && path_of(tid, stopped.first()).find(plan_.path) == std::string::npos) return;
        ++counted_;
        if (plan_.nth == 0 || (plan_.from_there_on ? counted_ < plan_.nth : counted_ != plan_.nth)) return;
        ++failed_;
        stopped.fail(plan_.error);
    }
    bool is_planned(long call) const {
        for (const long planned : plan_.calls)
            if (planned == call) return true;
        return false;
    }

    const Plan& plan_;
    bool counting_;
    unsigned long counted_ = 0, failed_ = 0;
    std::set<pid_t> known_;
    pid_t first_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    const Plan plan = read_arguments(argc, argv);
    Tracer tracer(plan);
    const int status = tracer.follow(start(plan));
    tracer.report();
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    ::signal(WTERMSIG(status), SIG_DFL);
    ::raise(WTERMSIG(status));
    return 126;
}
