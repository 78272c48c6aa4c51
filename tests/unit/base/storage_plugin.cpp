// A library with thread-local storage that glibc allocates for a thread only at its first access: it is larger than the
// space that every thread has for libraries loaded later (glibc.rtld.optional_static_tls), from which aarch64 serves
// any library that fits.
thread_local volatile char storage[4096];
extern "C" __attribute__((visibility("default"))) char touch_storage() { return storage[1]; }
