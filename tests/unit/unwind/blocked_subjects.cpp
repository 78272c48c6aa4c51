// Waits of many kinds below frames of many shapes, compiled several times with the flags that change how frames are
// made. BLOCKED is the name of the entry: it repeats one kind of wait for ever.
#include <alloca.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace {

#define KEPT __attribute__((noinline))
#define STAY asm volatile("" ::: "memory")

KEPT void sleep_us(long us) {
    timespec span{0, us * 1000};
    nanosleep(&span, nullptr);
    STAY;
}
KEPT void wait_condition() {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    timespec until{};
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    pthread_mutex_lock(&mutex);
    pthread_cond_timedwait(&condition, &mutex, &until);
    pthread_mutex_unlock(&mutex);
}
KEPT void wait_semaphore() {
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    timespec until{};
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    sem_timedwait(&semaphore, &until);
    STAY;
}
KEPT void wait_mutex() {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    sleep_us(900);
    pthread_mutex_unlock(&mutex);
    STAY;
}
KEPT void wait_poll(int size) {
    pollfd none[8];
    std::memset(none, 0xff, sizeof none);
    poll(none, static_cast<nfds_t>(size), 3);
    STAY;
}
KEPT void wait_select() {
    timeval span{0, 2000};
    select(0, nullptr, nullptr, nullptr, &span);
    STAY;
}
KEPT void wait_epoll(int epoll) {
    epoll_event event;
    epoll_wait(epoll, &event, 1, 4);
    STAY;
}
KEPT void wait_read(const int* ends) {
    char byte = 0;
    (void)!write(ends[1], &byte, 1);
    (void)!read(ends[0], &byte, 1);
    (void)!read(ends[0], &byte, 1);  // blocks: nothing more is written
    STAY;
}
KEPT void with_alloca(std::size_t size) {
    auto* room = static_cast<char*>(alloca(size));
    std::memset(room, 1, size);
    sleep_us(1500 + room[size / 2]);
    asm volatile("" ::"r"(room) : "memory");
}
KEPT void realigned() {
    alignas(64) char room[256];
    std::memset(room, 1, sizeof room);
    asm volatile("" ::"r"(room) : "memory");
    sleep_us(1700);
    asm volatile("" ::"r"(room) : "memory");
}
KEPT int recursive(int depth) {
    if (depth == 0) {
        sleep_us(1200);
        return 0;
    }
    const int deeper = recursive(depth - 1);
    STAY;
    return deeper + 1;
}
int compare(const void* a, const void* b) {
    sleep_us(700);
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}
KEPT void from_libc() {
    int numbers[8] = {5, 3, 7, 1, 2, 8, 6, 4};
    std::qsort(numbers, 8, sizeof numbers[0], compare);
    STAY;
}
KEPT void throwing() {
    try {
        sleep_us(800);
        throw 1;
    } catch (int) {
        sleep_us(800);
    }
}

KEPT void once(int kind, int epoll, const int* ends) {
    switch (kind) {
        case 0:
            return sleep_us(1000);
        case 1:
            return wait_condition();
        case 2:
            return wait_semaphore();
        case 3:
        case 4:
            return wait_mutex();
        case 5:
            return wait_poll(8);
        case 6:
            return wait_select();
        case 7:
            return wait_epoll(epoll);
        case 8:
            return wait_read(ends);
        case 9:
            return with_alloca(100 + static_cast<std::size_t>(std::rand()) % 3000);
        case 10:
            return realigned();
        case 11:
            recursive(60);
            return;
        case 12:
            return from_libc();
        default:
            return throwing();
    }
}

}  // namespace

extern "C" void BLOCKED(int kind) {
    int ends[2] = {-1, -1};
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (pipe(ends) != 0 || epoll < 0) std::abort();
    for (;;) {
        once(kind, epoll, ends);
        STAY;
    }
}
