#include "refusal.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <set>

#include "base/descriptor.hpp"
#include "base/proc.hpp"
#include "capture/perf_event.hpp"

namespace flameprobe {

namespace {

bool are_all(const ProcessUsers& users, uid_t user) {
    return users.real == user && users.effective == user && users.saved == user;
}

/// A number from /proc/PID/status.
std::optional<long> number_of(const std::string& process, const std::string& key) {
    const auto number = status_number(read_small_file((process + "/status").c_str()).value_or(""), key);
    return number ? std::optional(static_cast<long>(*number)) : std::nullopt;
}

bool is_kernel_thread(const std::string& stat) {
    constexpr std::uint64_t kernel_thread = 0x00200000;  // PF_KTHREAD (include/linux/sched.h); proc(5): flags
    return (stat_number(stat, 9) & kernel_thread) != 0;
}

/// The kernel lets nobody but root look at it (proc(5), /proc/sys/fs/suid_dumpable): then its files in /proc are
/// root's.
bool is_undumpable(const std::string& process, const ProcessUsers& user) {
    struct stat status {};
    return ::stat((process + "/environ").c_str(), &status) == 0 && status.st_uid != user.effective;
}

std::string why_no_maps(const std::string& process, const std::string& name, const ProcessUsers& user) {
    if (!are_all(user, ::geteuid()))
        return name + " belongs to another user, " + std::to_string(user.effective) +
               ": attach as that user, or as root (sudo flameprobe attach ...)";
    if (is_undumpable(process, user))
        return name +
               " may not be looked at by its own user, since it changed its user or its file may not be read "
               "(prctl(2), PR_SET_DUMPABLE): attach as root";
    return name + " may not be looked at: a security policy forbids it (in a container: --cap-add SYS_PTRACE)";
}

bool can_read(const std::string& path) {
    char byte = 0;
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    return file && ::read(file.get(), &byte, 1) >= 0;
}

/// An address that the process has mapped; 0 if there is none.
std::uint64_t some_address(pid_t pid) {
    const auto maps = read_small_file(("/proc/" + std::to_string(pid) + "/maps").c_str());
    return maps ? std::strtoull(maps->c_str(), nullptr, 16) : 0;
}

std::string number_of_process(pid_t pid) { return "process " + std::to_string(pid); }

/// Why perf refuses; empty if it does not. Asks for the event that would be opened.
std::string why_not_sampled(pid_t pid) {
    auto attributes = make_attributes({});
    if (!attributes) return attributes.error().message;
    const auto event = open_event(*attributes, static_cast<std::uint32_t>(pid), -1);
    if (event || errno == ESRCH) return {};
    return number_of_process(pid) + " cannot be sampled: " + event.error().message;
}

/// Where perf refuses.
std::string why_no_waits(pid_t pid, bool waits) {
    const std::string why = why_not_sampled(pid);
    if (why.empty()) return {};
    const std::string hidden = what_stays_hidden(pid);
    if (waits) return hidden.empty() ? std::string() : why + "; and " + hidden;
    return hidden.empty()
               ? why + "; flameprobe attach -e offcpu " + std::to_string(pid) + " shows where its threads wait"
               : why;
}

}  // namespace

std::string what_has_no_stacks(pid_t pid) {
    const std::string why = why_not_sampled(pid);
    return why.empty() ? why
                       : "CPU time has no stacks, and how long threads wait is estimated from looks at them: " + why;
}

std::string why_no_processes() {
    if (proc_is_of_this_namespace()) return {};
    return ::access("/proc/version", F_OK) != 0
               ? "/proc is not mounted: looking at processes needs it"
               : "/proc is another pid namespace's, where processes have other numbers: mount -t proc proc /proc";
}

std::string why_not_seen(pid_t pid, const std::string& command) {
    if (std::string why = why_no_processes(); !why.empty()) return why;
    const std::string process = "/proc/" + std::to_string(pid), number = number_of_process(pid);
    const auto group = number_of(process, "Tgid");
    if (!group) {
        const bool exists = ::kill(pid, 0) == 0 || errno == EPERM;
        return exists ? number + " is hidden (/proc is mounted with hidepid): attach as its user, or as root"
                      : "there is no " + number;
    }
    if (*group == pid) return {};
    return number + " is a thread of process " + std::to_string(*group) + ": flameprobe " + command + " " +
           std::to_string(*group);
}

std::string why_not_attached(pid_t pid, bool waits) {
    if (std::string why = why_not_seen(pid, "attach"); !why.empty()) return why;
    const std::string process = "/proc/" + std::to_string(pid);
    const std::string number = number_of_process(pid);
    const auto stat = read_small_file((process + "/stat").c_str());
    const auto user = users_of(process);
    if (!stat || !user) return "there is no " + number;  // any more
    if (pid == ::getpid()) return number + " is flameprobe itself";
    if (is_kernel_thread(*stat))
        return number + " is a thread of the kernel, which has no program: perf record -a shows what it does";
    const std::string_view state = stat_field(*stat, 3);
    if (state == "Z" || state == "X")
        return number + (number_of(process, "Threads").value_or(0) > 1
                             ? " has ended its main thread, without which its others cannot be looked at"
                             : " has ended, and waits for its parent to take notice");
    const std::string why =
        can_read(process + "/maps") ? why_no_waits(pid, waits) : why_no_maps(process, number, *user);
    return why.empty() ? why : why + "; flameprobe stat -p " + std::to_string(pid) + " needs no right";
}

// Yama forbids what a debugger does (PTRACE_MODE_ATTACH): reading memory and the system call of a thread. Maps and perf
// events need less.
std::string what_stays_hidden(pid_t pid) {
    char byte = 0;
    const iovec here{&byte, 1}, there{reinterpret_cast<void*>(some_address(pid)), 1};
    if (::process_vm_readv(pid, &here, 1, &there, 1, 0) >= 0 || (errno != EPERM && errno != EACCES)) return {};
    return hidden_memory(read_sysctl("/proc/sys/kernel/yama/ptrace_scope"));
}

std::string what_stands_still(pid_t pid) {
    const std::string number = std::to_string(pid);
    const auto stat = read_small_file(("/proc/" + number + "/stat").c_str()).value_or("");
    const std::string_view state = stat_field(stat, 3);
    if (state == "T") return "process " + number + " is stopped, and does nothing until kill -CONT " + number;
    return state == "t" ? "process " + number + " is stopped by a debugger, and does nothing until that lets it go on"
                        : "";
}

// Each program has its stack at another place (proc(5): startstack), which is 0 for who may not know it.
std::string what_it_executes(pid_t pid) {
    constexpr int looks = 20, enough = 3;
    constexpr timespec between_looks{0, 10'000'000};
    const std::string number = std::to_string(pid);
    std::set<std::uint64_t> stacks;
    for (int look = 0; look < looks && stacks.size() <= enough; ++look) {
        const auto stat = read_small_file(("/proc/" + number + "/stat").c_str()).value_or("");
        if (const std::uint64_t stack = stat_number(stat, 28); stack > 1) stacks.insert(stack);
        ::nanosleep(&between_looks, nullptr);
    }
    if (stacks.size() <= enough) return {};
    return "process " + number + " executes programs one after another (execve), each too briefly to be sampled";
}

std::string hidden_memory(std::optional<long> yama_scope) {
    const std::string what =
        "its memory may not be read, so code made at run time has no stacks, and waits none at all: ";
    if (yama_scope.value_or(0) == 0)
        return what + "a security policy forbids it (in a container: --cap-add SYS_PTRACE)";
    return what + "kernel.yama.ptrace_scope is " + std::to_string(*yama_scope) +
           " (sysctl kernel.yama.ptrace_scope=0 allows it, or attach as root)";
}

}  // namespace flameprobe
