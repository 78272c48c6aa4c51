// The terminal, by ncurses.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "top_view.hpp"

namespace flameprobe {

/// Takes over the terminal, and restores it at the end. One at a time, one thread.
class Screen {
public:
    /// An Error where standard input or output is no terminal, or one of unknown type.
    static Result<Screen> open();
    Screen(Screen&& other) noexcept : open_(std::exchange(other.open_, false)) {}
    Screen& operator=(Screen&&) = delete;
    ~Screen();

    std::size_t columns() const;
    std::size_t rows() const;
    /// The last row is `help`.
    void show(const std::vector<TopLine>& lines, const std::string& help);

    enum class Key { none, quit, up, down, page_up, page_down, order, window, pause, other };
    /// Waits for a key, at most this long; none also if the window changed its size, after which the caller has to
    /// show() again.
    Key wait(std::chrono::milliseconds most);

private:
    Screen() = default;
    bool open_ = true;
};

}  // namespace flameprobe
