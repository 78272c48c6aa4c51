// The functions that the core gives to libflameprobe.so. None may throw: their caller is C, in a host.
#include <signal.h>

#include <array>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "base/clock.hpp"
#include "base/own_threads.hpp"
#include "base/signals.hpp"
#include "base/system_call_names.hpp"
#include "capture/alloc/host_allocations.hpp"
#include "capture/handler/handler.hpp"
#include "collect/requests.hpp"
#include "collect/thread_registry.hpp"
#include "collect/usage.hpp"
#include "sandbox/host_restrictions.hpp"
#include "session/at_load.hpp"
#include "session/core_api.h"
#include "session/family.hpp"
#include "session/host_resources.hpp"
#include "session/session.hpp"
#include "session/settings.hpp"

namespace flameprobe {
namespace {

std::vector<std::string> copy(const char* const* settings, size_t count) {
    return settings == nullptr ? std::vector<std::string>{} : std::vector<std::string>(settings, settings + count);
}

/// Runs `action`, which gives an Outcome; an exception becomes a code and a line.
template <class Action>
int guarded(char* message, size_t size, Action action) noexcept {
    const auto tell = [&](int code, const char* text) {
        if (message != nullptr && size != 0) std::snprintf(message, size, "%s", text);
        return code;
    };
    try {
        const alloc::Exempt exempt;
        const Outcome outcome = action();
        return tell(outcome.code, outcome.message.c_str());
    } catch (const std::bad_alloc&) {
        return tell(FLAMEPROBE_NO_MEMORY, "there is no memory left");
    } catch (const std::exception& error) {
        return tell(FLAMEPROBE_REFUSED, error.what());
    }
}

void load(const char* const* settings, size_t count, int start_by_default) {
    guarded(nullptr, 0, [&] { return load_session(copy(settings, count), start_by_default != 0); });
}

void after_fork() { guarded(nullptr, 0, follow_fork); }

int start(const char* const* settings, size_t count, size_t given, char* message, size_t size) {
    return guarded(message, size, [&] { return start_session(copy(settings, count), given); });
}

int stop(char* message, size_t size) {
    return guarded(message, size, []() -> Outcome {
        Session* session = current_session();
        if (session == nullptr) return {FLAMEPROBE_NOT_RUNNING, "nothing is being sampled"};
        return session->stop();
    });
}

int dump(const char* path, char* message, size_t size) {
    return guarded(message, size, [&]() -> Outcome {
        Session* session = current_session();
        if (session == nullptr) return {FLAMEPROBE_NOT_RUNNING, "nothing has been sampled"};
        return session->dump(path == nullptr ? "" : path);
    });
}

/// Runs `action`, which may throw, if there is a session; gives what it gives, or false.
template <class Action>
bool with_session(Action action) noexcept {
    bool result = false;
    guarded(nullptr, 0, [&]() -> Outcome {
        if (Session* session = current_session()) result = action(*session);
        return {};
    });
    return result;
}

int is_running() {
    const Session* session = current_session();
    return session != nullptr && session->of_this_process() && session->sampling();
}

int is_this_process() {
    const Session* session = current_session();
    return session != nullptr && session->is_surely_of_this_process();
}

void died(int signal, const void* info, const void* context) {
    Session* session = current_session();
    if (session == nullptr || !session->of_this_process()) return;
    session->ask(request_flush);  // before anything that a corrupt process might not survive
    session->crash_record().write(signal, *static_cast<const siginfo_t*>(info), context);
}

void messages() {
    if (host_is_filtered) return;
    with_session([](Session& session) {
        if (session.of_this_process()) session.messages();
        return true;
    });
}

int attaches_threads() {
    const Session* session = current_session();
    return session != nullptr && !host_is_filtered && session->attaches_threads();
}

void yield_signal(int signal) {
    Session* session = current_session();
    const bool stop = signal == 0 ? attaches_threads() != 0 : !handler::yield_signal(signal, !host_is_filtered);
    if (stop && session != nullptr) session->yield_signal();
}

void expect_filter() {
    if (host_is_filtered) return;
    Session* session = current_session();
    if (session != nullptr) session->ask(request_secure);  // a child's engine may only just be starting
    host_is_filtered = true;
    if (session != nullptr) session->wake_collector();
    handler::expect_filter();
    alloc::expect_filter();
}

void before_filter(const void* program, unsigned long flags, int may_write) {
    with_session([&](Session& session) {
        session.before_filter(program, flags);
        if (may_write != 0) session.messages();
        return true;
    });
}

constinit const flameprobe_services* of_library = nullptr;

void use_services(const flameprobe_services* services) {
    of_library = services;
    host_sigaction = services->sigaction;
    if (services->create_thread != nullptr) create_thread = services->create_thread;
    alloc::use_table(static_cast<const alloc::Table*>(services->allocations));
    read_passings_of(static_cast<passings::State*>(services->passings));
    read_unit_counts_by({.read =
                             [] {
                                 std::array<flameprobe_unit_count, 256> found;
                                 UnitCounts counts;
                                 const size_t number = of_library->read_unit_counts(found.data(), found.size());
                                 for (size_t i = 0; i < number; ++i)  // the same name may come several times
                                     counts[found[i].name] += found[i].amount;
                                 return counts;
                             },
                         .any =
                             []() noexcept {
                                 flameprobe_unit_count first;
                                 return of_library->read_unit_counts(&first, 1) != 0;
                             }});
}

/// Initialises the statics of functions while the core is loaded, when no thread forks (preload/core.cpp). A child
/// could otherwise inherit one that another thread of its parent was initialising, and wait for that for ever.
void make_statics() noexcept {
    try {
        at_load();
        family();
        settings();
        kernel_clocks();
    } catch (const std::exception&) {  // no memory: at the first use again
    }
}

/// Empty if the core's code may run here. Before any of it does.
const std::string& why_not() {
    static const std::string* const found = [] {
        const long killed = first_killed_call();
        return new std::string(
            killed == 0 ? "" : filter_text::would_kill_for(system_call_name(static_cast<unsigned>(killed))));
    }();
    return *found;
}

constexpr flameprobe_core table = {
    .version = FLAMEPROBE_CORE_VERSION,
    .refusal = nullptr,
    .load = load,
    .after_fork = after_fork,
    .start = start,
    .stop = stop,
    .dump = dump,
    .is_running = is_running,
    .ask =
        [](flameprobe_demand request) {
            if (Session* session = current_session()) session->ask(request);
        },
    .died = died,
    .finish =
        [] {
            if (Session* session = current_session()) session->finish();
        },
    .messages = messages,
    .attaches_threads = attaches_threads,
    .attach_thread =
        [] {
            if (host_is_filtered) return;
            handler::attach_this_thread();
            if (Session* session = current_session()) session->thread_begins();
        },
    .thread_ended =
        [](uintptr_t routine, uintptr_t caller) {
            Session* session = current_session();
            if (session != nullptr && !host_is_filtered) session->thread_ended(routine, caller);
        },
    .yield_signal = yield_signal,
    .is_own_handler = [](uintptr_t address) -> int { return handler::is_ours(address); },
    .is_own_stack = [](uintptr_t base) -> int { return handler::gave_stack(base); },
    .is_own_signal = [](const void* info) -> int { return handler::has_sent(*static_cast<const siginfo_t*>(info)); },
    .signals_with = [](int number) -> int { return !host_is_filtered && handler::samples_with(number); },
    .take_orphans = [] { take_orphans(); },
    .keep_off_counter = keep_off_counter,
    .expect_filter = expect_filter,
    .before_filter = before_filter,
    .is_this_process = is_this_process,
    .is_own_thread = [](void* (*routine)(void*)) -> int { return Collector::is_start_routine(routine); },
    .left_alone = []() -> int { return with_session([](Session& session) { return session.left_alone(); }); },
    .becomes_user =
        [](unsigned user) {
            if (Session* session = current_session()) session->becomes_user(user);
        },
    .step_aside = [](flameprobe_aside when) -> int {
        return with_session([&](Session& session) { return session.step_aside(when); });
    },
    .come_back = [] { with_session([](Session& session) { return session.come_back().ok(); }); },
    .make_room = []() -> int {
        return !host_is_filtered && with_session([](Session& session) { return session.make_room(); });
    },
    .lock_host_memory = [](int flags) -> int {
        return !host_is_filtered && with_session([&](Session&) { return lock_host_memory(flags); });
    },
    .use_services = use_services,
};

}  // namespace
}  // namespace flameprobe

// What makes names readable, which the drawing program does. Defined here, it keeps libstdc++'s own from being linked
// in, which only its handler of uncaught exceptions calls.
extern "C" char* __cxa_demangle(const char*, char*, std::size_t*, int* status);
extern "C" char* __cxa_demangle(const char*, char*, std::size_t*, int* status) {
    if (status != nullptr) *status = -1;
    return nullptr;
}

extern "C" __attribute__((visibility("default"))) const flameprobe_core* flameprobe_core_table() {
    using namespace flameprobe;
    if (const std::string& why = why_not(); !why.empty()) {
        static constinit flameprobe_core none{};
        none.version = FLAMEPROBE_CORE_VERSION;
        none.refusal = why.c_str();
        return &none;
    }
    make_statics();
    return &table;
}
