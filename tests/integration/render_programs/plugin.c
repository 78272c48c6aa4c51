/* Built as two libraries whose layout is the same but whose function has another name: -DWORK=NAME. */
__attribute__((visibility("default"), noinline)) unsigned WORK(unsigned rounds) {
    unsigned value = 1;
    for (unsigned i = 0; i < rounds * 1000; ++i) {
        value = (value ^ i) * 2654435761u;
        __asm__ volatile("" : "+r"(value));
    }
    return value + 1;
}
