#include "progress.hpp"

#include <unistd.h>

#include <cstdio>

#include "base/printed.hpp"
#include "base/work_steps.hpp"
#include "render/text.hpp"

namespace flameprobe {

using namespace std::chrono_literals;

// Work of less than half a second shows no progress.
Progress::Progress() : on_terminal_(isatty(STDERR_FILENO) == 1), next_(Clock::now() + 500ms) {}

void Progress::show(const std::string& what, std::size_t done, std::size_t all) {
    work_step_done();
    if (!on_terminal_ || Clock::now() < next_) return;
    next_ = Clock::now() + 100ms;
    shown_ = true;
    std::fprintf(stderr, "\r\x1b[K%s: %s of %s", clean_text(what).c_str(), count_text(done).c_str(),
                 count_text(all).c_str());
}

void Progress::clear() {
    if (shown_) std::fputs("\r\x1b[K", stderr);
    shown_ = false;
}

}  // namespace flameprobe
