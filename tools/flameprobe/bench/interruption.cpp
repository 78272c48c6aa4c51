#include "interruption.hpp"

#include <signal.h>

#include <initializer_list>

namespace flameprobe::bench {

namespace {

volatile sig_atomic_t came = 0;

void note(int signal) { came = signal; }

}  // namespace

void watch_for_interruption() {
    struct sigaction action {};
    action.sa_handler = note;  // without SA_RESTART
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

int interruption() noexcept { return came; }

}  // namespace flameprobe::bench
