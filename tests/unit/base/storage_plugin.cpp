// A library with thread-local storage, which no thread has before it asks for it: more than glibc keeps in every thread
// for libraries that are loaded later (glibc.rtld.optional_static_tls), which aarch64 uses for any.
thread_local volatile char storage[4096];
extern "C" __attribute__((visibility("default"))) char touch_storage() { return storage[1]; }
