// What a user at a terminal sees while the host's end takes a moment: one line, written over, gone at the end.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "base/descriptor.hpp"

namespace flameprobe {

class ProgressLine {
public:
    /// Nothing is shown before `quiet` is over, nor ever without a terminal (see Log::terminal).
    ProgressLine(Descriptor terminal, std::chrono::milliseconds quiet);
    ~ProgressLine() { clear(); }
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    void show(std::size_t done, std::size_t all);
    void clear();

private:
    using Clock = std::chrono::steady_clock;

    void write(const std::string& text);

    Descriptor terminal_;
    Clock::time_point next_;
    bool shown_ = false;
};

}  // namespace flameprobe
