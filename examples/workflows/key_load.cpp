// Asks a key server for keys, 32 at once: key_load PORT KEYS. Prints how many it got, how fast, and how long they took.
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

using Clock = std::chrono::steady_clock;

int main(int argc, char** argv) {
    if (argc != 3) return std::fputs("usage: key_load PORT KEYS\n", stderr), 2;
    constexpr std::uint32_t at_once = 32;
    const auto wanted = static_cast<std::uint32_t>(std::atoi(argv[2]));
    const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in server{};
    server.sin_family = AF_INET;
    server.sin_port = htons(static_cast<std::uint16_t>(std::atoi(argv[1])));
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(socket, reinterpret_cast<sockaddr*>(&server), sizeof server) != 0) return std::perror("connect"), 1;

    std::vector<Clock::time_point> sent(wanted);
    std::vector<double> took;
    std::uint32_t next = 0;
    const auto begun = Clock::now();
    while (took.size() < wanted) {
        for (; next < wanted && next - took.size() < at_once; ++next) {
            sent[next] = Clock::now();
            if (send(socket, &next, sizeof next, 0) < 0) return std::perror("send"), 1;
        }
        pollfd ready{socket, POLLIN, 0};
        if (poll(&ready, 1, 10000) != 1) return std::fputs("no answer within 10 s\n", stderr), 1;
        unsigned char answer[512];
        if (recv(socket, answer, sizeof answer, 0) < 4) return std::perror("recv"), 1;
        std::uint32_t number = 0;
        std::memcpy(&number, answer, sizeof number);
        if (number < wanted)
            took.push_back(std::chrono::duration<double, std::milli>(Clock::now() - sent[number]).count());
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
    std::sort(took.begin(), took.end());
    std::printf("%u keys, %.1f keys per second, p99 %.3f ms\n", wanted, wanted / seconds, took[took.size() * 99 / 100]);
}
