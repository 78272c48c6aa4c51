// Built without .eh_frame and without frame pointers: its unwind tables are debug information.
static volatile unsigned long sink;

static void leaf(unsigned long n, int k) {
    volatile char space[64];
    space[k & 63] = 1;
    for (unsigned long i = 0; i < n; i++) sink += i * (unsigned long)space[k & 63];
}
static void middle(unsigned long n, int k) {
    volatile char space[72];
    space[k & 63] = 1;
    leaf(n, k + space[k & 63]);
    sink++;
}

int main(int count, char** arguments) {
    (void)arguments;
    for (int i = 0; i < 200; i++) middle(5000000, count);
    return 0;
}
