// The table of settings, from which follow what the environment may hold, the options of `flameprobe run`, its usage,
// the message for a bad value, and the check of the man page. The C and C++ interfaces name theirs in flameprobe.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "session/options.hpp"

namespace flameprobe {

/// Under which heading the usage has a setting.
enum class SettingGroup : std::uint8_t { sampled, results, when, how };

struct Setting {
    std::string_view variable;  // FLAMEPROBE_FREQ
    char letter;                // of the short option, 0: none
    bool of_attach;             // it also makes sense for a process that runs already, and is looked at from outside
    SettingGroup group;
    std::string_view argument;  // what the usage calls the value
    std::string help;           // one line for the usage
    std::string accepted;       // completes "it takes ..."
    /// False, with `options` as they were, for a value that is not accepted.
    bool (*set)(std::string_view value, Options& options);

    /// The long option: FLAMEPROBE_DUMP_EVERY is dump-every.
    std::string option() const;
};

/// All of them, in the order of the documentation.
const std::vector<Setting>& settings();

}  // namespace flameprobe
