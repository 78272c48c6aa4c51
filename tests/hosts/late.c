/* Hosts in which sampling begins late, or loses its signal: late descriptors|signals|threads api|signal, late yield.
   Sampling is begun through what is there: the API (flameprobe_start), or a handler of SIGUSR2 that is not ours. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include "flameprobe/flameprobe.h"
#include "host.h"

static NOINLINE void early_work(void) {
    work_ms(200);
    __asm__ volatile("");
}
static NOINLINE void late_work(void) {
    work_ms(300);
    __asm__ volatile("");
}

static void begin(const char* how) {
    if (strcmp(how, "api") == 0) {
        int (*start)(const struct flameprobe_options*, struct flameprobe_error*);
        struct flameprobe_error error = {.size = sizeof error};
        *(void**)&start = dlsym(RTLD_DEFAULT, "flameprobe_start");
        if (start != NULL && start(NULL, &error) != 0) fprintf(stderr, "refused: %s\n", error.message);
    } else {
        struct sigaction found;
        CHECK(sigaction(SIGUSR2, NULL, &found) == 0);
        if (found.sa_handler != SIG_DFL) CHECK(raise(SIGUSR2) == 0);
    }
}

static void use_up_descriptors(void) {
    const struct rlimit limit = {200, 200};
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    while (open("/dev/null", O_RDONLY) >= 0) continue;
    CHECK(errno == EMFILE);
}

static volatile sig_atomic_t strays;
static void on_stray(int number) {
    (void)number;
    ++strays; /* this program sends none */
}

static void take_every_signal(void) {
    struct sigaction mine = {.sa_handler = on_stray, .sa_flags = SA_RESTART}, found;
    for (int number = 1; number <= SIGRTMAX; ++number) {
        if (number == SIGKILL || number == SIGSTOP || (number > SIGSYS && number < SIGRTMIN)) continue;
        CHECK(sigaction(number, &mine, NULL) == 0);
        CHECK(sigaction(number, NULL, &found) == 0 && found.sa_handler == on_stray);
    }
}

enum { crowd = 600 };
static pthread_barrier_t everybody;
static void* wait_and_work(void* unused) {
    pthread_barrier_wait(&everybody);
    pthread_barrier_wait(&everybody);
    work_ms(1);
    return unused;
}

/* Threads enough to need more descriptors than there are, if each of them needed one. */
static void crowded(const char* how) {
    const struct rlimit limit = {500, 500};
    pthread_t threads[crowd];
    pthread_attr_t small;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 65536) == 0);
    CHECK(pthread_barrier_init(&everybody, NULL, crowd + 1) == 0);
    for (int i = 0; i < crowd; ++i) CHECK(pthread_create(&threads[i], &small, wait_and_work, NULL) == 0);
    pthread_barrier_wait(&everybody);
    begin(how);
    pthread_barrier_wait(&everybody);
    for (int i = 0; i < crowd; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
}

int main(int argc, char** argv) {
    CHECK(argc > 1);
    const char *mode = argv[1], *how = argc > 2 ? argv[2] : "api";
    early_work();
    if (strcmp(mode, "threads") == 0) {
        crowded(how);
    } else {
        if (strcmp(mode, "descriptors") == 0)
            use_up_descriptors();
        else
            take_every_signal();
        if (strcmp(mode, "yield") != 0) begin(how);
    }
    late_work();
    CHECK(strays == 0);
    printf("%s %s done\n", mode, how);
    return 0;
}
