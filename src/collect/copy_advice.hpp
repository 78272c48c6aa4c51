// What to say where many stacks went on beyond the bytes that are copied of them.
#pragma once

#include <string>

#include "profile/model.hpp"

namespace flameprobe {

/// One sentence with the setting that copies more, or nothing where few stacks were cut.
std::string copy_advice(const Summary& summary, const RunInfo& run);

}  // namespace flameprobe
