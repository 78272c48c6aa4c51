#pragma once

#include <string>

#include "flameprobe/flameprobe.h"

namespace flameprobe {

/// What a call of the public interface came to.
struct [[nodiscard]] Outcome {
    flameprobe_code code = FLAMEPROBE_OK;
    std::string message;  // one line, empty if all is well

    bool ok() const { return code == FLAMEPROBE_OK; }
};

}  // namespace flameprobe
