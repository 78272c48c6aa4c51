// The host's threads: attaches new ones to an engine with a handler, reports those that end, and ends the process with
// the last one.
//
// libc ends a process by exit(0) in the last of its threads (pthread_exit(3)). The collector is one more thread for
// libc, so it would never do that where all of the host's threads have ended by themselves. So they are counted, and
// the last of them does what libc would have done, at the same place: after its thread_locals and its keys.
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>

#include "interpose.hpp"
#include "parts.hpp"
#include "room.hpp"

namespace flameprobe {
namespace {

using StartRoutine = void* (*)(void*);

int (*next_pthread_create)(pthread_t*, const pthread_attr_t*, StartRoutine, void*) = nullptr;

constinit int living = 0;  // threads, of those that are counted: main and those that pthread_create made since
constinit bool counting = false;
constinit pthread_key_t ends;

struct Life {
    StartRoutine routine;
    void* argument;
    uintptr_t caller;  // of the routine
    int round;
};

// For the first thread only `round` is set. For others it is a copy of the Life that pthread_create made, which is
// freed at the beginning: free() at the end of a thread might be its first use of malloc, whose system calls a
// filter may kill for by then.
__attribute__((tls_model("initial-exec"))) constinit thread_local Life own_life{};

void begin_life(Life* life) {
    life->round = 1;
    ::pthread_setspecific(ends, life);
}

// Destructors of keys may set keys again, and are called again then, in rounds: ours waits for the last.
void thread_ends(void* given) {
    auto* const life = static_cast<Life*>(given);
    if (life->round < PTHREAD_DESTRUCTOR_ITERATIONS) {
        ++life->round;
        ::pthread_setspecific(ends, life);
        return;
    }
    if (life->routine != nullptr) {
        if (const flameprobe_core* core = core_if_loaded())
            core->thread_ended(reinterpret_cast<uintptr_t>(life->routine), life->caller);
    }
    if (__atomic_sub_fetch(&living, 1, __ATOMIC_ACQ_REL) != 0) return;
    const flameprobe_core* core = core_if_loaded();
    if (core != nullptr && core->left_alone() != 0) ::exit(0);
}

// The last call is a tail call: no frame of ours stays in the thread's stack.
void* begin_thread(void* given) {
    auto* const life = static_cast<Life*>(given);
    const StartRoutine routine = life->routine;
    void* const argument = life->argument;
    own_life = {routine, argument, reinterpret_cast<uintptr_t>(__builtin_return_address(0)), 0};
    ::free(life);
    if (counting) begin_life(&own_life);
    if (const flameprobe_core* core = core_if_loaded()) core->attach_thread();
    return routine(argument);
}

}  // namespace

void count_threads_from_here() {
    if (!counting && ::pthread_key_create(&ends, thread_ends) != 0) return;
    counting = true;
    __atomic_store_n(&living, 1, __ATOMIC_RELEASE);
    own_life = {};
    begin_life(&own_life);
}

void forget_other_threads() {
    if (counting) count_threads_from_here();
}

bool has_one_thread() noexcept { return counting && __atomic_load_n(&living, __ATOMIC_ACQUIRE) == 1; }

}  // namespace flameprobe

using namespace flameprobe;

FLAMEPROBE_INTERPOSED int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, StartRoutine routine,
                                         void* argument) noexcept {
    auto* create = next(next_pthread_create, "pthread_create");
    const flameprobe_core* core = core_if_loaded();
    const bool of_host = core != nullptr && core->is_own_thread(routine) == 0;
    if (!of_host) return create(thread, attributes, routine, argument);
    const auto create_one = [&](StartRoutine begin, void* with) {
        return without_collector([&] { return create(thread, attributes, begin, with); }, has_no_place);
    };
    if (!counting && core->attaches_threads() == 0) return create_one(routine, argument);
    const auto new_life = [] {
        const OwnAllocations own;
        return static_cast<Life*>(::malloc(sizeof(Life)));
    };
    auto* life = new_life();
    if (life == nullptr) return create(thread, attributes, routine, argument);
    *life = {routine, argument, 0, 0};
    __atomic_add_fetch(&living, 1, __ATOMIC_RELAXED);
    const int failed = create_one(begin_thread, life);
    if (failed != 0) {
        __atomic_sub_fetch(&living, 1, __ATOMIC_RELAXED);
        ::free(life);
    }
    return failed;
}

// libc's own makes the thread past pthread_create, and calls the routine as it is done here.
FLAMEPROBE_INTERPOSED int thrd_create(thrd_t* thread, thrd_start_t routine, void* argument) {
    const auto start = reinterpret_cast<StartRoutine>(reinterpret_cast<void (*)()>(routine));
    const int failed = ::pthread_create(thread, nullptr, start, argument);
    return failed == 0 ? thrd_success : failed == ENOMEM ? thrd_nomem : thrd_error;
}
