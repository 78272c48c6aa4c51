#include "base/proc.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/host_process.hpp"
#include "base/number.hpp"

namespace flameprobe {

namespace {

std::string task_file(std::uint32_t tid, const char* name) {
    return host_proc_directory() + "/task/" + std::to_string(tid) + "/" + name;
}

/// A name may hold line feeds itself.
std::string line_in(std::optional<std::string> text) {
    if (text && text->ends_with('\n')) text->pop_back();
    return std::move(text).value_or("");
}

std::string device_and_inode(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return {};
    return std::to_string(status.st_dev) + ':' + std::to_string(status.st_ino);
}

}  // namespace

bool proc_is_of_this_namespace() { return link_target("/proc/self") == std::to_string(::getpid()); }

std::string link_target(const std::string& path) {
    char target[PATH_MAX];
    const ssize_t length = ::readlink(path.c_str(), target, sizeof target);
    return length > 0 ? std::string(target, static_cast<std::size_t>(length)) : std::string();
}

std::optional<std::string> read_small_file(const char* path) {
    const Descriptor file(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat found {};
    // Those of /proc and /sys count as regular. A FIFO would be waited for, and of a device anything may come.
    if (!file || ::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
    return read_all(file);
}

// The kernel gives `children` and many groups in pieces.
std::optional<std::string> read_all(const Descriptor& file) {
    if (!file) return std::nullopt;
    constexpr std::size_t most_bytes = 64 << 20;  // of any file of /proc; what is larger is none that we know
    std::string text;
    char buffer[4096];
    for (;;) {
        const ssize_t got = ::read(file.get(), buffer, sizeof buffer);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return std::nullopt;
        if (got == 0) return text;
        text.append(buffer, static_cast<std::size_t>(got));
        if (text.size() > most_bytes) return std::nullopt;
    }
}

std::vector<std::uint32_t> list_threads() {
    std::vector<std::uint32_t> tids;
    // A collector outside of the host is not in its list.
    if (proc_is_of_this_namespace()) static_cast<void>(TaskList(host_proc_directory() + "/task").read(tids));
    return tids;
}

std::vector<std::uint32_t> list_other_threads() {
    auto tids = list_threads();
    std::erase(tids, own_tid());
    return tids;
}

bool has_ended(std::uint32_t tid) {
    const auto status = read_small_file(task_file(tid, "status").c_str());
    return !status || status->find("\nState:\tZ") != std::string::npos ||
           status->find("\nState:\tX") != std::string::npos;
}

bool runs_in_kernel(std::string_view stat) {
    constexpr int flags = 9;
    constexpr std::uint64_t io_worker = 0x00000010;  // PF_IO_WORKER in the kernel's include/linux/sched.h
    return (stat_number(stat, flags) & io_worker) != 0;
}

bool runs_in_kernel(std::uint32_t tid) {
    const auto stat = read_small_file(task_file(tid, "stat").c_str());
    return stat && runs_in_kernel(*stat);
}

int exit_status_of(std::uint32_t tid) {
    const auto stat = read_small_file(task_file(tid, "stat").c_str());
    return stat ? std::atoi(std::string(stat_field(*stat, 52)).c_str()) >> 8 & 0xff : 0;
}

std::optional<std::vector<std::string>> names_in(int from, const char* path) {
    Descriptor directory(::openat(from, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(directory.get()), ::closedir);
    if (!listing) return std::nullopt;
    static_cast<void>(directory.release());
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(listing.get()))
        if (const std::string_view name = entry->d_name; name != "." && name != "..") names.emplace_back(name);
    return names;
}

std::vector<pid_t> numbers_in(const std::string& directory) {
    std::vector<pid_t> numbers;
    for (const std::string& name : names_in(AT_FDCWD, directory.c_str()).value_or(std::vector<std::string>()))
        if (const auto number = number_in<pid_t>(name)) numbers.push_back(*number);
    return numbers;
}

bool is_running(pid_t pid) {
    const std::string process = "/proc/" + std::to_string(pid);
    const auto goes_on = [](const std::string& task) {
        constexpr int flags = 9;
        constexpr std::uint64_t exiting = 0x00000004;  // PF_EXITING in the kernel's include/linux/sched.h
        const auto stat = read_small_file((task + "/stat").c_str());
        return stat && (stat_number(*stat, flags) & exiting) == 0;
    };
    if (goes_on(process)) return true;
    const std::vector<pid_t> tids = numbers_in(process + "/task");
    return std::ranges::any_of(tids, [&](pid_t tid) { return goes_on(process + "/task/" + std::to_string(tid)); });
}

std::string thread_comm(std::uint32_t tid) {
    return proc_is_of_this_namespace() ? line_in(read_small_file(task_file(tid, "comm").c_str())) : std::string();
}

// The second field is the name in parentheses, which may hold anything: the others are counted from its end.
std::string_view stat_field(std::string_view stat, int number) {
    std::size_t at = stat.rfind(')');
    for (int field = 3; at != stat.npos; ++field) {
        const std::size_t begin = stat.find_first_not_of(' ', at + 1);
        if (begin == stat.npos) break;
        const std::size_t end = std::min(stat.find_first_of(" \n", begin), stat.size());
        if (field == number) return stat.substr(begin, end - begin);
        at = end;
    }
    return {};
}

std::uint64_t stat_number(std::string_view stat, int number) {
    return number_in<std::uint64_t>(stat_field(stat, number)).value_or(0);
}

std::vector<std::uint64_t> status_numbers(const std::string& status, const std::string& key, int base) {
    std::vector<std::uint64_t> numbers;
    const std::size_t line = status.find("\n" + key + ":");
    if (line == std::string::npos) return numbers;
    for (const char* text = status.c_str() + line + key.size() + 2;;) {
        text += std::strspn(text, "\t ");
        char* end = nullptr;
        const std::uint64_t number = *text == '\n' ? 0 : std::strtoull(text, &end, base);
        if (end == nullptr || end == text) return numbers;
        numbers.push_back(number);
        text = end;
    }
}

std::optional<std::uint64_t> status_number(const std::string& status, const std::string& key, int base) {
    const auto numbers = status_numbers(status, key, base);
    return numbers.empty() ? std::nullopt : std::optional(numbers.front());
}

std::optional<ProcessUsers> users_of(const std::string& process) {
    const auto users = status_numbers(read_small_file((process + "/status").c_str()).value_or(""), "Uid");
    if (users.size() < 3) return std::nullopt;
    return ProcessUsers{static_cast<uid_t>(users[0]), static_cast<uid_t>(users[1]), static_cast<uid_t>(users[2])};
}

std::optional<uid_t> effective_user_of(const std::string& process) {
    const auto users = users_of(process);
    return users ? std::optional(users->effective) : std::nullopt;
}

int filters_in_force(const std::string& status) {
    const std::uint64_t mode = status_number(status, "Seccomp").value_or(0);
    if (mode == 0) return 0;
    const auto number = mode == 2 ? status_number(status, "Seccomp_filters") : std::nullopt;
    return number ? static_cast<int>(*number) : unknown_filters;
}

std::optional<long> read_sysctl(const char* path) {
    const auto text = read_small_file(path);
    if (!text || text->empty()) return std::nullopt;
    return std::strtol(text->c_str(), nullptr, 10);
}

std::optional<TaskSchedule> parse_schedule(const char* text) {
    TaskSchedule schedule;
    for (auto* number : {&schedule.cpu_ns, &schedule.delay_ns, &schedule.slices}) {
        char* end = nullptr;
        *number = std::strtoull(text, &end, 10);
        if (end == text) return std::nullopt;
        text = end;
    }
    return schedule;
}

std::optional<TaskSchedule> read_schedule(const std::string& task) {
    // Of each thread, again and again: the kernel gives all of it at once.
    const Descriptor file(::open((task + "/schedstat").c_str(), O_RDONLY | O_CLOEXEC));
    std::array<char, 128> text{};
    if (!file || ::read(file.get(), text.data(), text.size() - 1) <= 0) return std::nullopt;
    return parse_schedule(text.data());
}

std::string place_of(const std::string& process) {
    std::string boot = read_small_file("/proc/sys/kernel/random/boot_id").value_or("");
    boot.resize(std::min(boot.find('\n'), boot.size()));
    const std::string mounts = device_and_inode(process + "/ns/mnt"), root = device_and_inode(process + "/root/.");
    if (boot.empty() || mounts.empty() || root.empty()) return {};
    return boot + ' ' + mounts + ' ' + root;
}

bool same_boot(const std::string& one, const std::string& other) {
    const auto boot = [](const std::string& place) { return place.substr(0, place.find(' ')); };
    return !one.empty() && boot(one) == boot(other);
}

TaskList::TaskList(const std::string& directory)
    : directory_(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}

std::size_t TaskList::count() const {
    struct stat state {};
    if (!directory_ || ::fstat(directory_.get(), &state) != 0 || state.st_nlink < 2) return 0;
    return state.st_nlink - 2;  // fs/proc/base.c, proc_task_getattr
}

bool TaskList::only_main() const { return count() == (is_in_host_process() ? 2 : 1); }

bool TaskList::read(std::vector<std::uint32_t>& tids) const {
    tids.clear();
    const auto main_thread = static_cast<std::uint32_t>(host_process());
    if (collector_is_thread && own_tid() != main_thread && only_main()) {  // see there
        tids = {main_thread, own_tid()};
        std::ranges::sort(tids);
        return true;
    }
    if (!directory_ || ::lseek(directory_.get(), 0, SEEK_SET) != 0) return false;
    buffer_.resize(16 * 1024);
    char* const buffer = buffer_.data();
    for (;;) {
        const long got = ::syscall(SYS_getdents64, directory_.get(), buffer, buffer_.size());
        if (got < 0) return false;
        if (got == 0) break;
        for (long at = 0; at < got;) {
            const auto* const entry = reinterpret_cast<const dirent64*>(buffer + at);
            const unsigned long tid = std::strtoul(entry->d_name, nullptr, 10);
            if (tid != 0) tids.push_back(static_cast<std::uint32_t>(tid));
            at += entry->d_reclen;
        }
    }
    std::ranges::sort(tids);
    // The numbers of another pid namespace's /proc mean other threads.
    return std::ranges::binary_search(tids, own_tid());
}

std::optional<std::string> TaskList::file(std::uint32_t tid, const char* name) const {
    if (!directory_) return std::nullopt;
    const std::string path = std::to_string(tid) + "/" + name;
    return read_all(Descriptor(::openat(directory_.get(), path.c_str(), O_RDONLY | O_CLOEXEC)));
}

std::string TaskList::comm(std::uint32_t tid) const { return line_in(file(tid, "comm")); }

}  // namespace flameprobe
