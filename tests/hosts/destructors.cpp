// Work at the edges of life: before main, in thread-local destructors, in atexit functions and static destructors.
#include <pthread.h>

#include <thread>

#include "host.h"

namespace {

#define WORKER(name)                \
    [[gnu::noinline]] void name() { \
        work_ms(30);                \
        asm volatile("");           \
    }
WORKER(work_before_main)
WORKER(work_in_thread_local)
WORKER(work_in_key)
WORKER(work_in_atexit)
WORKER(work_in_static)

int steps = 0;

struct Static {
    Static() { work_before_main(); }
    ~Static() {
        CHECK(steps == 3);  // after all the others
        work_in_static();
        std::printf("edges worked\n");
        std::fflush(stdout);
    }
};
const Static the_static;

struct Local {
    bool used = false;
    ~Local() {
        work_in_thread_local();
        delete[] new char[100000];
        ++steps;
    }
};
thread_local Local the_local;

void key_destructor(void*) {
    work_in_key();
    ++steps;
}

}  // namespace

int main() {
    pthread_key_t key{};
    CHECK(pthread_key_create(&key, key_destructor) == 0);
    CHECK(std::atexit([] {
              work_in_atexit();
              ++steps;
          }) == 0);
    std::thread([key] {
        the_local.used = true;
        CHECK(pthread_setspecific(key, &steps) == 0);
    }).join();
    CHECK(steps == 2);
    return 0;
}
