/* A server that ends while a client is connected: listening return | _exit | term | beside. Prints its port, waits for
 * the client, works and ends; beside: while another thread goes on using its sockets. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "host.h"

static int listener, client;

static ino_t file_of(int number) {
    struct stat file;
    CHECK(fstat(number, &file) == 0);
    return file.st_ino;
}

/* As an event loop does that is not told of the end: no socket may ever answer with an error, nor be another one. */
static void* ask_on(void* unused) {
    char byte;
    const ino_t accepts = file_of(listener), reads = file_of(client);
    for (;;) {
        CHECK(file_of(listener) == accepts && file_of(client) == reads);
        CHECK(accept4(listener, NULL, NULL, SOCK_NONBLOCK) < 0 && errno == EAGAIN);
        CHECK(recv(client, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
        usleep(1000);
    }
    return unused;
}

int main(int count, char** words) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    CHECK(count == 2);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) == 0); /* as servers do */
    CHECK(listener >= 0 && bind(listener, (struct sockaddr*)&address, size) == 0 && listen(listener, 5) == 0);
    CHECK(getsockname(listener, (struct sockaddr*)&address, &size) == 0);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    client = accept(listener, NULL, NULL);
    CHECK(client >= 0 && fcntl(listener, F_SETFL, O_NONBLOCK) == 0);
    pthread_t thread;
    CHECK(strcmp(words[1], "beside") != 0 || pthread_create(&thread, NULL, ask_on, NULL) == 0);
    work_ms(200);
    puts("ready");
    fflush(stdout);
    CHECK(read(STDIN_FILENO, &size, 1) == 1);
    if (strcmp(words[1], "_exit") == 0) _exit(5);
    if (strcmp(words[1], "term") == 0) raise(SIGTERM);
    return 5;
}
