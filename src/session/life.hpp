// The states of one process's collector, from load to the last file.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

namespace flameprobe {

class Life {
public:
    enum class State : std::uint8_t {
        none,       // no collector
        newborn,    // a forked child's first milliseconds: its collector has opened nothing
        begun,      // a thread of the host, which may still become a task
        thread,     // a thread of the host for good
        task,       // a process of its own, which shares the host's memory
        finishing,  // writes the last file
        gone,       // there will be no other one
    };
    struct Step {
        State from, to;
        std::string_view when;
    };
    /// All that there are; docs/architecture.md shows the same table.
    static constexpr std::array<Step, 14> steps = {{
        {State::none, State::newborn, "a process that is sampled forks: in the child"},
        {State::none, State::begun, "sampling is asked for, or its signal is waited for"},
        {State::newborn, State::begun,
         "the child has used half a period of CPU time, or a quarter of FLAMEPROBE_MIN_CPU"},
        {State::newborn, State::gone, "the child ends before that"},
        {State::newborn, State::none, "no thread can be created"},
        {State::begun, State::none, "no thread can be created, or it steps aside"},
        {State::begun, State::thread, "it cannot go on as a task, or sampling is broken"},
        {State::begun, State::task, "sampling begins, and can go on as a task"},
        {State::begun, State::finishing, "the host ends, or begins another profile"},
        {State::begun, State::gone, "there is no memory for its thread"},
        {State::thread, State::none, "it steps aside for a call that fails with several threads"},
        {State::thread, State::finishing, "as from begun, or a filter would kill for its calls"},
        {State::task, State::finishing, "as from begun, or exec has replaced the host's image"},
        {State::finishing, State::gone, "the results are written"},
    }};

    State now() const noexcept { return state_.load(std::memory_order_acquire); }
    bool is(State state) const noexcept { return now() == state; }
    /// Whether the end of the profile is under way or behind.
    bool ends() const noexcept { return now() >= State::finishing; }
    /// False if it is not in `from` now. Thread-safe and async-signal-safe: of two threads that take a step from one
    /// state, one does.
    template <State from, State to>
    bool step() noexcept {
        static_assert(is_step(from, to));
        State expected = from;
        return state_.compare_exchange_strong(expected, to, std::memory_order_acq_rel);
    }

private:
    static constexpr bool is_step(State from, State to) {
        return std::any_of(steps.begin(), steps.end(), [&](const Step& s) { return s.from == from && s.to == to; });
    }

    std::atomic<State> state_{State::none};
};

}  // namespace flameprobe
