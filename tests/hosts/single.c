/* A host of one thread that looks whether it is: what zygotes, launchers and sandboxes check. `single look` prints what
 * it sees, `single exec` becomes /bin/true, `single work SECONDS` works, and as `single drop UID SECONDS` as another
 * user. */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

__attribute__((noinline)) void single_work(double seconds) {
    const clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
    while (clock() < end)
        for (int i = 0; i < 100000; ++i) sink += (unsigned long)i * i;
}

static int count_threads(void) {
    int threads = 0;
    DIR* const directory = opendir("/proc/self/task");
    for (const struct dirent* entry; (entry = readdir(directory)) != NULL;) threads += entry->d_name[0] != '.';
    closedir(directory);
    return threads;
}

static void look(void) {
    printf("threads: %d\n", count_threads());
    int status = 0;
    const int waited = waitpid(-1, &status, WNOHANG | __WALL);
    printf("children: %d %s\n", waited, strerrorname_np(errno));
    const pid_t child = fork();
    if (child == 0) _exit(unshare(CLONE_NEWUSER) == 0 || errno != EINVAL ? 7 : 8);
    printf("forked child: %s", waitpid(child, &status, 0) == child ? "waited for" : "lost");
    printf(", %d\n", WEXITSTATUS(status));
    const int unshared = unshare(CLONE_NEWUSER);
    printf("another user namespace: %s\n", unshared == 0 || errno != EINVAL ? "may be" : "refused");
}

int main(int count, char** words) {
    const char* const what = count > 1 ? words[1] : "look";
    single_work(0.2);
    if (strcmp(what, "look") == 0) look();
    if (strcmp(what, "drop") == 0 && setuid((uid_t)atoi(words[2])) != 0) return 77;
    puts("ready");
    fflush(stdout);
    if (strcmp(what, "exec") == 0) execl("/bin/sleep", "sleep", "1", (char*)NULL);
    if (strcmp(what, "work") == 0 || strcmp(what, "drop") == 0) single_work(atof(words[count - 1]));
    return 0;
}
