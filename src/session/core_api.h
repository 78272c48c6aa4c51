/* The table through which libflameprobe.so, which is loaded into the host and needs nothing but libc, calls
 * libflameprobe-core.so, which it opens with RTLD_LOCAL so that none of its libraries can meet a symbol of the host. */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What threads of the host ask of the collector. A new one has its bit here, its line in Collector::handle(), and
 * is asked for in preload/ by `core->ask(...)`. */
enum flameprobe_demand {
    request_nothing = 0, /* just an answer */
    request_start = 1,
    request_stop = 2,
    request_dump = 4,
    request_flush = 8, /* what was sampled up to now is in the file when it is answered */
    request_finish = 16,
    request_toggle = 32,
    request_secure = 64,        /* create the file now: the process is about to lose the right to */
    request_leave = 128,        /* end the thread; another will be launched */
    request_retire = 256,       /* finish, and give the memory back: another session follows */
    request_filter = 512,       /* a filter is about to be put on every thread: end if it would kill */
    request_yield = 1024,       /* the host takes the signal that the engine samples with: stop, and say so */
    request_credentials = 2048, /* the host's user may be another one: a collector that is no thread takes it too */
    request_replace = 4096,     /* the image is about to go: its profile is complete when it is answered. If the image
                                   stays, sampling goes on */
    request_room = 8192         /* finish, and say why: see make_room */
};

#define FLAMEPROBE_CORE_VERSION 24

/* When the collector's thread ends for a while: if the host has one thread; if besides it has other capabilities than
 * the caller; among any threads, of which one at a time may ask for it. */
enum flameprobe_aside { aside_if_alone, aside_if_unequal, aside_among_threads };

/* What the host has counted under one name; the text stays where it is. */
struct flameprobe_unit_count {
    const char* name;
    uint64_t amount;
};

/* What libflameprobe.so does for the core. */
struct flameprobe_services {
    /* Units of work that the host counts: fills in at most `most`, and gives how many; threads go on counting. */
    size_t (*read_unit_counts)(struct flameprobe_unit_count* counts, size_t most);
    /* What libflameprobe-alloc.so exports (capture/alloc/state.hpp); null where it is not loaded. */
    const void* allocations;
    /* sigaction(2) as the host sees it. */
    int (*sigaction)(int number, const struct sigaction* action, struct sigaction* old);
    /* pthread_create(3) as the host sees it, where the collector's thread has to be made by that; else null. */
    int (*create_thread)(pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*), void* argument);
    /* What passings of requests are written to (capture/passings.hpp). */
    void* passings;
};

struct flameprobe_core {
    uint32_t version;
    /* Why nothing of the core may run in this process, and nothing else of this table be called; null if it may. */
    const char* refusal;

    /* Once, before any other: reads the settings ("NAME=VALUE" lines) and starts sampling if they say so.
     * `start_by_default` is what counts where FLAMEPROBE_START is not set. Not async-signal-safe. */
    void (*load)(const char* const* settings, size_t count, int start_by_default);
    /* In a forked child, once fork is over for every library: samples the child into a profile of its own if its parent
     * was being sampled. Nothing of the parent's session is touched. */
    void (*after_fork)(void);

    /* An enum flameprobe_code; unless it is 0, a line in `message`. Thread-safe. `settings` as in load(), later lines
     * overriding earlier ones; the last `given` of them are the caller's own. If these ask for something else than what
     * there is, and nothing is being sampled, a new profile begins and the old one's results are written. */
    int (*start)(const char* const* settings, size_t count, size_t given, char* message, size_t size);
    int (*stop)(char* message, size_t size);
    int (*dump)(const char* path, char* message, size_t size);
    int (*is_running)(void);

    /* Sends one request that needs no arguments, such as request_flush, and returns when the collector has acted; at
     * once if there is no collector, and in another process (a vfork child). Async-signal-safe. */
    void (*ask)(enum flameprobe_demand request);
    /* A fatal signal: `info` and `context` as its handler got them. Records the last stack. Async-signal-safe. */
    void (*died)(int signal, const void* info, const void* context);
    /* When the host's last own code has run: ends sampling and writes the results; the later of two callers waits for
     * the first. Before that stops the host's interval timers, none of which may end it meanwhile, and closes its
     * connections, so that no peer waits; these only if something was sampled, and nothing of it in a filter. Does
     * nothing in another process than the one that loaded the core (a vfork child). Async-signal-safe, but messages are
     * written by `messages` afterwards. */
    void (*finish)(void);
    /* Writes pending messages to stderr. Not async-signal-safe. */
    void (*messages)(void);
    /* Whether the engine has a handler (capture/handler/handler.hpp), and what a new thread calls before its own work,
     * in every engine. Async-signal-safe. */
    int (*attaches_threads)(void);
    void (*attach_thread)(void);
    /* The calling thread, which began with `routine`, called from `caller`, is at its end: its CPU time counts also
     * where it was never sampled. */
    void (*thread_ended)(uintptr_t routine, uintptr_t caller);
    /* The host is about to set a handler for this signal: if it is the one in use, another is taken. 0: no signal
     * can be used any more. */
    void (*yield_signal)(int signal);
    /* Whether this address is a handler of ours, which the host must not be shown. */
    int (*is_own_handler)(uintptr_t handler);
    /* Whether the alternate signal stack that begins at this address is one that an engine gave to a thread. */
    int (*is_own_stack)(uintptr_t base);
    /* Whether an engine has sent the signal that this siginfo_t describes; and whether one samples with this number. */
    int (*is_own_signal)(const void* info);
    int (*signals_with)(int number);
    /* The caller takes orphans from now on (prctl(2): PR_SET_CHILD_SUBREAPER). Async-signal-safe. */
    void (*take_orphans)(void);
    /* The CPU's counter faults in the calling thread, and in those that it makes. */
    void (*keep_off_counter)(void);
    /* The calling thread may be about to enter a filter. */
    void (*expect_filter)(void);
    /* A filter is about to be entered (its program and flags). If it is for all threads and
     * would kill for the collector's system calls, the collector ends first and writes its results; if no signal
     * handler could return in it, an engine that needs one ends. Messages about that are written if the caller
     * `may_write` in the filters it has. To be called after expect_filter(), in the process that loaded the core. */
    void (*before_filter)(const void* program, unsigned long flags, int may_write);
    /* Whether the caller is the process that loaded the core. Makes a system call. */
    int (*is_this_process)(void);

    /* Whether `routine` is the start routine of the collector's thread. */
    int (*is_own_thread)(void* (*routine)(void*));
    /* Whether the calling thread is the last one but the collector, so that libc would call exit(0) now. */
    int (*left_alone)(void);
    /* Before a change of the user or group. `user`: who the process will be for good; (uid_t)-1: that is not known. */
    void (*becomes_user)(unsigned user);
    /* Ends the collector's thread until come_back(); it is gone when this returns. 0: there is none, or it does not
     * answer. */
    int (*step_aside)(enum flameprobe_aside when);
    void (*come_back)(void);
    /* A call of the host has failed for want of a process, or thread, or memory: ends the collector, which has some,
     * for good; its results are written. 0: there is none. Async-signal-safe. */
    int (*make_room)(void);
    /* mlockall(flags) has failed for the size of the address space: does it without what is ours. 0: it cannot. */
    int (*lock_host_memory)(int flags);

    /* Once, before load(). `services` stays where it is. */
    void (*use_services)(const struct flameprobe_services* services);
};

/* The only symbol that libflameprobe-core.so exports. To be called once, by the code that opened it. */
const struct flameprobe_core* flameprobe_core_table(void);

#ifdef __cplusplus
}
#endif
