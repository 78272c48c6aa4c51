/* A host that changes who or where it is:
   privileges setuid | chroot DIR | chroot_in_child DIR | chroot_children DIR | pivot_children DIR | undumpable
   | chdir DIR | umask | unshare | unshare_by_number | unshare_in_thread | pid_namespace | setns | crowd | vfork
   | no_new_privs | unmount DIR. 77 where the change itself needs rights that this user has not. */
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "host.h"

static NOINLINE void before_change(void) {
    work_ms(50);
    __asm__ volatile("");
}
static NOINLINE void after_change(void) {
    work_ms(50);
    __asm__ volatile("");
}

/* As HAProxy's worker: the child changes its root as its first act, and lives there. The parent does little. */
static void go_on_in_child(void) {
    int status = 0;
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) return;
    CHECK(waitpid(child, &status, 0) == child);
    exit(status != 0);
}

static void work_in_child(void) {
    int status = 1;
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        work_ms(40);
        exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* Where there are other threads the kernel refuses, and the profiler must not begin to make way. */
static void* join_own_namespace(void* unused) {
    for (int i = 0; i < 300; ++i) {
        const int space = open("/proc/self/ns/uts", O_RDONLY);
        if (space < 0) break;
        if (setns(space, 0) != 0) CHECK(errno == EPERM || errno == EINVAL);
        close(space);
    }
    return unused;
}

static void crowd(void) {
    pthread_t threads[16];
    for (int i = 0; i < 16; ++i) CHECK(pthread_create(&threads[i], NULL, join_own_namespace, NULL) == 0);
    for (int i = 0; i < 16; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
}

/* With the least stack that a thread may have. */
static void* leave_users(void* unused) {
    CHECK(unshare(CLONE_NEWUSER) == -1 && errno == EINVAL);
    return unused;
}

static void unshare_in_thread(void) {
    pthread_attr_t small;
    pthread_t thread;
    CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN) == 0);
    CHECK(pthread_create(&thread, &small, leave_users, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

static NOINLINE void launched_work(void) {
    work_ms(150);
    __asm__ volatile("");
}

/* Launchers change a child of vfork, which shares their memory. Nothing of their own changes. */
static void change_vfork_child(void) {
    struct sigaction now;
    int status = 0;
    const pid_t launched = vfork();
    if (launched == 0) {
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        _exit(geteuid() == 0 && setuid(65534) != 0);
    }
    CHECK(launched > 0 && waitpid(launched, &status, 0) == launched && status == 0);
    CHECK(sigaction(SIGTERM, NULL, &now) == 0 && now.sa_handler == SIG_DFL);
    const pid_t child = fork();
    if (child == 0) {
        launched_work();
        exit(0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    if (geteuid() == 0) CHECK(chroot("/") == 0);
}

static NOINLINE void* late_work(void* unused) {
    work_ms(50);
    __asm__ volatile("");
    return unused;
}

/* As HAProxy: what it executes gains no rights. That forbids no system call, and what it forks lives as before. */
static void gain_no_rights(void) {
    pthread_t thread;
    int status = 0;
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(pthread_create(&thread, NULL, late_work, NULL) == 0 && pthread_join(thread, NULL) == 0);
    const pid_t child = fork();
    if (child == 0) {
        launched_work();
        raise(SIGTERM);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

/* A process that began on the mounted file system leaves it, and unmounts it. */
static int unmount(const char* below) {
    char directory[PATH_MAX];
    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0) return 77;
    snprintf(directory, sizeof directory, "%s/mounted", below);
    CHECK(mkdir(directory, 0700) == 0);
    CHECK(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
    CHECK(mount("none", directory, "tmpfs", 0, NULL) == 0 && chdir(directory) == 0);
    int ends[2], status = 1;
    CHECK(pipe(ends) == 0);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child != 0) {
        CHECK(chdir("/") == 0 && write(ends[1], "x", 1) == 1);
        CHECK(waitpid(child, &status, 0) == child);
        exit(status != 0);
    }
    before_change();
    CHECK(read(ends[0], directory + strlen(directory) + 1, 1) == 1);
    CHECK(chdir("/") == 0 && umount(directory) == 0);
    return 0;
}

/* As bubblewrap: the old root is out of reach from then on. */
static int pivot(const char* directory) {
    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0) return 77;
    CHECK(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
    CHECK(mount(directory, directory, NULL, MS_BIND, NULL) == 0 && chdir(directory) == 0);
    CHECK(syscall(SYS_pivot_root, ".", ".") == 0 && umount2(".", MNT_DETACH) == 0 && chdir("/") == 0);
    return 0;
}

static int change(const char* mode, const char* directory) {
    if (strcmp(mode, "setuid") == 0) {
        if (geteuid() != 0) return 77;
        CHECK(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
        CHECK(getuid() == 65534 && setuid(0) != 0);
    } else if (strncmp(mode, "chroot", 6) == 0) {
        if (geteuid() != 0) return 77;
        if (strcmp(mode, "chroot_in_child") == 0) go_on_in_child();
        CHECK(chroot(directory) == 0 && chdir("/") == 0);
        for (int i = 0; strcmp(mode, "chroot_children") == 0 && i < 4; ++i) work_in_child();
    } else if (strcmp(mode, "pivot_children") == 0) {
        const int status = pivot(directory);
        for (int i = 0; status == 0 && i < 4; ++i) work_in_child();
        return status;
    } else if (strcmp(mode, "undumpable") == 0) {
        /* From then on the kernel hides where its image is. It stays after a failed exec. */
        CHECK(prctl(PR_SET_DUMPABLE, 0) == 0 && prctl(PR_GET_DUMPABLE) == 0);
        CHECK(execl("/nonexistent/program", "program", (char*)NULL) == -1 && errno == ENOENT);
        work_ms(200);
    } else if (strcmp(mode, "unmount") == 0) {
        return unmount(directory);
    } else if (strcmp(mode, "chdir") == 0) {
        CHECK(chdir(directory) == 0);
    } else if (strcmp(mode, "umask") == 0) {
        umask(0777);
    } else if (strcmp(mode, "unshare_in_thread") == 0) {
        unshare_in_thread();
    } else if (strcmp(mode, "pid_namespace") == 0) {
        /* Its first process has the number 1, as this one may have. */
        if (unshare(CLONE_NEWPID) != 0) return 77;
        go_on_in_child();
        CHECK(getpid() == 1);
    } else if (strcmp(mode, "vfork") == 0) {
        change_vfork_child();
    } else if (strcmp(mode, "no_new_privs") == 0) {
        gain_no_rights();
    } else if (strncmp(mode, "unshare", 7) == 0) {
        /* Fails with EINVAL in a process of several threads: no thread of ours may be counted. */
        if ((mode[7] == '_' ? syscall(SYS_unshare, (long)CLONE_NEWUSER) : unshare(CLONE_NEWUSER)) != 0) {
            CHECK(errno == EPERM || errno == ENOSPC);
            return 77;
        }
    } else if (strcmp(mode, "setns") == 0) {
        if (geteuid() != 0) return 77;
        const int space = open("/proc/self/ns/mnt", O_RDONLY);
        if (space < 0 || unshare(CLONE_FS) != 0) return 77;
        CHECK(setns(space, CLONE_NEWNS) == 0); /* refused to processes that share their file system state */
        close(space);
    } else if (strcmp(mode, "crowd") == 0) {
        crowd();
    } else {
        return 2;
    }
    return 0;
}

int main(int argc, char** argv) {
    CHECK(argc > 1);
    if (strcmp(argv[1], "chroot_in_child") != 0) before_change();
    const int status = change(argv[1], argc > 2 ? argv[2] : "/");
    if (status != 0) return status;
    after_change();
    printf("%s done\n", argv[1]);
    if (strcmp(argv[1], "no_new_privs") == 0 && fflush(stdout) == 0) raise(SIGTERM);
    return 0;
}
