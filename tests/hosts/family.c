/* Children of every kind: family fork|vfork|spawn|system|exec|chain N|orphan|crowd|lowest|handler|quick_exit. "family
 * child N" works and ends with N. "family images N exec|number|thread|failing" works for 30 ms in each of N images, of
 * which each replaces the last by execv, by syscall(2), in another thread than the first, or after one that fails.
 * "family launch" executes at once what works in three threads, 100 ms each, without a name but that of its descriptor.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "host.h"

extern char** environ;
static char* self;

static NOINLINE void child_work(void) {
    work_ms(60);
    __asm__ volatile("");
}
/* For so long that a tick finds it also where the children's ticks, on a busy machine, are most. */
static NOINLINE void parent_work(void) {
    work_ms(120);
    __asm__ volatile("");
}

static int wait_for(pid_t child) {
    int status = 0;
    pid_t found;
    do found = waitpid(child, &status, 0);
    while (found < 0 && errno == EINTR);
    CHECK(found == child);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static char** child_arguments(int number) {
    static char text[16];
    static char* arguments[4];
    snprintf(text, sizeof text, "%d", number);
    arguments[0] = self, arguments[1] = (char*)"child", arguments[2] = text, arguments[3] = NULL;
    return arguments;
}

static void forks(void) {
    pid_t children[4];
    for (int i = 0; i < 4; ++i) {
        children[i] = fork();
        CHECK(children[i] >= 0);
        if (children[i] == 0) {
            child_work();
            if (i % 2 == 0) exit(20 + i);
            _exit(20 + i);
        }
    }
    parent_work();
    for (int i = 0; i < 4; ++i) CHECK(wait_for(children[i]) == 20 + i);
}

/* Each child's descriptors have the lowest numbers that are free, from its first moment on. */
static void lowest_descriptors(void) {
    for (int i = 0; i < 20; ++i) {
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            int others = 0;
            const int lowest = open("/dev/null", O_RDONLY);
            close(lowest);
            for (const double end = cpu_ms() + 30; cpu_ms() < end;) {
                const int descriptor = open("/dev/null", O_RDONLY);
                others += descriptor != lowest;
                close(descriptor);
            }
            _exit(others != 0);
        }
        CHECK(wait_for(child) == 0);
    }
}

static void forks_and_execs(void) {
    for (int i = 0; i < 3; ++i) {
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            execv(self, child_arguments(30 + i));
            _exit(1);
        }
        CHECK(wait_for(child) == 30 + i);
    }
}

static pid_t vfork_one(const char* program, int number) {
    char** arguments = child_arguments(number);
    const pid_t child = vfork();
    CHECK(child >= 0);
    if (child == 0) {
        execv(program, arguments);
        _exit(number);
    }
    return child;
}

static void vforks(void) {
    for (int i = 0; i < 3; ++i) CHECK(wait_for(vfork_one(i == 0 ? "/nonexistent/program" : self, 40 + i)) == 40 + i);
    parent_work(); /* and we are still sampled */
}

static void spawns(void) {
    for (int i = 0; i < 3; ++i) {
        pid_t child;
        char** arguments = child_arguments(50 + i);
        CHECK((i == 0 ? posix_spawnp : posix_spawn)(&child, self, NULL, NULL, arguments, environ) == 0);
        CHECK(wait_for(child) == 50 + i);
    }
    pid_t nobody;
    CHECK(posix_spawn(&nobody, "/nonexistent/program", NULL, NULL, child_arguments(0), environ) == ENOENT);
}

static void systems(void) {
    char command[4200], line[64] = "";
    snprintf(command, sizeof command, "'%s' child 60", self);
    const int status = system(command);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 60);
    FILE* pipe = popen("echo from the child", "r");
    CHECK(pipe != NULL && fgets(line, sizeof line, pipe) != NULL);
    CHECK(strcmp(line, "from the child\n") == 0);
    CHECK(pclose(pipe) == 0);
}

static int chain(long left) {
    char text[32];
    crunch(300000);
    if (left == 0) return 0;
    snprintf(text, sizeof text, "%ld", left - 1);
    execl(self, self, "chain", text, (char*)NULL);
    return 1;
}

static char* image_arguments[5];
static void* replace_image(void* how) {
    char* nothing[] = {(char*)"nothing", NULL};
    if (strcmp(how, "failing") == 0) CHECK(execv("/nonexistent/program", nothing) == -1 && errno == ENOENT);
    if (strcmp(how, "failing") == 0) work_ms(30);
    if (strcmp(how, "number") == 0) syscall(SYS_execve, self, image_arguments, environ);
    execv(self, image_arguments);
    exit(3);
}

static int images(long left, char* how) {
    static char text[32];
    pthread_t thread;
    char* arguments[] = {self, (char*)"images", text, how, NULL};
    memcpy(image_arguments, arguments, sizeof arguments);
    snprintf(text, sizeof text, "%ld", left - 1);
    work_ms(30);
    if (left == 1) return 0;
    if (strcmp(how, "thread") != 0) replace_image(how);
    CHECK(pthread_create(&thread, NULL, replace_image, how) == 0);
    for (;;) pause();
}

static int launch(void) {
    char* arguments[] = {self, (char*)"threads", NULL};
    const int program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    CHECK(program >= 0);
    return fexecve(program, arguments, environ);
}

static void* work_100_ms(void* unused) {
    work_ms(100);
    return unused;
}
static void works_in_threads(void) {
    pthread_t thread;
    for (int i = 0; i < 3; ++i) {
        CHECK(pthread_create(&thread, NULL, work_100_ms, NULL) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
}

static int done;
static void* allocate(void* unused) {
    for (size_t size = 1; __atomic_load_n(&done, __ATOMIC_RELAXED) == 0; size = size % 9000 + 77) {
        char* piece = malloc(size);
        CHECK(piece != NULL);
        piece[size - 1] = 1;
        free(piece);
    }
    return unused;
}

/* Forks while other threads hold whatever lock there is; the children have threads of their own again. */
static void forks_in_a_crowd(int children) {
    enum { crowd = 3 };
    pthread_t threads[crowd], thread;
    for (int i = 0; i < crowd; ++i) CHECK(pthread_create(&threads[i], NULL, allocate, NULL) == 0);
    for (int i = 0; i < children; ++i) {
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            CHECK(pthread_create(&thread, NULL, allocate, NULL) == 0);
            child_work();
            __atomic_store_n(&done, 1, __ATOMIC_RELAXED);
            CHECK(pthread_join(thread, NULL) == 0);
            if (i % 3 == 0) execv(self, child_arguments(70 + i));
            exit(70 + i);
        }
        CHECK(wait_for(child) == 70 + i);
    }
    __atomic_store_n(&done, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < crowd; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
}

/* A handler that forks, as crash handlers do, wherever it comes: in malloc too, as long as there is one thread. */
static volatile sig_atomic_t forked;
static void fork_in_handler(int number) {
    const int saved = errno;
    int status = 0;
    (void)number;
    const pid_t child = fork();
    if (child == 0) _exit(crunch(1000) == 0);
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    ++forked;
    errno = saved;
}

static void forks_in_handlers(void) {
    enum { pieces = 64 };
    const struct sigaction action = {.sa_handler = fork_in_handler, .sa_flags = SA_RESTART};
    const struct itimerval soon = {{0, 0}, {0, 3000}};
    void* kept[pieces] = {NULL};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    for (int round = 1; round <= 20; ++round) {
        CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
        for (unsigned i = 0; forked < round; ++i) {
            free(kept[i % pieces]);
            CHECK((kept[i % pieces] = malloc(1100 + i * 37 % 5000)) != NULL);
        }
    }
    for (int i = 0; i < pieces; ++i) free(kept[i]);
}

/* The parent ends first; the child goes on. A pipe tells the test when it has ended. */
static void orphan(void) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        usleep(100000);
        child_work();
        exit(0);
    }
    parent_work();
}

static NOINLINE void work_at_quick_exit(void) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        child_work();
        _exit(4);
    }
    work_ms(60);
    CHECK(wait_for(child) == 4);
    __asm__ volatile("");
}

static void forks_at_quick_exit(void) {
    CHECK(at_quick_exit(work_at_quick_exit) == 0);
    parent_work();
    puts("ending");
    fflush(stdout);
    quick_exit(5);
}

int main(int argc, char** argv) {
    const char* mode = argc > 1 ? argv[1] : "fork";
    self = argv[0];
    if (strcmp(mode, "child") == 0) {
        child_work();
        return atoi(argv[2]);
    }
    if (strcmp(mode, "chain") == 0) {
        if (chain(atol(argv[2])) != 0) return 1;
    } else if (strcmp(mode, "images") == 0) {
        if (images(atol(argv[2]), argv[3]) != 0) return 1;
    } else if (strcmp(mode, "launch") == 0) {
        if (launch() != 0) return 1;
    } else if (strcmp(mode, "threads") == 0) {
        works_in_threads();
    } else if (strcmp(mode, "fork") == 0)
        forks();
    else if (strcmp(mode, "exec") == 0)
        forks_and_execs();
    else if (strcmp(mode, "vfork") == 0)
        vforks();
    else if (strcmp(mode, "spawn") == 0)
        spawns();
    else if (strcmp(mode, "system") == 0)
        systems();
    else if (strcmp(mode, "crowd") == 0)
        forks_in_a_crowd(argc > 2 ? atoi(argv[2]) : 12);
    else if (strcmp(mode, "orphan") == 0)
        orphan();
    else if (strcmp(mode, "lowest") == 0)
        lowest_descriptors();
    else if (strcmp(mode, "quick_exit") == 0)
        forks_at_quick_exit();
    else if (strcmp(mode, "handler") == 0)
        forks_in_handlers();
    else
        return 2;
    printf("%s done\n", mode);
    return 0;
}
