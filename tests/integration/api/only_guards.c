/* What a guard becomes: ../test_scopes.py reads the object code. */
#include <flameprobe/scope.h>

void work(void);

void guard(void) {
    FLAMEPROBE_SCOPE("checkout");
    work();
}

void by_hand(const char* label) {
    struct flameprobe_scope outer, inner;
    flameprobe_scope_enter(&outer, label);
    flameprobe_scope_enter(&inner, "inner");
    work();
    flameprobe_scope_leave(&inner);
    flameprobe_scope_leave(&outer);
}
