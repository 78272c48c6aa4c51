// How 'flameprobe run' and 'flameprobe attach' tell of the settings that they take.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "session/settings.hpp"

namespace flameprobe {

/// The page is for a person who waits for the end; the library writes what costs the host less.
inline constexpr std::string_view command_formats = "folded,html,svg";

inline std::string usage_line(char letter, const std::string& name, std::string_view argument, std::string_view help) {
    std::string line = letter != 0 ? std::string("  -") + letter + ", --" : "      --";
    line.append(name).append(" ").append(argument);
    line.resize(std::max<std::size_t>(line.size() + 2, 28), ' ');
    return line.append(help) + "\n";
}

/// A line for each setting of a group, or for those that attach takes; then `more` lines of the same kind.
inline std::string settings_usage(SettingGroup group, bool attach, const std::string& more = "") {
    constexpr std::string_view of_library = "default folded,svg";
    std::string text;
    switch (group) {
        case SettingGroup::sampled:
            text = "\nWhat is sampled\n";
            break;
        case SettingGroup::results:
            text = "\nResults\n";
            break;
        case SettingGroup::when:
            text = "\nWhen\n";
            break;
        case SettingGroup::how:
            text = "\nHow\n";
            break;
    }
    for (const Setting& setting : settings()) {
        if (setting.group != group || (attach && !setting.of_attach)) continue;
        std::string help(setting.help);
        if (const auto at = help.find(of_library); at != help.npos)
            help.replace(at, of_library.size(), "default " + std::string(command_formats));
        text += usage_line(setting.letter, setting.option(), setting.argument, help);
    }
    return text + more;
}

}  // namespace flameprobe
