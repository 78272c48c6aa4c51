#include "session/host_resources.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "base/memory_map.hpp"
#include "base/own_threads.hpp"
#include "base/proc.hpp"
#include "base/proc_maps.hpp"
#include "capture/alloc/host_allocations.hpp"
#include "capture/handler/raw_system_call.hpp"

namespace flameprobe {
namespace {

using handler::system_call;  // libc's functions may be interposed by the host, and are cancellation points

/// -1 if the descriptor is no socket, or has no such option.
int option(int descriptor, int name) noexcept {
    int value = -1;
    socklen_t size = sizeof value;
    return system_call(SYS_getsockopt, descriptor, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

/// Without those whose close(2) would wait until their data is taken (socket(7), SO_LINGER), which an exit does not.
bool is_tcp(int descriptor) noexcept {
    const int domain = option(descriptor, SO_DOMAIN);
    if ((domain != AF_INET && domain != AF_INET6) || option(descriptor, SO_TYPE) != SOCK_STREAM) return false;
    linger lingering{};
    socklen_t size = sizeof lingering;
    return system_call(SYS_getsockopt, descriptor, SOL_SOCKET, SO_LINGER, &lingering, &size) == 0 &&
           (lingering.l_onoff == 0 || lingering.l_linger == 0);
}

/// A listening socket to which no peer connects, or a connected one whose other end stays open and sends nothing. -1:
/// none can be made.
int silent_socket(bool listening) noexcept {
    int ends[2] = {-1, -1};
    if (!listening)
        return system_call(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0L, ends) == 0 ? ends[0] : -1;
    const auto made = static_cast<int>(system_call(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0L));
    if (made < 0) return -1;
    const sa_family_t no_name = AF_UNIX;  // the kernel makes one up (unix(7), "Autobind feature")
    system_call(SYS_bind, made, &no_name, sizeof no_name);
    system_call(SYS_listen, made, 0L);
    return made;
}

void replace(int descriptor) noexcept {
    const int silent = silent_socket(option(descriptor, SO_ACCEPTCONN) == 1);
    if (silent < 0) return;
    system_call(SYS_fcntl, silent, F_SETFL, system_call(SYS_fcntl, descriptor, F_GETFL, 0L));
    system_call(SYS_dup3, silent, descriptor, system_call(SYS_fcntl, descriptor, F_GETFD, 0L) != 0 ? O_CLOEXEC : 0);
    system_call(SYS_close, silent);
}

/// False where /proc does not tell.
bool has_threads(unsigned number) noexcept {
    constexpr int num_threads = 20;  // proc(5), /proc/PID/stat
    char text[1024];
    const auto file = static_cast<int>(system_call(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC));
    const long size = file < 0 ? 0 : system_call(SYS_read, file, text, sizeof text);
    if (file >= 0) system_call(SYS_close, file);
    return size > 0 && stat_number({text, static_cast<std::size_t>(size)}, num_threads) == number;
}

}  // namespace

// ppoll tells which of many descriptors are open by a single call, and needs none itself.
void close_connections(unsigned own_threads) noexcept {
    if (!has_threads(1 + own_threads)) return;
    constexpr int at_once = 128, first = 3, most = 65536;
    rlimit limit{};
    if (system_call(SYS_prlimit64, 0L, RLIMIT_NOFILE, 0L, &limit) != 0) return;
    const int end = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, most));
    for (int begin = first; begin < end; begin += at_once) {
        const int count = std::min(at_once, end - begin);
        std::array<pollfd, at_once> looked_at{};
        for (int i = 0; i < count; ++i) looked_at[static_cast<std::size_t>(i)].fd = begin + i;
        const timespec at_once_only{};
        if (system_call(SYS_ppoll, looked_at.data(), count, &at_once_only, 0L, 8L) < 0) return;
        for (int i = 0; i < count; ++i) {
            const bool open = (looked_at[static_cast<std::size_t>(i)].revents & POLLNVAL) == 0;
            if (open && is_tcp(begin + i)) replace(begin + i);
        }
    }
}

void stop_interval_timers() noexcept {
    const itimerval never{};
    for (const int which : {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF}) system_call(SYS_setitimer, which, &never, 0L);
}

namespace {

/// The libraries, perf's rings, and what the collector's heap has reserved, which glibc does for 64 MiB at once.
bool is_ours(const MapsLine& line) {
    constexpr std::uint64_t heap_bytes = std::uint64_t{64} << 20;
    const bool unused = line.path.empty() && !line.readable && !line.executable;
    if (unused) return line.start / heap_bytes == own_heap() / heap_bytes;
    return line.path == "anon_inode:[perf_event]" || line.path.find("/libflameprobe") != std::string_view::npos;
}

using Range = std::pair<std::uint64_t, std::uint64_t>;

/// What of it is not ours. Neighbours in memory are one line.
std::vector<Range> others_of(const MapsLine& line) {
    std::vector<Range> ours, others;
    const auto add = [&](std::uint64_t begin, std::uint64_t size) {
        if (begin < line.end && begin + size > line.start) ours.emplace_back(begin, begin + size);
    };
    for (const OwnRange& range : own_ranges) add(range.begin, range.size);
    if (const alloc::State* const state = alloc::host_state())
        add(reinterpret_cast<std::uint64_t>(state), state->bytes);
    std::sort(ours.begin(), ours.end());
    std::uint64_t at = line.start;
    for (const auto& [begin, end] : ours) {
        if (begin > at) others.emplace_back(at, begin);
        at = std::max(at, end);
    }
    if (line.end > at) others.emplace_back(at, line.end);
    return others;
}

}  // namespace

bool lock_host_memory(int flags) {
    rlimit limit{};
    const auto maps = read_proc_maps();
    if (!maps || ::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return false;
    std::vector<Range> host;
    std::uint64_t bytes = 0;
    for (const MapsLine& line : maps->lines) {
        if (is_ours(line)) continue;
        for (const auto& [begin, end] : others_of(line)) {
            host.emplace_back(begin, end);
            bytes += end - begin;
        }
    }
    if (bytes > limit.rlim_cur) return false;
    // Like mlockall, which locks also what cannot be read in now.
    for (const auto& [begin, end] : host)
        ::syscall(SYS_mlock2, begin, end - begin, (flags & MCL_ONFAULT) != 0 ? MLOCK_ONFAULT : 0);
    return (flags & MCL_FUTURE) == 0 || ::syscall(SYS_mlockall, flags & ~MCL_CURRENT) == 0;
}

}  // namespace flameprobe
