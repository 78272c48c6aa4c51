/* Loaded and unloaded over and over by dlopen_loop. */
__attribute__((visibility("default"), noinline)) unsigned long plugin_work(unsigned long rounds) {
    unsigned long value = 1;
    for (unsigned long i = 0; i < rounds; ++i) {
        value = value * 6364136223846793005UL + 1442695040888963407UL;
        __asm__ volatile("" : "+r"(value));
    }
    return value;
}
