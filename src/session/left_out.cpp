// Part of libflameprobe-core.so only: functions that libraries call where the recorder has no use for them. Defined
// here, they keep the archives' own from being linked in: what makes names readable, which the drawing program does.
#include <cstddef>

extern "C" {

// Called by libstdc++'s handler of uncaught exceptions only.
char* __cxa_demangle(const char*, char*, std::size_t*, int* status);
char* __cxa_demangle(const char*, char*, std::size_t*, int* status) {
    if (status != nullptr) *status = -1;
    return nullptr;
}

}  // extern "C"
