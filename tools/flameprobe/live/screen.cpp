#include "screen.hpp"

#include <ncurses.h>
#include <poll.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>

namespace flameprobe {

namespace {

/// Whether the terminal is gone: it gives no key, and makes no one wait for one (poll(2): POLLHUP).
bool hung_up() {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    return ::poll(&input, 1, 0) == 1 && (input.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

}  // namespace

Result<Screen> Screen::open() {
    if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1)
        return Error{"standard input and output must be a terminal; for a table as text: flameprobe top --once PID"};
    std::setlocale(LC_CTYPE, "");
    if (newterm(nullptr, stdout, stdin) == nullptr) {
        const char* type = std::getenv("TERM");
        return Error{std::string("terminal type '") + (type != nullptr ? type : "") +
                     "' is not known here: set TERM, or print a table by --once"};
    }
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    curs_set(0);
    return Screen();
}

Screen::~Screen() {
    if (open_) endwin();
}

std::size_t Screen::columns() const { return static_cast<std::size_t>(std::max(getmaxx(stdscr), 1)); }
std::size_t Screen::rows() const { return static_cast<std::size_t>(std::max(getmaxy(stdscr), 1)); }

void Screen::show(const std::vector<TopLine>& lines, const std::string& help) {
    erase();
    const int last = getmaxy(stdscr) - 1;
    for (int row = 0; row < last && static_cast<std::size_t>(row) < lines.size(); ++row) {
        const TopLine& line = lines[static_cast<std::size_t>(row)];
        const auto look = line.kind == LineKind::title ? A_BOLD : line.kind == LineKind::heading ? A_REVERSE : A_NORMAL;
        attron(look);
        mvaddnstr(row, 0, line.text.c_str(), -1);
        if (line.kind == LineKind::heading) {
            for (int at = getcurx(stdscr); getcury(stdscr) == row && at < getmaxx(stdscr); ++at) mvaddch(row, at, ' ');
        }
        attroff(look);
    }
    if (last >= 0) {
        attron(A_DIM);
        mvaddnstr(last, 0, help.c_str(), std::max(getmaxx(stdscr) - 1, 0));
        attroff(A_DIM);
    }
    refresh();
}

Screen::Key Screen::wait(std::chrono::milliseconds most) {
    timeout(static_cast<int>(most.count()));
    switch (getch()) {
        case ERR:
            return hung_up() ? Key::quit : Key::none;
        case KEY_RESIZE:
            return Key::none;
        case 'q':
        case 'Q':
            return Key::quit;
        case KEY_UP:
            return Key::up;
        case KEY_DOWN:
            return Key::down;
        case KEY_PPAGE:
            return Key::page_up;
        case KEY_NPAGE:
            return Key::page_down;
        case 't':
        case 's':
            return Key::order;
        case 'w':
            return Key::window;
        case ' ':
        case 'p':
            return Key::pause;
        default:
            return Key::other;
    }
}

}  // namespace flameprobe
