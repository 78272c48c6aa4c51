/* FlameProbe in C: scopes, and starting, stopping and writing a profile from the program itself.
 *
 * flameprobe_scope_enter/leave, flameprobe_request_enter/leave, flameprobe_count and flameprobe_intern (scope.h,
 * request.h, count.h, label.h) are inline and need no library. Everything declared below lives in libflameprobe.so:
 * link with `pkg-config --cflags --libs flameprobe`. All functions are thread-safe, may be called before main and after
 * it, and none throws; none is async-signal-safe unless it says so. */
#ifndef FLAMEPROBE_FLAMEPROBE_H
#define FLAMEPROBE_FLAMEPROBE_H

#include <stddef.h>
#include <stdint.h>

#include "flameprobe/count.h"
#include "flameprobe/label.h"
#include "flameprobe/request.h"
#include "flameprobe/scope.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The result of a call. New codes may be added; treat unknown ones as failures. */
enum flameprobe_code {
    FLAMEPROBE_OK = 0,
    FLAMEPROBE_BAD_OPTION = 1,  /* an option's value is not allowed; nothing was started */
    FLAMEPROBE_REFUSED = 2,     /* no engine may sample here (permissions, kernel, container) */
    FLAMEPROBE_RUNNING = 3,     /* start: sampling is on already */
    FLAMEPROBE_NOT_RUNNING = 4, /* stop, dump: nothing was ever started */
    FLAMEPROBE_OUTPUT = 5,      /* a result could not be written */
    FLAMEPROBE_NO_MEMORY = 6,
    FLAMEPROBE_UNAVAILABLE = 7 /* the library is there but its core could not be loaded */
};

/** One line for a person: what, where, what to do. Initialise with FLAMEPROBE_ERROR_INIT before a call: the library
 *  fills no more than `size` says. */
struct flameprobe_error {
    size_t size;
    int32_t code; /* enum flameprobe_code */
    char message[500];
};

#ifdef __cplusplus
#define FLAMEPROBE_ERROR_INIT                              \
    {                                                      \
        sizeof(struct flameprobe_error), FLAMEPROBE_OK, {} \
    }
#else
#define FLAMEPROBE_ERROR_INIT \
    { .size = sizeof(struct flameprobe_error), .code = FLAMEPROBE_OK, .message = "" }
#endif

/** Most of the environment's variables as fields: FIELD(name, VARIABLE) for FLAMEPROBE_VARIABLE (see flameprobe(1)).
 *  A new field, of a number too, is added at the end of the texts: programs are compiled with these offsets. */
#define FLAMEPROBE_NUMBER_OPTIONS(FIELD)                                                \
    FIELD(frequency, FREQ)    /* samples a second of a thread's CPU time, 1 to 20000 */ \
    FIELD(stack_bytes, STACK) /* bytes of stack copied with each sample */
#define FLAMEPROBE_TEXT_OPTIONS(FIELD)                                                      \
    FIELD(output, OUT)            /* path of the results without the ending */              \
    FIELD(format, FORMAT)         /* folded, svg, ...; commas between */                    \
    FIELD(engine, ENGINE)         /* auto, ring, signal, timer */                           \
    FIELD(unwind, UNWIND)         /* auto, dwarf, fp */                                     \
    FIELD(event, EVENT)           /* cpu, offcpu, wall, ...; commas between */              \
    FIELD(kernel, KERNEL)         /* auto, on, off */                                       \
    FIELD(dump_every, DUMP_EVERY) /* 30s, 5m, ... */                                        \
    FIELD(children, CHILDREN)     /* on, off, separate */                                   \
    FIELD(log, LOG)               /* auto, quiet, stderr, or a file's path */               \
    FIELD(signal, SIGNAL)         /* USR2, ...: it stops and starts sampling from now on */ \
    FIELD(max_size, MAX_SIZE)     /* of a profile on disk: 64M, 2G */                       \
    FIELD(debug_dir, DEBUG_DIR)   /* directories of separate debug files, with : between them */

/** Zero and null mean "as the variable says, else its default". Always initialise with FLAMEPROBE_OPTIONS_INIT: `size`
 *  tells the library which fields the caller knows. */
struct flameprobe_options {
    size_t size;
#define FLAMEPROBE_FIELD_(name, variable) uint32_t name;
    FLAMEPROBE_NUMBER_OPTIONS(FLAMEPROBE_FIELD_)
#undef FLAMEPROBE_FIELD_
#define FLAMEPROBE_FIELD_(name, variable) const char* name;
    FLAMEPROBE_TEXT_OPTIONS(FLAMEPROBE_FIELD_)
#undef FLAMEPROBE_FIELD_
};
#ifdef __cplusplus
#define FLAMEPROBE_ZERO_(name, variable) 0,
#define FLAMEPROBE_OPTIONS_INIT                                                                   \
    {                                                                                             \
        sizeof(struct flameprobe_options),                                                        \
            FLAMEPROBE_NUMBER_OPTIONS(FLAMEPROBE_ZERO_) FLAMEPROBE_TEXT_OPTIONS(FLAMEPROBE_ZERO_) \
    }
#else
#define FLAMEPROBE_OPTIONS_INIT \
    { .size = sizeof(struct flameprobe_options) }
#endif

/** Starts sampling every thread of the process. `options` and `error` may be null. Gives the code. Blocks until
 * sampling is on: a few milliseconds. May be called again after a stop: without options, or with those that the profile
 * was begun with, it goes on where it stopped. With others a new profile begins. The results of the one before are
 * written first, which takes as long as at the end of a process. Where both have one path, the new one gets a number
 * (".2"). While sampling is on it is FLAMEPROBE_RUNNING, whatever the options. */
int flameprobe_start(const struct flameprobe_options* options, struct flameprobe_error* error);
/** Stops sampling; what was sampled is kept and written at the end of the process, or by flameprobe_dump. */
int flameprobe_stop(struct flameprobe_error* error);
/** Writes what has been sampled so far, in the formats chosen. `path` is without the ending and may hold the
 *  placeholders of FLAMEPROBE_OUT; null: the path of the options. Sampling goes on. Blocks while it writes. */
int flameprobe_dump(const char* path, struct flameprobe_error* error);
/** 1 while sampling is on, else 0. Async-signal-safe. */
int flameprobe_is_running(void);
/** The library's version, such as "0.1.0". Async-signal-safe. */
const char* flameprobe_version(void);

/* For languages without this header's inline functions (Rust, Python's ctypes, ...). */

/** As flameprobe_count, as a call. `name` must be valid for ever, as that of flameprobe_label is. */
void flameprobe_count_units(const char* name, uint64_t amount);

/** Begins the timing of a request: a reading to be given to flameprobe_passing_end; 0: it is not timed. The scope is
 * the caller's: flameprobe_scope_open. Async-signal-safe. */
uint64_t flameprobe_passing_begin(void);
/** Ends it, on the same thread. `label` must be valid for ever, as that of flameprobe_label is. Nothing happens if
 *  `begin` is 0. Async-signal-safe. */
void flameprobe_passing_end(const char* label, uint64_t begin, int failed);

/** As flameprobe_scope_enter, as a call. The record must be in the frame of the function that calls this, and must not
 * be moved until it is closed. Async-signal-safe. */
void flameprobe_scope_open(struct flameprobe_scope* scope, const char* label);
/** As flameprobe_scope_leave. Async-signal-safe. */
void flameprobe_scope_close(struct flameprobe_scope* scope);
/** Calls `body(argument)` inside a scope: for languages that cannot keep a record in their own stack frame. */
void flameprobe_scope_call(const char* label, void (*body)(void* argument), void* argument);
/** As flameprobe_intern, for zero-terminated text. */
const char* flameprobe_label(const char* text);
/** As flameprobe_intern_pair. */
const char* flameprobe_label_pair(const char* key, const char* value);

#ifdef __cplusplus
}
#endif

#endif
