// What the files of this library, each of which wraps one family of calls, need of one another.
#pragma once

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "capture/alloc/state.hpp"
#include "session/core_api.h"

namespace flameprobe {

// alternate_stack.cpp

/// Calls the host's handler of a signal that came in on a stack of ours with the frame where the kernel would have put
/// it without us, and never returns; returns if it is there. To be called by the handler that the kernel called.
void call_on_hosts_stack(void (*handler)(int, siginfo_t*, void*), int number, siginfo_t* info, void* context) noexcept;

/// Whether the calling thread has a stack of an engine's, which its forked child, where no engine knows it, gives back:
/// else the host would be told of it.
bool has_engines_stack() noexcept;
void give_back_engines_stack() noexcept;

/// From now on only stacks that exist are taken: in a filter no call of ours may be added to the host's.
void make_no_more_stacks() noexcept;

// core.cpp: this library itself needs nothing but libc, so that it cannot fail to load, and nothing that it is linked
// with can meet a symbol of the host.

/// The core, opened the first time; null if it cannot be (then a line on stderr has said why, once). Thread-safe, but
/// not async-signal-safe the first time.
const flameprobe_core* core();
/// Whether ThreadSanitizer is in the host, whose malloc has to know the threads that call it. False without a core.
bool knows_threads();
/// Held while the core, or a library of it, is opened, and by threads in fork: a child made meanwhile would find the
/// dynamic linker's tables half written, and could not use it.
void lock_core_opening();
/// Whether it was locked. Not if another thread opens a library for a tenth of a second: that one may itself be
/// waiting, for the lock that the dynamic linker holds while it runs a constructor that forks, and then writes nothing.
bool lock_core_opening_for_fork();
void unlock_core_opening();
void reset_core_opening_in_child();
/// The core if it has been opened. Async-signal-safe.
const flameprobe_core* core_if_loaded() noexcept;

/// Looks for libflameprobe-alloc.so. To be called at load, since dlsym takes a lock.
void find_alloc_table() noexcept;
/// What it exports; null where it is not loaded.
const alloc::Table* alloc_table() noexcept;

/// What this library and the core allocate in the host's threads does not count as the host's.
struct OwnAllocations : alloc::Exempted {
    OwnAllocations() noexcept : Exempted(alloc_table()) {}
};

// count.cpp

/// Fills in at most `most` counts, and gives how many. Threads may count meanwhile. Async-signal-safe.
size_t read_unit_counts(flameprobe_unit_count* counts, size_t most);

// dispositions.cpp

using FatalHandler = void (*)(int, siginfo_t*, void*);

/// Installs `handler` where the disposition is SIG_DFL; from then on the host is told SIG_DFL, and setting SIG_DFL
/// again brings the handler back.
void stand_in_for_default(int number, FatalHandler handler);

/// At load, and in a forked child: from now on the host's actions are those of the calling process.
void keep_dispositions_of_this_process() noexcept;
/// False in a child of vfork, and in others that libc does not know of: they may write to this process's memory, which
/// is not theirs to change. Where a filter may forbid to ask: true.
bool is_of_this_process() noexcept;

/// Restores SIG_DFL, for good: in a filter a handler of ours would make system calls that the filter kills for,
/// and the process would end by SIGSYS instead.
void stop_standing_in();

/// The library function behind ours. Async-signal-safe after the first call.
int real_sigaction(int number, const struct sigaction* action, struct sigaction* old);

// exit.cpp

/// To be called by a thread that ends the process. False while another one does so. Async-signal-safe.
bool begin_exit() noexcept;
/// The same, in the library's destructor: who finds nothing else to do in libc's exit waits for it.
void begin_destruction() noexcept;
void forget_exit_in_child() noexcept;

// fatal.cpp

/// Installs the fatal signals' handler; before the host's main.
void watch_fatal_signals();
/// In a forked child: forgets the thread of the parent that was ending the process.
void forget_ending_in_child();

// filters.cpp

/// The host is about to enter a filter of system calls with these words. Makes no system call that the host is not
/// allowed.
void before_filter(unsigned long operation, unsigned long flags, const void* program) noexcept;

/// In a forked child: forgets the thread of the parent that was entering a filter.
void forget_entering_in_child();

// go_code.cpp

/// Whether Go's linker made the module. Async-signal-safe.
bool is_go_code(uintptr_t address) noexcept;

// load.cpp

/// FLAMEPROBE_* as they were when the process began: some hosts overwrite their environment (nginx, postgres).
struct Environment {
    static constexpr size_t most = 32;  // more than are known; what stands beyond is neither used nor reported
    const char* lines[most];            // "NAME=VALUE", copies of ours
    size_t count;

    bool has(const char* line) const;
    bool has_name(const char* name) const;
};
/// Read at the first call, which is in the constructor.
const Environment& environment_at_load();

// threads.cpp

/// Counts the host's threads from now on. To be called once, before main, by its first thread.
void count_threads_from_here();
/// To be called in a forked child, whose only thread is the caller.
void forget_other_threads();
/// Whether the host has no thread but the caller, as far as they are counted. Async-signal-safe.
bool has_one_thread() noexcept;

// interrupted_malloc.cpp

/// Whether the caller is in a signal handler that interrupted libc while it held malloc's lock. Then libc's fork would
/// wait for that lock for ever, since with the collector's thread there are two: alone, with one, it takes none.
/// Async-signal-safe.
bool is_in_interrupted_malloc() noexcept;

// prctl.cpp

/// Where the environment has the run's mark, or null. To be told at load: later getenv(3) is not safe, since another
/// thread of the host may be in setenv(3).
void keep_mark(char* value) noexcept;

// requests.cpp

/// The passings::State.
void* passings_state() noexcept;
/// A filter of system calls is about to be entered: from here on passings make none.
void make_passings_quiet() noexcept;
/// The CPU's counter is about to fault.
void time_no_passings() noexcept;
void forget_passings_in_child() noexcept;

// signal_waits.cpp

/// Makes the engine give up this signal, if it samples with it. What it has sent to the calling thread does not come.
void yield_to_host(int number) noexcept;

/// As sigtimedwait, without what libc does beside the system call.
int sigtimedwait_by_number(const sigset_t* set, siginfo_t* info, const timespec* limit);

}  // namespace flameprobe
