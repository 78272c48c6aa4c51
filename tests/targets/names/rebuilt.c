// Two builds of one program (-DLATER), without build ids: what lies at an address of the first is another function in
// the second. Prints a line when half of the work is done and waits for one, so that its file can be replaced
// meanwhile.
#include <stdio.h>

volatile unsigned long sink;

#ifdef LATER
void unrelated_first(unsigned long n) {
    for (unsigned long i = 0; i < n; i++) sink -= i;
}
void unrelated_second(unsigned long n) {
    for (unsigned long i = 0; i < n; i++) sink -= i * 3;
}
#endif
void hash_key(unsigned long n) {
    for (unsigned long i = 0; i < n; i++) sink += i * i;
}
void compare_row(unsigned long n) {
    for (unsigned long i = 0; i < n; i++) sink ^= i * 7;
}
void scan(unsigned long n) {
    hash_key(n);
    compare_row(n);
    sink++;
}

int main(void) {
    for (int i = 0; i < 20; i++) scan(5000000);
    puts("half");
    fflush(stdout);
    getchar();
    for (int i = 0; i < 20; i++) scan(5000000);
    return 0;
}
