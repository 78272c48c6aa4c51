// filtered kill|allow NAME... -- VARIABLE=VALUE... PROGRAM ARGUMENT...: becomes the program, in a filter of system
// calls that kills the process for these, or for all others: what systemd's SystemCallFilter= makes (seccomp(2), by
// libseccomp, of which no header is needed).
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void* library;

static void* function(const char* name) {
    void* const found = library == NULL ? NULL : dlsym(library, name);
    if (found == NULL) {
        fprintf(stderr, "filtered: libseccomp.so.2 has no %s\n", name);
        exit(125);
    }
    return found;
}

static void enter(int kills, char** names, int count) {
    const uint32_t kill_process = 0x80000000, allow = 0x7fff0000;
    library = dlopen("libseccomp.so.2", RTLD_NOW);
    void* (*init)(uint32_t);
    int (*number_of)(const char*);
    int (*add)(void*, uint32_t, int, unsigned, ...);
    int (*load)(void*);
    *(void**)&init = function("seccomp_init");
    *(void**)&number_of = function("seccomp_syscall_resolve_name");
    *(void**)&add = function("seccomp_rule_add");
    *(void**)&load = function("seccomp_load");
    void* const filter = init(kills ? allow : kill_process);
    for (int i = 0; i < count; ++i) {
        const int number = number_of(names[i]);
        if (number >= 0 && add(filter, kills ? kill_process : allow, number, 0) != 0) {
            fprintf(stderr, "filtered: no rule for %s\n", names[i]);
            exit(125);
        }
    }
    const int error = load(filter);
    if (error != 0) {
        fprintf(stderr, "filtered: the filter is refused: %s\n", strerror(-error));
        exit(125);
    }
}

int main(int argc, char** argv) {
    int at = 2;
    while (at < argc && strcmp(argv[at], "--") != 0) ++at;
    if (at + 1 >= argc) return 125;
    int program = at + 1;
    for (; program < argc && strchr(argv[program], '=') != NULL; ++program) putenv(argv[program]);
    enter(strcmp(argv[1], "kill") == 0, argv + 2, at - 2);
    execv(argv[program], argv + program);
    perror(argv[program]);
    return 125;
}
