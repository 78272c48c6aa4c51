// Signals that end a recording rather than this program.
#pragma once

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/descriptor.hpp"

namespace flameprobe {

/// As long as it lives SIGINT, SIGTERM and SIGHUP make its descriptor readable.
class EndSignals {
public:
    EndSignals() {
        sigemptyset(&ends_);
        for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends_, signal);
        ::sigprocmask(SIG_BLOCK, &ends_, &before_);
        descriptor_ = Descriptor(::signalfd(-1, &ends_, SFD_CLOEXEC | SFD_NONBLOCK));
    }
    EndSignals(const EndSignals&) = delete;
    EndSignals& operator=(const EndSignals&) = delete;
    ~EndSignals() {
        signalfd_siginfo taken{};
        while (::read(descriptor_.get(), &taken, sizeof taken) > 0) {  // else they would end the program now
        }
        ::sigprocmask(SIG_SETMASK, &before_, nullptr);
    }
    int get() const { return descriptor_.get(); }

private:
    sigset_t ends_{}, before_{};
    Descriptor descriptor_;
};

}  // namespace flameprobe
