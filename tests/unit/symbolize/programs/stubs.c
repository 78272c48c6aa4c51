// Calls through the PLT, also of a function whose address is taken, which gives it a stub in .plt.got.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void* (*volatile take)(size_t) = malloc;

int main(int argc, char** argv) {
    char* copy = strdup(argv[0]);
    puts(copy);
    printf("%d %p\n", argc, take(10));
    free(malloc(5));
    free(copy);
    return abs(atoi("3"));
}
