#pragma once

#include <chrono>
#include <string>

namespace flameprobe {

/// One line on stderr that is overwritten, and removed at the end. Only on a terminal, and only for long work.
class Progress {
public:
    Progress();
    ~Progress() { clear(); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void show(const std::string& what, std::size_t done, std::size_t all);
    void clear();

private:
    using Clock = std::chrono::steady_clock;

    bool on_terminal_;
    bool shown_ = false;
    Clock::time_point next_;
};

}  // namespace flameprobe
