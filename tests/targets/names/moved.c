// Moves its own code into anonymous memory, in its place, as programs do to have it on huge pages, and works there;
// with an argument also before.
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

static volatile unsigned long sink;

#define MOVED __attribute__((noinline, section("moved"), aligned(4096)))
MOVED void moved_first(unsigned long n) {
    for (unsigned long i = 0; i < n; i++) sink += i * i;
}
MOVED void moved_second(unsigned long n) {
    moved_first(n);
    for (unsigned long i = 0; i < n; i++) sink ^= i * 7;
}
MOVED void moved_second(unsigned long n);
MOVED void after_moved(void) {}

int main(int count, char** arguments) {
    char* const code = (char*)(size_t)moved_first;
    const unsigned long size = (unsigned long)((char*)(size_t)after_moved - code);
    (void)arguments;
    for (int i = 0; count > 1 && i < 20; i++) moved_second(5000000);
    static char copy[1 << 16];
    if (size > sizeof copy) return 2;
    memcpy(copy, code, size);
    if (mmap(code, size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != code)
        return 3;
    memcpy(code, copy, size);
    if (mprotect(code, size, PROT_READ | PROT_EXEC) != 0) return 4;
    for (int i = 0; i < 40; i++) moved_second(5000000);
    return 0;
}
