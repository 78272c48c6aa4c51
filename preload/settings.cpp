#include "settings.hpp"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace flameprobe {
namespace {

constinit Settings settings{};
constinit bool read = false;

}  // namespace

const Settings& settings_at_load() {
    if (read) return settings;
    read = true;
    for (char** line = environ; line != nullptr && *line != nullptr && settings.count < Settings::most; ++line) {
        if (::strncmp(*line, "FLAMEPROBE_", 11) != 0) continue;
        if (const char* copy = ::strdup(*line)) settings.lines[settings.count++] = copy;
    }
    return settings;
}

bool Settings::has(const char* line) const {
    for (size_t at = 0; at < count; ++at) {
        if (::strcmp(lines[at], line) == 0) return true;
    }
    return false;
}

bool Settings::has_name(const char* name) const {
    const size_t length = ::strlen(name);
    for (size_t at = 0; at < count; ++at) {
        if (::strncmp(lines[at], name, length) == 0 && lines[at][length] == '=') return true;
    }
    return false;
}

// ld.so(8): entries are separated by spaces or colons, and a name may have a path. /etc/ld.so.preload counts as well,
// but says nothing that could be read here cheaply: a user of it sets FLAMEPROBE_START.
bool is_preloaded() {
    const char* list = ::getenv("LD_PRELOAD");
    return list != nullptr && ::strstr(list, "libflameprobe.so") != nullptr;
}

}  // namespace flameprobe
