// Makes elliptic-curve keys on request: key_server PORT WORKERS. A request is a datagram of any content, the answer the
// same datagram with the public key behind it. Ends at SIGTERM.
#include <arpa/inet.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <flameprobe/count.hpp>
#include <flameprobe/scope.hpp>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

using Bytes = std::vector<unsigned char>;

Bytes make_key() {
    const FlameProbe::Scope scope{"make key"};
    EVP_PKEY* const key = EVP_EC_gen("P-256");
    unsigned char* text = nullptr;
    const std::size_t size = EVP_PKEY_get1_encoded_public_key(key, &text);
    Bytes out(text, text + size);
    OPENSSL_free(text);
    EVP_PKEY_free(key);
    return out;
}

/// Every key that was handed out, under one lock: what more workers wait for.
class Register {
public:
    void remember(const Bytes& key) {
        const std::lock_guard lock(mutex_);
        for (std::size_t at = 0; at + 8 <= key.size(); at += 4)
            ++seen_[std::string(key.begin() + at, key.begin() + at + 8)];
        if (seen_.size() > 20000) seen_.clear();
    }

private:
    std::mutex mutex_;
    std::map<std::string, unsigned> seen_;
};

void serve(int socket, Register& keys) {
    for (;;) {
        unsigned char request[64];
        sockaddr_in from{};
        socklen_t length = sizeof from;
        const ssize_t size = recvfrom(socket, request, sizeof request, 0, reinterpret_cast<sockaddr*>(&from), &length);
        if (size <= 0) return;  // the socket was shut down
        Bytes answer(request, request + size);
        const Bytes key = make_key();
        keys.remember(key);
        answer.insert(answer.end(), key.begin(), key.end());
        sendto(socket, answer.data(), answer.size(), 0, reinterpret_cast<const sockaddr*>(&from), length);
        FlameProbe::count("keys");
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return std::fputs("usage: key_server PORT WORKERS\n", stderr), 2;
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &stop, nullptr);
    const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_port = htons(static_cast<std::uint16_t>(std::atoi(argv[1])));
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(socket, reinterpret_cast<sockaddr*>(&own), sizeof own) != 0) return std::perror("bind"), 1;
    Register keys;
    std::vector<std::thread> workers;
    for (int i = 0; i < std::atoi(argv[2]); ++i) workers.emplace_back(serve, socket, std::ref(keys));
    std::puts("ready");
    std::fflush(stdout);
    int signal = 0;
    sigwait(&stop, &signal);
    shutdown(socket, SHUT_RDWR);  // a worker that waits in recvfrom gets 0 bytes
    for (auto& worker : workers) worker.join();
    return 0;
}
