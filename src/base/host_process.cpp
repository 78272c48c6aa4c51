#include "base/host_process.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/auxv.h>

#include <array>
#include <climits>
#include <cstdio>
#include <cstring>
#include <span>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "base/proc.hpp"
#include "base/self_memory.hpp"

namespace flameprobe {
namespace {

constinit std::atomic<pid_t> host{0};
constinit std::atomic<bool> watched{false}, hidden{false};

// proc(5): fields 26 and 28, where the code and the stack of an image begin. 1 and 0 if the kernel hides them; 0 and 0
// if the main thread has ended, which other threads may outlive.
struct ImagePlace {
    std::uint64_t code = 0, stack = 0;
    bool operator==(const ImagePlace&) const = default;
};

constexpr ImagePlace hidden_place{1, 0};
constinit ImagePlace watched_image;

ImagePlace image_place(const std::string& directory) {
    const std::string stat = read_small_file((directory + "/stat").c_str()).value_or("");
    return {stat_number(stat, 26), stat_number(stat, 28)};
}

/// proc(5), statm: the sizes that only a call changes, not a page fault.
std::array<std::uint64_t, 3> memory_sizes(const std::string& directory) {
    std::array<std::uint64_t, 3> sizes{};
    const std::string statm = read_small_file((directory + "/statm").c_str()).value_or("");
    ::sscanf(statm.c_str(), "%lu %*u %*u %lu %*u %lu", &sizes[0], &sizes[1], &sizes[2]);
    return sizes;
}

/// Of memory that is shared the kernel tells both processes the same, but for what changes in between.
bool shares_memory() {
    constexpr int looks = 64;
    for (int look = 0; look < looks; ++look)
        if (memory_sizes("/proc/self") == memory_sizes(host_proc_directory())) return true;
    return false;
}

/// What execve(2) was given, which the auxiliary vector leads to.
std::string executed_by_host() {
    const auto vector = read_small_file((host_proc_directory() + "/auxv").c_str()).value_or("");
    for (std::size_t at = 0; at + sizeof(Elf64_auxv_t) <= vector.size(); at += sizeof(Elf64_auxv_t)) {
        Elf64_auxv_t entry;
        std::memcpy(&entry, vector.data() + at, sizeof entry);
        if (entry.a_type != AT_EXECFN) continue;
        char path[PATH_MAX];
        const std::size_t got = read_self(entry.a_un.a_val, std::as_writable_bytes(std::span(path)));
        return {path, ::strnlen(path, got)};
    }
    return {};
}

}  // namespace

void set_host_process(pid_t pid) noexcept { host.store(pid, std::memory_order_relaxed); }

pid_t host_process() noexcept {
    const pid_t known = host.load(std::memory_order_relaxed);
    return known != 0 ? known : ::getpid();
}

bool is_in_host_process() noexcept { return host_process() == ::getpid(); }

void watch_process(pid_t pid) noexcept {
    set_host_process(pid);
    watched_image = image_place(host_proc_directory());
    hidden.store(false, std::memory_order_relaxed);
    watched.store(true, std::memory_order_relaxed);
}

void host_memory_is_hidden() noexcept { hidden.store(true, std::memory_order_relaxed); }

bool may_ask_for_host_memory() noexcept { return !hidden.load(std::memory_order_relaxed); }

bool is_watched_from_outside() noexcept { return watched.load(std::memory_order_relaxed); }

bool host_has_other_image() {
    const bool from_outside = is_watched_from_outside();
    if (!from_outside && is_in_host_process()) return false;
    const ImagePlace now = image_place(host_proc_directory()),
                     known = from_outside ? watched_image : image_place("/proc/self");
    // Where addresses are not random (personality(2)) the next image may be where this one was.
    if (!from_outside && (now == known || now == hidden_place)) return !shares_memory();
    return now != known && now != ImagePlace{};
}

std::string host_title() {
    std::array<char, 256> text{};
    const Descriptor file(::open((host_memory_directory() + "/cmdline").c_str(), O_RDONLY | O_CLOEXEC));
    const std::size_t got = file ? read_at(file.get(), 0, std::as_writable_bytes(std::span(text))) : 0;
    return {text.data(), ::strnlen(text.data(), got)};
}

std::string executed_path() {
    if (is_watched_from_outside()) return executed_by_host();
    const auto* const executed = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
    return executed != nullptr ? executed : "";
}

std::string host_memory_directory() {
    if (is_watched_from_outside()) return host_proc_directory();
    char first = 0;
    return ::readlink("/proc/self/exe", &first, 1) > 0 ? "/proc/self" : "/proc/thread-self";
}

std::string host_proc_directory() { return "/proc/" + std::to_string(host_process()); }

std::uint64_t host_cpu_ns() noexcept {
    return read_clock(process_cpu_clock(static_cast<std::uint32_t>(host_process())));
}

std::uint64_t collector_cpu_ns() noexcept {
    return read_clock(is_in_host_process() ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID);
}

std::uint64_t host_thread_cpu_ns(std::uint32_t tid) {
    if (is_in_host_process()) return read_clock(thread_cpu_clock(tid));
    const auto schedule = read_schedule(host_proc_directory() + "/task/" + std::to_string(tid));
    return schedule ? schedule->cpu_ns : 0;
}

}  // namespace flameprobe
