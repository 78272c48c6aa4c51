#pragma once

#include <pthread.h>
#include <signal.h>

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

}  // namespace flameprobe
