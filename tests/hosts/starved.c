/* A child on a busy machine: FlameProbe's thread in it gets no CPU time until the child ends. (Its parent stops that
 * thread, and lets it go when the child sleeps in its exit, or has ended.) */
#include <dirent.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "host.h"

/* A thread of the process beside its first one, or 0. */
static pid_t other_thread(pid_t process) {
    char path[64];
    pid_t found = 0;
    snprintf(path, sizeof path, "/proc/%d/task", process);
    DIR* tasks = opendir(path);
    CHECK(tasks);
    for (struct dirent* entry; (entry = readdir(tasks));) {
        const pid_t thread = atoi(entry->d_name);
        if (thread != 0 && thread != process) found = thread;
    }
    closedir(tasks);
    return found;
}

/* Of the first thread (proc_pid_stat(5)). */
static char state_of(pid_t process) {
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", process, process);
    const int fd = open(path, O_RDONLY);
    CHECK(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
    close(fd);
    const char* end_of_name = strrchr(text, ')');
    CHECK(end_of_name);
    return end_of_name[2];
}

int main(void) {
    int to_child[2], to_parent[2], status;
    char byte = 'w';
    CHECK(pipe(to_child) == 0 && pipe(to_parent) == 0);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(write(to_parent[1], &byte, 1) == 1 && read(to_child[0], &byte, 1) == 1);
        work_ms(60);
        CHECK(write(to_parent[1], &byte, 1) == 1);
        exit(0);
    }
    CHECK(read(to_parent[0], &byte, 1) == 1);
    const pid_t stopped = other_thread(child);
    if (stopped != 0) {
        CHECK(ptrace(PTRACE_SEIZE, stopped, 0, 0) == 0 && ptrace(PTRACE_INTERRUPT, stopped, 0, 0) == 0);
        CHECK(waitpid(stopped, &status, __WALL) == stopped && WIFSTOPPED(status));
    }
    CHECK(write(to_child[1], &byte, 1) == 1 && read(to_parent[0], &byte, 1) == 1);
    if (stopped != 0) {
        for (char state = 'R'; state == 'R' || state == 'D'; state = state_of(child)) usleep(1000);
        ptrace(PTRACE_DETACH, stopped, 0, 0); /* fails if the thread has ended with its process */
    }
    for (pid_t ended = 0; ended != child;) CHECK((ended = waitpid(-1, &status, __WALL)) > 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    puts("the child has worked");
    return 0;
}
