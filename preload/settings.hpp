// FLAMEPROBE_* as they were when the process began: some hosts overwrite their environment (nginx, postgres).
#pragma once

#include <stddef.h>

namespace flameprobe {

struct Settings {
    static constexpr size_t most = 32;  // more than are known; what stands beyond is neither used nor reported
    const char* lines[most];            // "NAME=VALUE", copies of ours
    size_t count;

    bool has(const char* line) const;
    bool has_name(const char* name) const;
};

/// Read at the first call, which is in the constructor.
const Settings& settings_at_load();
/// Whether LD_PRELOAD names this library, rather than the program being linked with it.
bool is_preloaded();

}  // namespace flameprobe
