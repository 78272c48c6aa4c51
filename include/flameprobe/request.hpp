// Requests: `FlameProbe::Request request{"checkout"};`, a Scope whose every passing is timed. A header of its own: a
// program that uses it needs nothing of FlameProbe at run time. Its requests are in its profile as soon as it is
// sampled.
#pragma once

#include <cstddef>

#include "flameprobe/request.h"
#include "flameprobe/scope.hpp"

namespace FlameProbe {

/// A request, from here to the end of the block, on this thread. All durations are counted by label, and how they are
/// spread is in the profile (docs/requests.md). Must be a local variable, as a Scope. Usable in any thread, at any
/// depth and in signal handlers; there not as the first one of a program's module. Without FlameProbe about as cheap
/// as a Scope; with it some 50 ns.
class [[nodiscard]] Request {
public:
    __attribute__((always_inline)) explicit Request(Label label) noexcept {
        flameprobe_request_enter(&record_, label.text());
    }
    __attribute__((always_inline)) ~Request() { flameprobe_request_leave(&record_); }

    /// It is counted among the label's errors.
    void failed() noexcept { flameprobe_request_failed(&record_); }

    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;
    static void* operator new(std::size_t) = delete;
    static void* operator new[](std::size_t) = delete;

private:
    flameprobe_request record_;
};

}  // namespace FlameProbe
