/* A census of interrupted calls: eintr MILLISECONDS. Threads that work and then block, in every way a server blocks,
   each for a few milliseconds at a time; they are sent no signals, so the sum of EINTR is 0. */
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "host.h"

static double deadline;
static unsigned long calls, interrupted;

static double wall_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * now.tv_sec + 1e-6 * now.tv_nsec;
}

/* A socket whose reads, and a listener whose accepts, time out after 3 ms. */
static int with_timeout(int fd) {
    const struct timeval timeout = {0, 3000};
    CHECK(fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) == 0);
    return fd;
}
static int quiet_pair(void) {
    int pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    return with_timeout(pair[0]);
}
static int quiet_listener(void) {
    const struct sockaddr_un any = {.sun_family = AF_UNIX}; /* autobind: an abstract name of the kernel's choice */
    const int fd = with_timeout(socket(AF_UNIX, SOCK_STREAM, 0));
    CHECK(bind(fd, (const struct sockaddr*)&any, sizeof any.sun_family) == 0 && listen(fd, 1) == 0);
    return fd;
}

static int quiet, listener, epoll;
static int never;
static sem_t semaphore;

static struct timespec soon(void) {
    struct timespec when;
    clock_gettime(CLOCK_REALTIME, &when);
    when.tv_nsec += 3000000;
    if (when.tv_nsec >= 1000000000) when.tv_nsec -= 1000000000, ++when.tv_sec;
    return when;
}

static long block_epoll(void) {
    struct epoll_event event;
    return epoll_wait(epoll, &event, 1, 3);
}
static long block_poll(void) { return poll(&(struct pollfd){quiet, POLLIN, 0}, 1, 3); }
static long block_select(void) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(quiet, &set);
    return select(quiet + 1, &set, NULL, NULL, &(struct timeval){0, 3000});
}
static long block_nanosleep(void) { return nanosleep(&(struct timespec){0, 3000000}, NULL); }
static long block_clock(void) {
    errno = clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){0, 3000000}, NULL);
    return errno == 0 ? 0 : -1;
}
static long block_read(void) {
    char byte;
    return read(quiet, &byte, 1);
}
static long block_recv(void) {
    char byte;
    return recv(quiet, &byte, 1, 0);
}
static long block_accept(void) { return accept(listener, NULL, NULL); }
static long block_futex(void) {
    return syscall(SYS_futex, &never, FUTEX_WAIT, 0, &(struct timespec){0, 3000000}, NULL, 0);
}
static long block_semaphore(void) {
    const struct timespec when = soon();
    return sem_timedwait(&semaphore, &when);
}
static long block_signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    return sigtimedwait(&set, NULL, &(struct timespec){0, 3000000});
}

static long (*const ways[])(void) = {block_epoll, block_poll,   block_select, block_nanosleep, block_clock,  block_read,
                                     block_recv,  block_accept, block_futex,  block_semaphore, block_signals};

static void* block_and_work(void* unused) {
    while (wall_ms() < deadline) {
        for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
            errno = 0;
            const int failed = ways[i]() < 0;
            __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
            if (failed && errno == EINTR) __atomic_fetch_add(&interrupted, 1, __ATOMIC_RELAXED);
            crunch(200000); /* so that there is CPU time to sample */
        }
    }
    return unused;
}

int main(int argc, char** argv) {
    enum { threads = 4 };
    pthread_t thread[threads];
    sigset_t waited;
    deadline = wall_ms() + (argc > 1 ? atof(argv[1]) : 2000);
    quiet = quiet_pair(), listener = quiet_listener(), epoll = epoll_create1(0);
    CHECK(epoll >= 0 && sem_init(&semaphore, 0, 0) == 0);
    CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, quiet, &(struct epoll_event){.events = EPOLLIN}) == 0);
    sigemptyset(&waited);
    sigaddset(&waited, SIGUSR2);
    CHECK(sigprocmask(SIG_BLOCK, &waited, NULL) == 0);
    for (int i = 0; i < threads; ++i) CHECK(pthread_create(&thread[i], NULL, block_and_work, NULL) == 0);
    for (int i = 0; i < threads; ++i) CHECK(pthread_join(thread[i], NULL) == 0);
    CHECK(calls > 100);
    fprintf(stderr, "%lu blocking calls\n", calls);
    printf("%lu interrupted\n", interrupted);
    return 0;
}
