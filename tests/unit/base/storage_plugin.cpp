// A library with thread-local storage that glibc allocates for a thread only at its first access: it is larger than the
// space that every thread has for libraries loaded later (glibc.rtld.optional_static_tls), from which aarch64 serves
// any library that fits.
#include "base/own_threads.hpp"

thread_local volatile char more_storage[4096];
extern "C" __attribute__((visibility("default"))) char touch_storage() { return more_storage[1]; }
extern "C" __attribute__((visibility("default"))) bool allocate_storage() {
    return flameprobe::allocate_thread_storage();
}
