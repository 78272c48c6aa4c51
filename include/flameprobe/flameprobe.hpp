// FlameProbe in C++: scopes (no library needed), and starting, stopping and writing a profile from the program itself
// (link with `pkg-config --cflags --libs flameprobe`). Nothing here throws. Standard library only, C++17.
#pragma once

#include <cstdint>
#include <string>

#include "flameprobe/count.hpp"
#include "flameprobe/flameprobe.h"
#include "flameprobe/request.hpp"
#include "flameprobe/scope.hpp"
#include "flameprobe/scope_context.hpp"

namespace FlameProbe {

/// The fields of flameprobe_options (flameprobe.h), numbers as std::uint32_t and texts as std::string. What is left
/// empty or zero is as the environment's variable says, else its default.
struct Options {
#define FLAMEPROBE_FIELD_(name, variable) std::uint32_t name = 0;
    FLAMEPROBE_NUMBER_OPTIONS(FLAMEPROBE_FIELD_)
#undef FLAMEPROBE_FIELD_
#define FLAMEPROBE_FIELD_(name, variable) std::string name;
    FLAMEPROBE_TEXT_OPTIONS(FLAMEPROBE_FIELD_)
#undef FLAMEPROBE_FIELD_
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
    flameprobe_options all = FLAMEPROBE_OPTIONS_INIT;
#define FLAMEPROBE_FIELD_(name, variable) all.name = options.name;
    FLAMEPROBE_NUMBER_OPTIONS(FLAMEPROBE_FIELD_)
#undef FLAMEPROBE_FIELD_
#define FLAMEPROBE_FIELD_(name, variable) all.name = options.name.empty() ? nullptr : options.name.c_str();
    FLAMEPROBE_TEXT_OPTIONS(FLAMEPROBE_FIELD_)
#undef FLAMEPROBE_FIELD_
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
