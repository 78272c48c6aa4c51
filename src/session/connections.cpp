#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <initializer_list>

#include "capture/handler/raw_system_call.hpp"
#include "session/host_resources.hpp"

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

}  // namespace

// ppoll tells which of many descriptors are open by a single call, and needs none itself.
void close_connections() noexcept {
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

}  // namespace flameprobe
