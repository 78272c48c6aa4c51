// Writes the reference of settings as Markdown, from the table that reads them: settings-table >reference.md
#include <cstdio>
#include <string>

#include "session/settings.hpp"

namespace {

std::string cell(std::string_view text) {
    std::string out;
    for (const char c : text) out += c == '|' ? "\\|" : std::string(1, c);
    return out;
}

}  // namespace

int main() {
    std::string page =
        "# Settings\n\n"
        "Each is a variable in the environment, an option of `flameprobe run`, and, most of them, a field of "
        "`FlameProbe::Options`. A misspelt variable or a bad value gives one line on stderr, and the default is "
        "used.\n\n"
        "| variable | option | meaning | accepted |\n|---|---|---|---|\n";
    for (const flameprobe::Setting& setting : flameprobe::settings()) {
        std::string option = "--" + setting.option();
        if (setting.letter != 0) option = std::string("-") + setting.letter + ", " + option;
        page += "| `" + std::string(setting.variable) + "` | `" + option + " " + std::string(setting.argument) +
                "` | " + cell(setting.help) + " | " + cell(setting.accepted) + " |\n";
    }
    return std::fputs(page.c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? 1 : 0;
}
