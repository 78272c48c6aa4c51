#include "readiness.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <fstream>
#include <memory>
#include <regex>

#include "../status_text.hpp"
#include "base/clock.hpp"

namespace flameprobe::bench {

namespace {

struct Address {
    std::string host, port, path;
};

Address address_of(const std::string& url) {
    const std::size_t begin = std::string("http://").size();
    const std::size_t slash = url.find('/', begin);
    const std::string authority = url.substr(begin, slash == std::string::npos ? slash : slash - begin);
    const std::size_t colon = authority.rfind(':');
    Address address;
    address.path = slash == std::string::npos ? "/" : url.substr(slash);
    address.host = authority.substr(0, colon);
    address.port = colon == std::string::npos ? "80" : authority.substr(colon + 1);
    return address;
}

Descriptor connected_to(const std::string& host, const std::string& port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) return {};
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
    for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
        Descriptor socket(::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol));
        const timeval patience{1, 0};
        setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        if (socket && connect(socket.get(), one->ai_addr, one->ai_addrlen) == 0) return socket;
    }
    return {};
}

bool answers(const std::string& url) {
    const Address address = address_of(url);
    const Descriptor socket = connected_to(address.host, address.port);
    if (!socket) return false;
    const std::string request = "GET " + address.path + " HTTP/1.0\r\nHost: " + address.host + "\r\n\r\n";
    if (send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return false;
    std::string answer;
    char piece[512];
    for (ssize_t got; answer.size() < 16 && (got = recv(socket.get(), piece, sizeof piece, 0)) > 0;)
        answer.append(piece, static_cast<std::size_t>(got));
    return answer.starts_with("HTTP/") && answer.size() > 9 && (answer[9] == '2' || answer[9] == '3');
}

bool printed(const std::string& pattern, const std::string& output) {
    const std::regex wanted(pattern);
    std::ifstream file(output);
    for (std::string line; std::getline(file, line);) {
        if (std::regex_search(line, wanted)) return true;
    }
    return false;
}

/// The condition that is not true yet; empty if the program is ready.
std::string missing(const Ready& ready, const std::string& output) {
    if (!ready.port.empty() && !connected_to("127.0.0.1", ready.port)) return "port " + ready.port + " of 127.0.0.1";
    if (!ready.line.empty() && !printed(ready.line, output)) return "a line that matches '" + ready.line + "'";
    if (!ready.url.empty() && !answers(ready.url)) return ready.url;
    return {};
}

}  // namespace

int free_port() {
    const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (bind(socket.get(), generic, size) != 0 || getsockname(socket.get(), generic, &size) != 0) return 0;
    return ntohs(address.sin_port);
}

Result<void> wait_until_ready(const Ready& ready, Process& program, const std::string& output) {
    const auto ended = [&program] {
        return Error{"the program ended before it was ready: " + status_text(program.status())};
    };
    const std::uint64_t until = monotonic_ns() + static_cast<std::uint64_t>(ready.within.count() * 1e9);
    for (std::string what; !(what = missing(ready, output)).empty();) {
        if (program.wait(Seconds(0.01))) return ended();
        if (interruption() != 0) return Error{"interrupted"};
        if (monotonic_ns() >= until)
            return Error{"the program was not ready within " + std::to_string(ready.within.count()) +
                         " s: waited for " + what};
    }
    const std::uint64_t after = monotonic_ns() + static_cast<std::uint64_t>(ready.after.count() * 1e9);
    while (monotonic_ns() < after && interruption() == 0) {
        if (program.wait(Seconds(0.02))) return ended();
    }
    return {};
}

}  // namespace flameprobe::bench
