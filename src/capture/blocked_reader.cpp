#include "capture/blocked_reader.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/host_process.hpp"
#include "base/result.hpp"
#include "capture/perf_event.hpp"

namespace flameprobe {

bool parse_blocked(const char* text, BlockedThread& out) {
    char* end = nullptr;
    const long long call = std::strtoll(text, &end, 10);
    if (end == text) return false;  // "running"
    // -1 sp pc, or: number, six arguments, sp, pc.
    std::array<std::uint64_t, 8> words{};
    std::size_t count = 0;
    for (const char* at = end; count < words.size(); ++count) {
        words[count] = std::strtoull(at, &end, 16);
        if (end == at) break;
        at = end;
    }
    if (count != (call == BlockedThread::no_call ? 2 : words.size())) return false;
    out = {.call = call, .sp = words[count - 2], .pc = words[count - 1], .arguments = {}};
    if (call != BlockedThread::no_call) std::copy_n(words.begin(), out.arguments.size(), out.arguments.begin());
    return out.pc != 0;
}

Descriptor BlockedReader::open(std::uint32_t tid, File file) {
    constexpr std::array<const char*, number_of_files> names{"syscall", "wchan", "schedstat"};
    if (!directory_) {
        directory_ = Descriptor(::open((host_proc_directory() + "/task").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (!directory_) return {};
    }
    const std::string path = std::to_string(tid) + "/" + names[file];
    return Descriptor(::openat(directory_.get(), path.c_str(), O_RDONLY | O_CLOEXEC));
}

/// As pread(2). `text` is ended by a zero.
ssize_t BlockedReader::read(std::uint32_t tid, File file, std::span<char> text) {
    const auto known = files_.find(tid);
    Descriptor opened;
    int fd = known == files_.end() ? -1 : known->second[file].get();
    if (fd < 0) {
        opened = open(tid, file);
        fd = opened.get();
    }
    const ssize_t got = fd < 0 ? -1 : ::pread(fd, text.data(), text.size() - 1, 0);
    if (got <= 0) {
        const int why = errno;
        files_.erase(tid);
        errno = why;
        return got;
    }
    text[static_cast<std::size_t>(got)] = '\0';
    if (opened && keeps_files_) {
        keeps_files_ = leaves_descriptors(opened);
        if (keeps_files_) files_[tid][file] = std::move(opened);
    }
    return got;
}

BlockedReader::Outcome BlockedReader::refused(int why) {
    const bool forbidden = why == EACCES || why == EPERM, asked = may_ask_for_host_memory();
    if (forbidden && is_watched_from_outside()) host_memory_is_hidden();
    if (!why_refused_.empty()) return Outcome::refused;
    if (!asked)
        why_refused_ = "the process's memory may not be read";
    else if (!forbidden)
        why_refused_ = "/proc/PID/task/TID/syscall cannot be read: " + error_text(why);
    else
        why_refused_ = std::string("/proc/PID/task/TID/syscall may not be read: ") +
                       (may_read_from_outside() ? "the process is not dumpable (it changed its user, or its file may "
                                                  "not be read)"
                                                : "kernel.yama.ptrace_scope forbids it");
    return Outcome::refused;
}

BlockedReader::Outcome BlockedReader::read(std::uint32_t tid, BlockedThread& out) {
    if (!may_ask_for_host_memory()) return refused(EPERM);
    std::array<char, 256> text;
    const ssize_t got = read(tid, call_file, text);
    if (got > 0) return parse_blocked(text.data(), out) ? Outcome::blocked : Outcome::runs;
    const int why = errno;
    if (directory_) return got == 0 || why == ENOENT || why == ESRCH ? Outcome::gone : refused(why);
    why_refused_ = "/proc is not mounted";
    return Outcome::refused;
}

// "0" where the thread does not wait, the kernel was built without names, or the process may not be read.
std::string BlockedReader::channel(std::uint32_t tid) {
    constexpr int enough = 16;
    if (!has_channels_ && without_channel_ >= enough) return {};
    std::array<char, 128> text{};
    std::string name = read(tid, channel_file, text) > 0 ? text.data() : "";
    if (name == "0") name.clear();
    has_channels_ = has_channels_ || !name.empty();
    without_channel_ += name.empty() ? 1 : 0;
    return name;
}

std::optional<TaskSchedule> BlockedReader::schedule(std::uint32_t tid) {
    std::array<char, 128> text;
    return read(tid, schedule_file, text) > 0 ? parse_schedule(text.data()) : std::nullopt;
}

void BlockedReader::close_files() {
    files_.clear();
    directory_.reset();
}

bool may_read_from_outside() {
    const auto scope = read_sysctl("/proc/sys/kernel/yama/ptrace_scope");
    return !scope || *scope <= 0 || ::geteuid() == 0;
}

}  // namespace flameprobe
