/* FlameProbe from C: starts, works in labelled scopes, writes what was sampled, and stops.
 * Build: cc example.c $(pkg-config --cflags --libs flameprobe)      Run: ./a.out RESULT */
#include <flameprobe/flameprobe.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Until the thread has used that much CPU time. */
static void work(double seconds) {
    const clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
    while (clock() < end) {
    }
}

static void checkout(void) {
    FLAMEPROBE_SCOPE("checkout");
    work(0.3);
    {
        struct flameprobe_scope pay;
        flameprobe_scope_enter(&pay, "pay");
        work(0.3);
        flameprobe_scope_leave(&pay);
    }
}

static void for_tenant(const char* name) {
    FLAMEPROBE_SCOPE(flameprobe_intern_pair("tenant", 6, name, strlen(name)));
    work(0.3);
}

static int failed(const char* what, const struct flameprobe_error* error) {
    fprintf(stderr, "%s: %s (code %d)\n", what, error->message, (int)error->code);
    return 1;
}

int main(int argc, char** argv) {
    struct flameprobe_error error = FLAMEPROBE_ERROR_INIT;
    struct flameprobe_options options = FLAMEPROBE_OPTIONS_INIT;
    options.frequency = 999;
    options.output = argc > 1 ? argv[1] : "example";
    options.format = "folded";
    if (flameprobe_start(&options, &error) != FLAMEPROBE_OK) return failed("start", &error);
    if (!flameprobe_is_running()) return 2;
    checkout();
    for_tenant("acme");
    if (flameprobe_dump(NULL, &error) != FLAMEPROBE_OK) return failed("dump", &error);
    if (flameprobe_stop(&error) != FLAMEPROBE_OK) return failed("stop", &error);
    return flameprobe_is_running() ? 3 : 0;
}
