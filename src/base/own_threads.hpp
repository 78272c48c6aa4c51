// What the threads that we start in a host need: no signals, and storage of their own.
//
// A thread gets its thread-local storage of a library with the first access to it, and where there is no memory for it
// then, glibc ends the process (dl-tls.c, status 127). libstdc++, for one, first accesses its own to throw that there
// is no memory. All libraries of ours are linked into the core (preload/meson.build), so there is one such storage.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <cstdint>

namespace flameprobe {

/// All signals blocked while it lives: a thread made meanwhile inherits that and never takes one of the host's signals.
class AllSignalsBlocked {
public:
    AllSignalsBlocked() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~AllSignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    AllSignalsBlocked(const AllSignalsBlocked&) = delete;

private:
    sigset_t before_;
};

/// A stack of 1 MiB: a thread's usual one is as large as the host's limit (RLIMIT_STACK) or the host
/// (pthread_setattr_default_np(3)) says.
class OwnThreadAttributes {
public:
    /// `detached`: where pthread_detach would not be what the host has in its place either.
    explicit OwnThreadAttributes(bool detached = false) {
        ::pthread_attr_init(&attributes_);
        if (detached) ::pthread_attr_setdetachstate(&attributes_, PTHREAD_CREATE_DETACHED);
        ::pthread_attr_setstacksize(&attributes_, 1 << 20);
    }
    ~OwnThreadAttributes() { ::pthread_attr_destroy(&attributes_); }
    OwnThreadAttributes(const OwnThreadAttributes&) = delete;
    OwnThreadAttributes& operator=(const OwnThreadAttributes&) = delete;

    const pthread_attr_t* get() const { return &attributes_; }

private:
    pthread_attr_t attributes_;
};

/// What makes such a thread: libc's pthread_create, or what the host has in its place.
using CreateThread = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
inline constinit CreateThread* create_thread = ::pthread_create;

/// Gives the calling thread its storage of this library. False if there is no memory for it: the thread must end
/// without an exception, which would need that storage. Not for signal handlers; allocates.
[[nodiscard]] bool allocate_thread_storage();
/// An address in the heap from which libc served the last thread that called that; 0 if none has.
std::uintptr_t own_heap();

}  // namespace flameprobe
