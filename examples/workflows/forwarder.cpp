// Forwards TCP connections: forwarder LISTEN-PORT TARGET-PORT, both on the loopback. One thread, epoll. Ends at
// SIGTERM.
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <flameprobe/count.hpp>
#include <flameprobe/scope.hpp>
#include <map>
#include <memory>
#include <vector>

namespace {

sockaddr_in loopback(const char* port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port)));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

int epoll;

void watch(int descriptor, std::uint32_t events, int how = EPOLL_CTL_MOD) {
    epoll_event event{};
    event.events = events;
    event.data.fd = descriptor;
    epoll_ctl(epoll, how, descriptor, &event);
}

/// One direction of a connection. At most one buffer is under way.
struct Pipe {
    int to = -1;
    std::vector<char> buffer = std::vector<char>(256 * 1024);
    std::size_t begin = 0, end = 0;
    bool ended = false;
};
std::map<int, std::unique_ptr<Pipe>> pipes;  // by the descriptor that is read

void close_both(int one) {
    const auto found = pipes.find(one);
    if (found == pipes.end()) return;
    const int other = found->second->to;
    pipes.erase(one), pipes.erase(other);
    close(one), close(other);
}

/// False where the connection has ended.
bool read_some(int from, Pipe& pipe) {
    const FlameProbe::Scope scope{"read"};
    const ssize_t got = recv(from, pipe.buffer.data(), pipe.buffer.size(), 0);
    if (got < 0) return errno == EAGAIN;
    pipe.begin = 0, pipe.end = static_cast<std::size_t>(got);
    pipe.ended = got == 0;
    return true;
}

bool write_some(Pipe& pipe) {
    const FlameProbe::Scope scope{"write"};
    if (pipe.ended) return shutdown(pipe.to, SHUT_WR) == 0;
    const ssize_t sent = send(pipe.to, pipe.buffer.data() + pipe.begin, pipe.end - pipe.begin, MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN;
    pipe.begin += static_cast<std::size_t>(sent);
    FlameProbe::count("bytes", static_cast<std::uint64_t>(sent));
    return true;
}

/// Reads where nothing is under way, else writes; then waits for what can be done next.
void turn(int from) {
    Pipe& pipe = *pipes.at(from);
    if (pipe.begin == pipe.end && !pipe.ended && !read_some(from, pipe)) return close_both(from);
    if ((pipe.begin != pipe.end || pipe.ended) && !write_some(pipe)) return close_both(from);
}

std::uint32_t wanted(int descriptor) {
    const auto own = pipes.find(descriptor);
    if (own == pipes.end()) return 0;
    std::uint32_t events = 0;
    if (own->second->begin == own->second->end && !own->second->ended) events |= EPOLLIN;
    const auto other = pipes.find(own->second->to);
    if (other != pipes.end() && other->second->begin != other->second->end) events |= EPOLLOUT;
    return events;
}

void accept_one(int listener, const sockaddr_in& target) {
    const int from = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (from < 0) return;
    const int to = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(to, reinterpret_cast<const sockaddr*>(&target), sizeof target) != 0) {
        close(from), close(to);
        return;
    }
    fcntl(to, F_SETFL, O_NONBLOCK);
    pipes[from] = std::make_unique<Pipe>(), pipes[from]->to = to;
    pipes[to] = std::make_unique<Pipe>(), pipes[to]->to = from;
    watch(from, EPOLLIN, EPOLL_CTL_ADD), watch(to, EPOLLIN, EPOLL_CTL_ADD);
}

volatile sig_atomic_t ended;

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return std::fputs("usage: forwarder LISTEN-PORT TARGET-PORT\n", stderr), 2;
    struct sigaction action {};
    action.sa_handler = [](int) { ended = 1; };
    sigaction(SIGTERM, &action, nullptr);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const sockaddr_in own = loopback(argv[1]), target = loopback(argv[2]);
    if (bind(listener, reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0 || listen(listener, 128) != 0)
        return std::perror("listen"), 1;
    watch(listener, EPOLLIN, EPOLL_CTL_ADD);
    while (ended == 0) {
        epoll_event events[64];
        const int count = epoll_wait(epoll, events, 64, -1);
        for (int i = 0; i < count; ++i) {
            const int descriptor = events[i].data.fd;
            if (descriptor == listener) {
                accept_one(listener, target);
                continue;
            }
            const auto found = pipes.find(descriptor);
            if (found == pipes.end()) continue;
            const int other = found->second->to;
            if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) turn(descriptor);
            if (events[i].events & EPOLLOUT && pipes.count(other)) turn(other);
            for (const int each : {descriptor, other}) {
                if (pipes.count(each)) watch(each, wanted(each));
            }
        }
    }
    return 0;
}
