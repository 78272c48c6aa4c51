#include "watch.hpp"

#include <poll.h>

#include <algorithm>

#include "base/clock.hpp"
#include "base/host_process.hpp"
#include "session/family.hpp"

namespace flameprobe {

namespace {

PathFacts facts_of(const std::string& program, const timespec& start) {
    return {program, static_cast<std::uint32_t>(host_process()), static_cast<std::uint64_t>(start.tv_sec), 0,
            family().directory};
}

bool wakes(const pollfd& one) { return one.revents != 0; }

}  // namespace

Watch::Watch(const AttachSettings& settings, Log& log, const std::string& program)
    : sampling_(settings.options, facts_of(program, settings.start), {.run_start = settings.start}, log, [] {}) {}

Result<void> Watch::begin() {
    if (!sampling_.open()) return Error{sampling_.why_not()};
    sampling_.start(std::nullopt);
    return sampling_.on() ? Result<void>() : Error{sampling_.why_not()};
}

Watch::End Watch::run(const Descriptor& end, const Descriptor& life) {
    std::uint64_t next_engine_look_ns = 0;
    for (;;) {
        sampling_.poll();
        if (!sampling_.on()) return End::broken;  // it has said why
        if (const auto why = wait_and_look(end, life, monotonic_ns() + sampling_.pause_ns())) return *why;
        if (sampling_.may_be_replaced()) return End::other_program;
        if (const std::uint64_t now = monotonic_ns(); now >= next_engine_look_ns) {
            sampling_.report_engine_note();
            next_engine_look_ns = now + ns_per_second;
        }
    }
}

// A look at tasks needs nothing of what is drained, which costs more.
std::optional<Watch::End> Watch::wait_and_look(const Descriptor& end, const Descriptor& life, std::uint64_t until_ns) {
    for (std::uint64_t now = monotonic_ns();; now = monotonic_ns()) {
        if (outside_event != nullptr) outside_event->look(now);
        std::uint64_t pause = until_ns - std::min(now, until_ns);
        if (outside_event != nullptr) pause = std::min(pause, outside_event->until_look_ns());
        const timespec time{static_cast<time_t>(pause / ns_per_second), static_cast<long>(pause % ns_per_second)};
        pollfd watched[] = {{end.get(), POLLIN, 0}, {life.get(), POLLIN, 0}};
        ::ppoll(watched, std::size(watched), &time, nullptr);
        if (wakes(watched[0])) return End::asked;
        if (wakes(watched[1])) return End::target_ended;
        if (monotonic_ns() >= until_ns) return std::nullopt;
    }
}

}  // namespace flameprobe
