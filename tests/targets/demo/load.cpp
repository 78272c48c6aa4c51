// Load for demo-server: some clients ask on loopback as fast as they are answered, until the server goes away or the
// given number of seconds is over. Prints the number of answers; 1 if there was none.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

std::string make_request(unsigned seed) {
    static constexpr const char* names[] = {"lamp", "kettle", "chair", "notebook", "umbrella", "teapot", "blanket"};
    std::string request = "customer-" + std::to_string(seed) + '|';
    for (unsigned i = 0; i < 200; ++i) {
        seed = seed * 1664525 + 1013904223;
        if (i != 0) request += ',';
        request += names[(seed >> 16) % 7] + std::to_string(seed >> 20) + '*' + std::to_string((seed >> 8) % 9 + 1) +
                   '@' + std::to_string((seed >> 10) % 100000);
    }
    return request + '\n';
}

bool read_fully(int fd, char* out, std::size_t size) {
    while (size > 0) {
        const ssize_t n = ::read(fd, out, size);
        if (n <= 0) return false;
        out += n;
        size -= static_cast<std::size_t>(n);
    }
    return true;
}

bool ask(int fd, const std::string& request) {
    std::uint32_t size = 0;
    if (::send(fd, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) return false;
    if (!read_fully(fd, reinterpret_cast<char*>(&size), sizeof size)) return false;
    std::string reply(size, '\0');
    return read_fully(fd, reply.data(), size);
}

int connect_to(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
    ::close(fd);
    return -1;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        std::fprintf(stderr, "usage: demo-load PORT SECONDS [CLIENTS]\n");
        return 2;
    }
    const auto port = static_cast<std::uint16_t>(std::atoi(argv[1]));
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(argv[2]));
    const unsigned clients = argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 6;
    std::atomic<unsigned long> answers{0};
    std::vector<std::thread> threads;
    for (unsigned client = 0; client < clients; ++client)
        threads.emplace_back([=, &answers] {
            const int fd = connect_to(port);
            if (fd < 0) return;
            const std::string request = make_request(client);
            while (std::chrono::steady_clock::now() < deadline && ask(fd, request)) ++answers;
            ::close(fd);
        });
    for (auto& thread : threads) thread.join();
    std::printf("%lu answers\n", answers.load());
    return answers == 0 ? 1 : 0;
}
