/* Stacks that are not the thread's own: stacks alternate | switch | full. */
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "host.h"

/* Room for a signal's frame, in whole pages, and nothing to spare below: what is written past the end faults at once.
 * It is one page of 4 KiB on x86-64; aarch64's frame alone has 4,688 bytes. */
enum { fibers = 8 };
static size_t page, stack;
static ucontext_t scheduler, contexts[fibers];
static unsigned long totals[fibers];

static char* guarded_stack(void) {
    char* area = mmap(NULL, stack + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(area != MAP_FAILED && mprotect(area + page, stack, PROT_READ | PROT_WRITE) == 0);
    return area + page;
}

static void fiber(int number) {
    for (;;) {
        totals[number] += crunch(20000);
        swapcontext(&contexts[number], &scheduler);
    }
}

static void switch_stacks(void) {
    enum { rounds = 1000 };
    const unsigned long once = crunch(20000);
    for (int i = 0; i < fibers; ++i) {
        CHECK(getcontext(&contexts[i]) == 0);
        contexts[i].uc_stack.ss_sp = guarded_stack();
        contexts[i].uc_stack.ss_size = stack;
        makecontext(&contexts[i], (void (*)(void))fiber, 1, i);
    }
    for (int round = 0; round < rounds; ++round)
        for (int i = 0; i < fibers; ++i) CHECK(swapcontext(&scheduler, &contexts[i]) == 0);
    for (int i = 0; i < fibers; ++i) CHECK(totals[i] == rounds * once);
}

/* Most of a stack is used: a signal's frame fits on no part of it that is left. From the first sample on none comes
   there. */
static NOINLINE void work_on_little(void) {
    volatile char used[3000];
    for (unsigned i = 0; i < sizeof used; ++i) used[i] = (char)i;
    for (;;) {
        crunch(20000);
        swapcontext(&contexts[0], &scheduler);
        CHECK(used[2999] == (char)2999);
    }
}

static void work_on_full_stack(void) {
    stack = page;
    work_ms(200);
    CHECK(getcontext(&contexts[0]) == 0);
    contexts[0].uc_stack.ss_sp = guarded_stack();
    contexts[0].uc_stack.ss_size = stack;
    makecontext(&contexts[0], work_on_little, 0);
    for (int round = 0; round < 4000; ++round) CHECK(swapcontext(&scheduler, &contexts[0]) == 0);
}

static volatile sig_atomic_t handled;
static void work_in_handler(int number) {
    (void)number;
    crunch(20000);
    ++handled;
}

static void alternate_stack(void) {
    const stack_t mine = {.ss_sp = malloc(65536), .ss_size = 65536};
    stack_t found;
    struct sigaction action = {.sa_handler = work_in_handler, .sa_flags = SA_ONSTACK};
    CHECK(sigaltstack(&mine, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
    for (int i = 1; i <= 3000; ++i) {
        CHECK(raise(SIGUSR1) == 0);
        CHECK(handled == i);
    }
    CHECK(sigaltstack(NULL, &found) == 0);
    CHECK(found.ss_sp == mine.ss_sp && found.ss_size == mine.ss_size && found.ss_flags == 0);
}

int main(int argc, char** argv) {
    page = (size_t)sysconf(_SC_PAGESIZE);
    stack = (sizeof(ucontext_t) + sizeof(siginfo_t) + 512 + page - 1) / page * page;
    if (argc > 1 && strcmp(argv[1], "alternate") == 0)
        alternate_stack();
    else if (argc > 1 && strcmp(argv[1], "switch") == 0)
        switch_stacks();
    else if (argc > 1 && strcmp(argv[1], "full") == 0)
        work_on_full_stack();
    else
        return 2;
    printf("%s done\n", argv[1]);
    return 0;
}
