/* Alternate signal stacks in every state in which a host may leave them: alternate_stacks MODE. Alone no signal comes
 * but those that the host sends itself, so each of these is right. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "host.h"

enum { threads = 4, milliseconds = 100, size = 65536 };
#define DISARMS (1U << 31) /* SS_AUTODISARM */

static char shared[size];

static void set(void* at, size_t bytes, unsigned flags) {
    const stack_t stack = {.ss_sp = at, .ss_size = bytes, .ss_flags = (int)flags};
    CHECK(sigaltstack(&stack, NULL) == 0);
}

static void is_set(const void* at, size_t bytes, int flags) {
    stack_t found;
    CHECK(sigaltstack(NULL, &found) == 0);
    CHECK(found.ss_sp == at && found.ss_size == bytes && found.ss_flags == flags);
}

/* Both kinds of time: an engine may take its signals for one of them only. */
static NOINLINE void busy_ms(double ms) {
    const double end = cpu_ms() + ms;
    while (cpu_ms() < end) {
        crunch(2000);
        for (int i = 0; i < 50; ++i) syscall(SYS_getppid);
    }
}

static int holds(const void* at, size_t bytes, const void* address) {
    return (const char*)address > (const char*)at && (const char*)address <= (const char*)at + bytes;
}

static void handle(int number, void (*handler)(int, siginfo_t*, void*), int flags) {
    const int restorer = 0x04000000; /* which libc adds */
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK | flags}, found;
    CHECK(sigaction(number, &action, NULL) == 0 && sigaction(number, NULL, &found) == 0);
    CHECK(found.sa_sigaction == handler && (found.sa_flags & ~restorer) == action.sa_flags);
}

static void in_threads(void* (*work)(void*)) {
    pthread_t thread[threads];
    for (intptr_t i = 0; i < threads; ++i) CHECK(pthread_create(&thread[i], NULL, work, (void*)i) == 0);
    for (int i = 0; i < threads; ++i) CHECK(pthread_join(thread[i], NULL) == 0);
}

static void* work_on_shared(void* number) {
    is_set(NULL, 0, SS_DISABLE);
    set(shared, sizeof shared, 0);
    busy_ms(milliseconds);
    is_set(shared, sizeof shared, 0);
    return number;
}

/* The kernel takes it, though a frame may not fit. Pages around it fault. */
static void* work_on_small(void* number) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), small = 2048 > MINSIGSTKSZ ? 2048 : 5120;
    char* area = mmap(NULL, 4 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(area != MAP_FAILED && mprotect(area + page, 2 * page, PROT_READ | PROT_WRITE) == 0);
    set(area + page, small, 0);
    busy_ms(milliseconds);
    is_set(area + page, small, 0);
    return number;
}

static void* work_on_unmapped(void* number) {
    char* area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(area != MAP_FAILED);
    set(area, size, 0);
    CHECK(munmap(area, size) == 0);
    busy_ms(milliseconds);
    is_set(area, size, 0);
    return number;
}

static void* work_on_many(void* number) {
    const double end = cpu_ms() + milliseconds;
    while (cpu_ms() < end) {
        char* area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(area != MAP_FAILED);
        set(area, size, 0);
        busy_ms(1);
        if (cpu_ms() < end) set(NULL, 0, SS_DISABLE);
        CHECK(munmap(area, size) == 0);
    }
    return number;
}

/* A crash handler that fills its stack up to the last bytes. */
static __thread char* own;
static void at_work(int number, siginfo_t* info, void* context) {
    enum { enough = 2048 }; /* for this function and what it calls, but not for another signal's frame */
    volatile char filler[(char*)__builtin_frame_address(0) - own - enough];
    filler[0] = 1;
    const ucontext_t* const interrupted = context;
    CHECK(number == SIGUSR1 && info->si_signo == SIGUSR1 && holds(own, size, (const void*)filler));
    CHECK(interrupted->uc_stack.ss_sp == own && interrupted->uc_stack.ss_size == size);
    CHECK(!holds(own, size, (const void*)&info) || holds(own, size, (const void*)context));
    is_set(own, size, SS_ONSTACK);
    const stack_t other = {.ss_sp = shared, .ss_size = sizeof shared};
    CHECK(sigaltstack(&other, NULL) == -1 && errno == EPERM);
    busy_ms(milliseconds / 2);
    CHECK(filler[0] == 1);
}
static void* crash(void* number) {
    own = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(own != MAP_FAILED);
    set(own, size, 0);
    for (int i = 0; i < 2; ++i) CHECK(pthread_kill(pthread_self(), SIGUSR1) == 0);
    is_set(own, size, 0);
    return number;
}

/* A handler that leaves its stack and comes back to it, while another one runs there: what SS_AUTODISARM is for. */
static ucontext_t outside, inside;
static char first_stack[size];
static volatile int entered;
static void leave(int number, siginfo_t* info, void* context) {
    (void)number, (void)info;
    char here[8192];
    memset(here, ++entered, sizeof here);
    CHECK(((ucontext_t*)context)->uc_stack.ss_flags == (int)DISARMS);
    is_set(NULL, 0, SS_DISABLE);
    if (entered == 1) {
        CHECK(swapcontext(&inside, &outside) == 0);
        for (size_t i = 0; i < sizeof here; ++i) CHECK(here[i] == 1);
    } else {
        CHECK(holds(shared, sizeof shared, here));
    }
}
static void raise_once(void) {
    CHECK(raise(SIGUSR2) == 0);
    is_set(first_stack, size, (int)DISARMS); /* as it was when the signal came */
}
static void disarm(void) {
    static char fibers_stack[2 * size];
    ucontext_t fiber;
    handle(SIGUSR2, leave, SA_NODEFER);
    set(first_stack, size, DISARMS);
    is_set(first_stack, size, (int)DISARMS);
    CHECK(getcontext(&fiber) == 0);
    fiber.uc_stack = (stack_t){.ss_sp = fibers_stack, .ss_size = sizeof fibers_stack};
    fiber.uc_link = &outside;
    makecontext(&fiber, raise_once, 0);
    CHECK(swapcontext(&outside, &fiber) == 0); /* the handler comes back here */
    CHECK(entered == 1);
    busy_ms(milliseconds);
    set(shared, sizeof shared, DISARMS);
    CHECK(raise(SIGUSR2) == 0);
    CHECK(entered == 2);
    is_set(shared, sizeof shared, (int)DISARMS);
    busy_ms(milliseconds);
    CHECK(swapcontext(&outside, &inside) == 0); /* which then ends, and the fiber with it */
    busy_ms(milliseconds);
}

/* Coroutines whose stacks are made by a signal handler that is left by longjmp and entered again. */
enum { coroutines = 8, rounds = 200 };
static sigjmp_buf made[coroutines], scheduler;
static char* stacks[coroutines];
static unsigned long totals[coroutines];
static volatile int current;
static void coroutine(int self) {
    for (;;) {
        totals[self] += crunch(20000);
        if (sigsetjmp(made[self], 0) == 0) siglongjmp(scheduler, 1);
    }
}
static void make_coroutine(int number, siginfo_t* info, void* context) {
    (void)number, (void)info, (void)context;
    const int self = current;
    if (sigsetjmp(made[self], 0) != 0) coroutine(self);
}
static void by_signal(void) {
    const unsigned long once = crunch(20000);
    handle(SIGUSR2, make_coroutine, 0);
    for (current = 0; current < coroutines; ++current) {
        CHECK((stacks[current] = malloc(size)) != NULL);
        set(stacks[current], size, 0);
        CHECK(raise(SIGUSR2) == 0);
    }
    set(NULL, 0, SS_DISABLE);
    is_set(NULL, 0, SS_DISABLE);
    for (int i = 0; i < coroutines * rounds; ++i) {
        current = i % coroutines;
        if (sigsetjmp(scheduler, 0) == 0) siglongjmp(made[current], 1);
    }
    for (int i = 0; i < coroutines; ++i) CHECK(totals[i] == rounds * once);
}

/* The stack overflows again and again, and the handler leaves by longjmp each time. */
static sigjmp_buf before_overflow;
static volatile int overflows;
static void recover(int number, siginfo_t* info, void* context) {
    (void)number, (void)info, (void)context;
    is_set(shared, sizeof shared, SS_ONSTACK);
    ++overflows;
    siglongjmp(before_overflow, 1);
}
static NOINLINE unsigned long overflow(unsigned long depth) {
    volatile char filler[4096];
    filler[0] = (char)depth;
    return depth == ~0UL ? 0 : overflow(depth + 1) + (unsigned long)filler[0];
}
static void* overflow_often(void* given) {
    set(shared, sizeof shared, 0);
    for (volatile int i = 0; i < 20; ++i) {
        if (sigsetjmp(before_overflow, 1) == 0) overflow(0);
        is_set(shared, sizeof shared, 0);
        busy_ms(5);
    }
    CHECK(overflows == 20);
    return given;
}

/* What sigaltstack(2) promises, by libc's function and by number; a forked child keeps the stack, a thread does not. */
static void* without(void* given) {
    is_set(NULL, 0, SS_DISABLE);
    return given;
}
static void with_bad_pointers(const stack_t* stack) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char* const pages = mmap(NULL, 2 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED && munmap(pages + page, page) == 0);
    stack_t* const nowhere = (stack_t*)(pages + page);
    stack_t* const half = (stack_t*)(pages + page - sizeof(void*)); /* ends behind the page */
    stack_t before;
    CHECK(sigaltstack(nowhere, &before) == -1 && errno == EFAULT);
    CHECK(sigaltstack(half, &before) == -1 && errno == EFAULT);
    CHECK(syscall(SYS_sigaltstack, nowhere, NULL) == -1 && errno == EFAULT);
    is_set(shared + 32768, 32768, 0);
    CHECK(sigaltstack(stack, (stack_t*)pages) == -1 && errno == EFAULT); /* cannot be written, yet it is set */
    is_set(stack->ss_sp, stack->ss_size, 0);
    CHECK(sigaltstack(NULL, nowhere) == -1 && errno == EFAULT);
}
static void rules(void) {
    stack_t before = {0}, wrong = {.ss_sp = shared, .ss_size = sizeof shared, .ss_flags = 4};
    is_set(NULL, 0, SS_DISABLE);
    CHECK(sigaltstack(&wrong, NULL) == -1 && errno == EINVAL);
    wrong = (stack_t){.ss_sp = shared, .ss_size = 100};
    CHECK(sigaltstack(&wrong, &before) == -1 && errno == ENOMEM && before.ss_flags == 0);
    const stack_t first = {.ss_sp = shared, .ss_size = 32768}, second = {.ss_sp = shared + 32768, .ss_size = 32768};
    CHECK(sigaltstack(&first, &before) == 0 && before.ss_flags == SS_DISABLE && before.ss_sp == NULL);
    CHECK(syscall(SYS_sigaltstack, &second, &before) == 0 && before.ss_sp == shared && before.ss_size == 32768);
    is_set(shared + 32768, 32768, 0);
    CHECK(syscall(SYS_sigaltstack, &wrong, NULL) == -1 && errno == ENOMEM);
    with_bad_pointers(&first);
    in_threads(without);
    CHECK(sigaltstack(&second, NULL) == 0);
    const pid_t child = fork();
    if (child == 0) {
        is_set(shared + 32768, 32768, 0);
        busy_ms(50);
        set(shared, 32768, 0);
        is_set(shared, 32768, 0);
        _exit(3);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3);
    before = (stack_t){.ss_flags = SS_DISABLE};
    stack_t* const same = &before;
    CHECK(syscall(SYS_sigaltstack, same, same) == 0 && before.ss_sp == shared + 32768);
    is_set(NULL, 0, SS_DISABLE);
}

/* A child that shares the memory may have a stack of its own. */
static void on_own_stack(int number, siginfo_t* info, void* context) {
    (void)number, (void)info, (void)context;
    CHECK(holds(own, size, (const void*)&context) || holds(own, size, context));
    ++entered;
}
static int set_another(void* unused) {
    (void)unused;
    set(shared, sizeof shared, 0);
    is_set(shared, sizeof shared, 0);
    _exit(5);
}
static void in_a_child(void) {
    static char childs_stack[2 * size];
    own = malloc(size);
    CHECK(own != NULL);
    handle(SIGUSR1, on_own_stack, 0);
    set(own, size, 0);
    for (int round = 0; round < 6; ++round) {
        const int flags = CLONE_VM | SIGCHLD | (round % 2 ? CLONE_VFORK : 0);
        int status = 0;
        const int child = clone(set_another, childs_stack + sizeof childs_stack, flags, NULL);
        CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5);
        is_set(own, size, 0);
        CHECK(raise(SIGUSR1) == 0 && entered == round + 1);
        busy_ms(10);
    }
}

/* Who has set no stack has none, and its children have none, also where an engine gave the thread one. */
static void end_without_stack(pid_t child) {
    int status = 0;
    if (child == 0) {
        is_set(NULL, 0, SS_DISABLE);
        _exit(5);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5);
}
static void* inherit_none(void* given) {
    busy_ms(60);
    is_set(NULL, 0, SS_DISABLE);
    end_without_stack(fork());
    end_without_stack(vfork());
    return given;
}

int main(int argc, char** argv) {
    const char* const mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "shared") == 0) {
        in_threads(work_on_shared);
    } else if (strcmp(mode, "small") == 0) {
        in_threads(work_on_small);
    } else if (strcmp(mode, "unmapped") == 0) {
        in_threads(work_on_unmapped);
    } else if (strcmp(mode, "many") == 0) {
        in_threads(work_on_many);
    } else if (strcmp(mode, "in_use") == 0) {
        handle(SIGUSR1, at_work, 0);
        in_threads(crash);
    } else if (strcmp(mode, "disarm") == 0) {
        disarm();
    } else if (strcmp(mode, "by_signal") == 0) {
        by_signal();
    } else if (strcmp(mode, "overflow") == 0) {
        pthread_attr_t small; /* an overflow of the main thread's stack takes long */
        pthread_t thread;
        handle(SIGSEGV, recover, 0);
        CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 1 << 18) == 0);
        CHECK(pthread_create(&thread, &small, overflow_often, NULL) == 0 && pthread_join(thread, NULL) == 0);
    } else if (strcmp(mode, "rules") == 0) {
        rules();
    } else if (strcmp(mode, "in_a_child") == 0) {
        in_a_child();
    } else if (strcmp(mode, "inherited") == 0) {
        inherit_none(NULL);
        in_threads(inherit_none);
    } else {
        return 2;
    }
    printf("%s done\n", mode);
    return 0;
}
