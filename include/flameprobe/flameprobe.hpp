// FlameProbe in C++: scopes (no library needed), and starting, stopping and writing a profile from the program itself
// (link with `pkg-config --cflags --libs flameprobe`). Nothing here throws. Standard library only, C++17.
#pragma once

#include <cstdint>
#include <string>

#include "flameprobe/flameprobe.h"
#include "flameprobe/scope.hpp"
#include "flameprobe/scope_context.hpp"

namespace FlameProbe {

/// The environment's variables as fields. What is left empty or zero is as the variable says, else its default.
struct Options {
    std::uint32_t frequency = 0;    ///< samples a second of a thread's CPU time, 1 to 20000
    std::uint32_t stack_bytes = 0;  ///< bytes of stack copied with each sample
    std::string output;             ///< path of the results without the ending; %e %p %t %n %%
    std::string format;             ///< folded, svg, html, pprof, speedscope, firefox, json, none; commas between
    std::string engine;             ///< auto, ring, signal, timer
    std::string unwind;             ///< auto, dwarf, fp
    std::string event;              ///< cpu-clock, task-clock, ...
    std::string kernel;             ///< auto, on, off
    std::string dump_every;         ///< 30s, 5m, ...
    std::string children;           ///< on, off
    std::string log;                ///< auto, quiet, stderr, or a file's path
    std::string signal;             ///< USR2, ...: it stops and starts sampling from now on
};

/// Success, or why not: a code to act on and a line for a person.
class [[nodiscard]] Result {
public:
    explicit operator bool() const noexcept { return error_.code == FLAMEPROBE_OK; }
    flameprobe_code code() const noexcept { return static_cast<flameprobe_code>(error_.code); }
    const char* message() const noexcept { return error_.message; }

private:
    friend Result start(const Options&) noexcept;
    friend Result stop() noexcept;
    friend Result dump(const char*) noexcept;
    flameprobe_error error_{sizeof(flameprobe_error), FLAMEPROBE_OK, {}};
};

/// Starts sampling every thread of the process; the threads that already run too. Blocks for a few milliseconds.
/// Thread-safe, may be called before main and after it, and again after stop(): other options than before begin a new
/// profile (see flameprobe_start).
inline Result start(const Options& options = {}) noexcept {
    const auto given = [](const std::string& text) { return text.empty() ? nullptr : text.c_str(); };
    flameprobe_options all = FLAMEPROBE_OPTIONS_INIT;
    all.frequency = options.frequency;
    all.stack_bytes = options.stack_bytes;
    all.output = given(options.output);
    all.format = given(options.format);
    all.engine = given(options.engine);
    all.unwind = given(options.unwind);
    all.event = given(options.event);
    all.kernel = given(options.kernel);
    all.dump_every = given(options.dump_every);
    all.children = given(options.children);
    all.log = given(options.log);
    all.signal = given(options.signal);
    Result result;
    result.error_.code = flameprobe_start(&all, &result.error_);
    return result;
}

/// Stops sampling. What was sampled is written at the end of the process, or by dump(). Thread-safe.
inline Result stop() noexcept {
    Result result;
    result.error_.code = flameprobe_stop(&result.error_);
    return result;
}

/// Writes what has been sampled so far and goes on sampling. `path` is without the ending and may hold the placeholders
/// of FLAMEPROBE_OUT; null: the path of the options. Thread-safe; blocks while it writes.
inline Result dump(const char* path = nullptr) noexcept {
    Result result;
    result.error_.code = flameprobe_dump(path, &result.error_);
    return result;
}
inline Result dump(const std::string& path) noexcept { return dump(path.c_str()); }

/// Whether sampling is on. Thread-safe and async-signal-safe.
inline bool is_running() noexcept { return flameprobe_is_running() != 0; }

}  // namespace FlameProbe
