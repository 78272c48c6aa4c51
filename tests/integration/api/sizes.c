/* What callers allocate for the library; its size must not change. */
#include <flameprobe/flameprobe.h>
#include <stdio.h>

int main(void) {
    printf("%zu %zu %zu\n", sizeof(struct flameprobe_scope), sizeof(struct flameprobe_options),
           sizeof(struct flameprobe_error));
    return 0;
}
