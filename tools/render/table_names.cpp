#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "export/folded_line.hpp"
#include "export/text.hpp"
#include "export/totals.hpp"
#include "render/short_name.hpp"
#include "tables.hpp"

namespace flameprobe {

std::string TableNames::text(const NamedProfile& profile, FunctionId function, std::size_t used) const {
    if (whole) return display_name(profile, function);
    const std::string name = folded_name(short_name(profile, function), profile.functions[function].kind);
    constexpr std::size_t least = 20;  // columns: a name is cut no further
    return width == 0 ? name : fit_name(name, std::max(least, width > used ? width - used : 0));
}

TableNames names_of(const Arguments& arguments) { return {.whole = arguments.long_names, .width = terminal_columns()}; }

std::size_t terminal_columns() {
    winsize size{};
    return isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace flameprobe
