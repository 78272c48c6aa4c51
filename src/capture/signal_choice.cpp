#include "capture/signal_choice.hpp"

#include <signal.h>
#include <sys/time.h>

#include <vector>

#include "base/proc.hpp"
#include "base/signals.hpp"
#include "capture/handler/handler.hpp"

namespace flameprobe {
namespace {

std::vector<int> candidates() {
    std::vector<int> signals = {SIGPROF, SIGVTALRM, SIGSTKFLT, SIGPWR};
    // The lowest ones are taken by libc and by convention counted from below by hosts.
    for (int signal = SIGRTMAX; signal > SIGRTMIN + 8; --signal) signals.push_back(signal);
    return signals;
}

bool sent_by_interval_timer(int signal) {
    const int which = signal == SIGPROF ? ITIMER_PROF : signal == SIGVTALRM ? ITIMER_VIRTUAL : -1;
    itimerval now{};
    if (which < 0 || ::getitimer(static_cast<__itimer_which>(which), &now) != 0) return false;
    return now.it_value.tv_sec != 0 || now.it_value.tv_usec != 0;
}

bool is_free(int signal) {
    return handler::is_ours(handler::installed(signal)) ||
           (is_default_for_host(signal) && !sent_by_interval_timer(signal));
}

// The text of /proc/self/task/TID/status of at most 64 threads, enough for a good choice; not of the caller, which is
// not sampled.
std::vector<std::string> thread_states() {
    constexpr std::size_t enough = 64;
    std::vector<std::string> states;
    for (const std::uint32_t tid : list_other_threads()) {
        if (states.size() == enough) break;
        auto text = read_small_file(("/proc/self/task/" + std::to_string(tid) + "/status").c_str());
        if (text) states.push_back(std::move(*text));
    }
    return states;
}

}  // namespace

bool blocks_signal(const std::string& status, int signal) {
    return (status_number(status, "SigBlk", 16).value_or(0) >> (signal - 1) & 1) != 0;
}

Result<int> choose_signal() {
    const auto states = thread_states();
    int best = 0;
    std::size_t fewest = ~std::size_t{0};
    for (const int signal : candidates()) {
        if (!is_free(signal)) continue;
        std::size_t blocked = 0;
        for (const auto& state : states) blocked += blocks_signal(state, signal) ? 1 : 0;
        if (blocked >= fewest) continue;
        best = signal;
        fewest = blocked;
        if (fewest == 0) break;
    }
    if (best != 0) return best;
    return Error{"the program uses every signal that could carry samples: FLAMEPROBE_ENGINE=ring needs none"};
}

Result<int> take_signal(int chosen) {
    const auto signal = chosen != 0 ? Result<int>(chosen) : choose_signal();
    if (!signal) return signal.error();
    if (const int error = handler::install(*signal); error != 0) {
        return Error{"no handler for signal " + std::to_string(*signal) + ": " + error_text(error)};
    }
    return *signal;
}

bool is_default_for_host(int signal) {
    struct sigaction now {};
    return host_sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_DFL;
}

// Where a filter forbids to ask, the handler is taken to be still there.
bool holds_signal(int signal) {
    const std::uintptr_t handler = handler::installed(signal);
    return handler::is_ours(handler) || handler == handler::not_told;
}

}  // namespace flameprobe
