#include "session/progress_line.hpp"

#include <unistd.h>

namespace flameprobe {

using namespace std::chrono_literals;

ProgressLine::ProgressLine(Descriptor terminal, std::chrono::milliseconds quiet)
    : terminal_(std::move(terminal)), next_(Clock::now() + quiet) {}

void ProgressLine::show(std::size_t done, std::size_t all) {
    if (!terminal_ || Clock::now() < next_) return;
    next_ = Clock::now() + 100ms;
    shown_ = true;
    write("\r\x1b[Kflameprobe: naming functions: " + std::to_string(done) + " of " + std::to_string(all));
}

void ProgressLine::clear() {
    if (shown_) write("\r\x1b[K");
    shown_ = false;
}

void ProgressLine::write(const std::string& text) {
    // A terminal that takes no more, as after ^S, is not waited for: its lines are lost.
    [[maybe_unused]] const ssize_t written = ::write(terminal_.get(), text.data(), text.size());
}

}  // namespace flameprobe
