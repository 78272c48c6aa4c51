// New threads, for the engines that need a timer in each (the rings do not). The collector would find them too, but
// later than a short thread lives.
#include <pthread.h>
#include <stdlib.h>

#include "core.hpp"
#include "interpose.hpp"

namespace flameprobe {
namespace {

using StartRoutine = void* (*)(void*);

int (*next_pthread_create)(pthread_t*, const pthread_attr_t*, StartRoutine, void*) = nullptr;

struct Start {
    StartRoutine routine;
    void* argument;
};

// The last call is a tail call: no frame of ours stays in the thread's stack.
void* cover_and_start(void* given) {
    const Start start = *static_cast<Start*>(given);
    ::free(given);
    if (const flameprobe_core* core = core_if_loaded()) core->cover_thread();
    return start.routine(start.argument);
}

}  // namespace
}  // namespace flameprobe

using namespace flameprobe;

FLAMEPROBE_INTERPOSED int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, StartRoutine routine,
                                         void* argument) noexcept {
    auto* create = next(next_pthread_create, "pthread_create");
    const flameprobe_core* core = core_if_loaded();
    if (core == nullptr || core->covers_threads() == 0) return create(thread, attributes, routine, argument);
    auto* start = static_cast<Start*>(::malloc(sizeof(Start)));
    if (start == nullptr) return create(thread, attributes, routine, argument);
    *start = {routine, argument};
    const int failed = create(thread, attributes, cover_and_start, start);
    if (failed != 0) ::free(start);
    return failed;
}
