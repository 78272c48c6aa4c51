// What would give names to code that a virtual machine makes or interprets.
#pragma once

#include <string>
#include <string_view>

#include "symbolize/named_profile.hpp"

namespace flameprobe {

/// What gives names to the code that a virtual machine makes or interprets, by the name of its program, as "node";
/// empty for others.
struct NamesFlag {
    std::string_view language, advice;
};
NamesFlag names_flag(std::string_view program);

/// Whether the program is one of those, or has one as a library.
bool may_lack_names(const NamedProfile& profile);

/// A sentence that names the language's flag, if more than a tenth of the time is in code of a virtual machine that has
/// no names; else empty.
std::string name_advice(const NamedProfile& profile);

}  // namespace flameprobe
