static volatile unsigned long sink;

void library_work(unsigned long n) {
    for (unsigned long i = 0; i < n; i++) sink += i * i;
}
