// The demo: a small order server on a loopback port. One thread waits in epoll, a pool does the work. Prints its port,
// serves for the given number of seconds (or until SIGTERM), prints how many requests it answered.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "pool.hpp"
#include "work.hpp"

namespace shop {
namespace {

/// One client. Only one job of a connection runs at a time: the client waits for the answer before it asks again.
struct Connection {
    explicit Connection(int descriptor) : fd(descriptor) {}
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection() { ::close(fd); }

    int fd;
    std::string input;
};

class Server {
public:
    Server(int listener, unsigned threads)
        : listener_(listener), epoll_(::epoll_create1(EPOLL_CLOEXEC)), pool_(threads) {
        watch(listener_);
    }
    void watch(int fd) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.fd = fd;
        ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
    }
    /// Until `stop` or `timer` becomes readable.
    void serve(int stop, int timer) {
        std::array<epoll_event, 64> events;
        for (;;) {
            const int ready = ::epoll_wait(epoll_, events.data(), events.size(), -1);
            if (ready < 0 && errno != EINTR) return;
            for (int i = 0; i < ready; ++i) {
                const int fd = events[static_cast<std::size_t>(i)].data.fd;
                if (fd == stop || fd == timer) return;
                if (fd == listener_)
                    accept_client();
                else
                    read_request(fd);
            }
        }
    }
    unsigned long answered() const { return answered_; }

private:
    void accept_client() {
        const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (fd < 0) return;
        const int on = 1;
        ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        clients_.emplace(fd, std::make_shared<Connection>(fd));
        watch(fd);
    }
    void read_request(int fd) {
        const auto client = clients_.at(fd);
        std::array<char, 16384> buffer;
        const ssize_t size = ::read(fd, buffer.data(), buffer.size());
        if (size <= 0) {
            ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
            clients_.erase(fd);
            return;
        }
        client->input.append(buffer.data(), static_cast<std::size_t>(size));
        if (client->input.back() != '\n') return;
        pool_.submit([this, client, request = std::exchange(client->input, {})] { answer(*client, request); });
    }
    void answer(const Connection& client, const std::string& request) {
        const std::string receipt = checkout(std::string_view(request).substr(0, request.size() - 1));
        const auto size = static_cast<std::uint32_t>(receipt.size());
        std::string reply(reinterpret_cast<const char*>(&size), sizeof size);
        reply += receipt;
        for (std::size_t sent = 0; sent < reply.size();) {
            const ssize_t n = ::send(client.fd, reply.data() + sent, reply.size() - sent, MSG_NOSIGNAL);
            if (n <= 0) return;
            sent += static_cast<std::size_t>(n);
        }
        ++answered_;
    }

    int listener_;
    int epoll_;
    std::unordered_map<int, std::shared_ptr<Connection>> clients_;
    std::atomic<unsigned long> answered_{0};
    Pool pool_;  // last: its threads end before anything they use
};

int listen_on_loopback(std::uint16_t& port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (fd < 0 || ::bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(fd, 64) != 0 ||
        ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0)
        return -1;
    port = ntohs(address.sin_port);
    return fd;
}

int timer_after(int seconds) {
    const int fd = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    itimerspec when{};
    when.it_value.tv_sec = seconds;
    ::timerfd_settime(fd, 0, &when, nullptr);
    return fd;
}

}  // namespace
}  // namespace shop

int main(int argc, char** argv) {
    const int seconds = argc > 1 ? std::atoi(argv[1]) : 5;
    const int threads = argc > 2 ? std::atoi(argv[2]) : 3;
    if (seconds <= 0 || threads <= 0) {
        std::fprintf(stderr, "usage: demo-server [SECONDS [THREADS]]\n");
        return 2;
    }
    sigset_t end;  // before any thread is born, so that all of them block it
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &end, nullptr);

    std::uint16_t port = 0;
    const int listener = shop::listen_on_loopback(port);
    if (listener < 0) {
        std::fprintf(stderr, "demo-server: cannot listen on 127.0.0.1: %s\n", std::strerror(errno));
        return 1;
    }
    std::printf("%u\n", port);
    std::fflush(stdout);

    shop::Server server(listener, static_cast<unsigned>(threads));
    const int stop = ::signalfd(-1, &end, SFD_CLOEXEC), timer = shop::timer_after(seconds);
    server.watch(stop);
    server.watch(timer);
    server.serve(stop, timer);
    std::printf("%lu requests answered\n", server.answered());
    return 0;
}
