// A library with thread-local storage, which no thread has before it asks for it.
thread_local volatile char storage[256];
extern "C" __attribute__((visibility("default"))) char touch_storage() { return storage[1]; }
