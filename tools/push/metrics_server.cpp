#include "metrics_server.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string_view>

namespace flameprobe::push {

namespace {

sockaddr* generic(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }

/// The head of a request, as far as its first 4 KiB go.
std::string read_head(int connection) {
    std::string head;
    char piece[1024];
    while (head.size() < 4096 && head.find("\r\n\r\n") == head.npos) {
        const ssize_t size = ::recv(connection, piece, sizeof piece, 0);
        if (size <= 0) break;
        head.append(piece, static_cast<std::size_t>(size));
    }
    return head;
}

void send_all(int connection, std::string_view text) {
    while (!text.empty()) {
        const ssize_t size = ::send(connection, text.data(), text.size(), MSG_NOSIGNAL);
        if (size <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(size));
    }
}

std::string answer(const char* status, const std::string& text) {
    return std::string("HTTP/1.1 ") + status +
           "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nConnection: close\r\nContent-Length: " +
           std::to_string(text.size()) + "\r\n\r\n" + text;
}

}  // namespace

Result<MetricsServer> MetricsServer::listen(std::uint16_t port) {
    const auto failed = [port] {
        return Error{"127.0.0.1:" + std::to_string(port) + ": metrics cannot be served: " + error_text(errno)};
    };
    auto shared = std::make_unique<Shared>();
    shared->ended = Descriptor(::eventfd(0, EFD_CLOEXEC));
    shared->listener = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!shared->ended || !shared->listener) return failed();
    const int yes = 1;
    ::setsockopt(shared->listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(shared->listener.get(), generic(address), size) != 0 || ::listen(shared->listener.get(), 8) != 0 ||
        ::getsockname(shared->listener.get(), generic(address), &size) != 0)
        return failed();
    return MetricsServer(std::move(shared), ntohs(address.sin_port));
}

// The server's thread blocks all signals: the uploader's thread handles them.
MetricsServer::MetricsServer(std::unique_ptr<Shared> shared, std::uint16_t port)
    : shared_(std::move(shared)), port_(port) {
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([state = shared_.get()] { serve(*state); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

MetricsServer::~MetricsServer() {
    if (!thread_.joinable()) return;  // moved from
    ::eventfd_write(shared_->ended.get(), 1);
    thread_.join();
}

void MetricsServer::publish(std::string text) {
    const std::lock_guard lock(shared_->mutex);
    shared_->text = std::move(text);
}

void MetricsServer::serve(Shared& shared) {
    for (;;) {
        pollfd waited[] = {{shared.listener.get(), POLLIN, 0}, {shared.ended.get(), POLLIN, 0}};
        if (::poll(waited, 2, -1) < 0 && errno != EINTR) return;
        if (waited[1].revents != 0) return;
        Descriptor connection(::accept4(shared.listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!connection) continue;
        const timeval patience{2, 0};
        ::setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        ::setsockopt(connection.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        const std::string head = read_head(connection.get());
        const bool known = head.starts_with("GET /metrics ") || head.starts_with("GET /metrics?");
        std::string text = "only GET /metrics is here\n";
        if (known) {
            const std::lock_guard lock(shared.mutex);
            text = shared.text;
        }
        send_all(connection.get(), answer(known ? "200 OK" : "404 Not Found", text));
    }
}

}  // namespace flameprobe::push
