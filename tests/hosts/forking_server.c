/* One process per client, as in the old days: forking_server CLIENTS. Every client sends a number and wants it
 * crunched. */
#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "host.h"

static NOINLINE unsigned long answer(unsigned long rounds) {
    const unsigned long value = crunch(rounds);
    __asm__ volatile(""); /* not a tail call */
    return value;
}

static void serve_one(int client) {
    unsigned long rounds, value;
    CHECK(read(client, &rounds, sizeof rounds) == (ssize_t)sizeof rounds);
    value = answer(rounds);
    CHECK(write(client, &value, sizeof value) == (ssize_t)sizeof value);
    exit(0);
}

static unsigned long ask(const struct sockaddr_in* address, unsigned long rounds) {
    unsigned long value = 0;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(fd >= 0 && connect(fd, (const struct sockaddr*)address, sizeof *address) == 0);
    CHECK(write(fd, &rounds, sizeof rounds) == (ssize_t)sizeof rounds);
    CHECK(read(fd, &value, sizeof value) == (ssize_t)sizeof value);
    close(fd);
    return value;
}

int main(int argc, char** argv) {
    enum { rounds = 40000000 };
    const int clients = argc > 1 ? atoi(argv[1]) : 5;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(listener >= 0 && bind(listener, (struct sockaddr*)&address, size) == 0 && listen(listener, 16) == 0);
    CHECK(getsockname(listener, (struct sockaddr*)&address, &size) == 0);
    const unsigned long expected = crunch(rounds);
    const pid_t load = fork();
    CHECK(load >= 0);
    if (load == 0) {
        for (int i = 0; i < clients; ++i) CHECK(ask(&address, rounds) == expected);
        _exit(0);
    }
    for (int i = 0; i < clients; ++i) {
        const int client = accept(listener, NULL, NULL);
        CHECK(client >= 0);
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) serve_one(client);
        close(client);
    }
    for (int i = 0, status; i < clients + 1; ++i) {
        CHECK(wait(&status) > 0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    printf("%d clients served\n", clients);
    return 0;
}
