/* More names than there is room for: 300, each counted twice. */
#include <flameprobe/count.h>
#include <flameprobe/label.h>
#include <stdio.h>

int main(void) {
    volatile unsigned long work = 0;
    for (unsigned long i = 0; i < 200000000; ++i) work = work + i; /* long enough for a profile */
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < 300; ++i) {
            char name[100];
            const int size = snprintf(name, sizeof name, "unit %03d", i);
            flameprobe_count(flameprobe_intern(name, (size_t)size), 1);
        }
    }
    flameprobe_count(NULL, 1);
    return 0;
}
