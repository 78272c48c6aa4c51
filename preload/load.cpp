// The beginning and the end of a process.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parts.hpp"

namespace flameprobe {
namespace {

constinit Environment environment{};
constinit bool read = false;

/// Whether LD_PRELOAD names this library (ld.so(8)), rather than the program being linked with it. /etc/ld.so.preload
/// counts as well, but says nothing that could be read here cheaply: a user of it sets FLAMEPROBE_START.
bool is_preloaded() {
    const char* list = ::getenv("LD_PRELOAD");
    return list != nullptr && ::strstr(list, "libflameprobe.so") != nullptr;
}

void load_core_where_asked() {
    const Environment& settings = environment_at_load();
    const bool preloaded = is_preloaded();
    find_alloc_table();
    const OwnAllocations own;
    if (!preloaded && !settings.has("FLAMEPROBE_START=1") && !settings.has_name("FLAMEPROBE_SIGNAL")) return;
    const flameprobe_core* core = flameprobe::core();
    if (core == nullptr) return;
    watch_fatal_signals();
    count_threads_from_here();
    core->load(settings.lines, settings.count, preloaded ? 1 : 0);
}

// Early among constructors, so that those of the libraries are sampled too.
__attribute__((constructor(101))) void begin() {
    load_core_where_asked();
    keep_mark(::getenv("FLAMEPROBE_ROOT"));
}

// After the host's atexit functions and static destructors.
__attribute__((destructor(101))) void end() {
    const flameprobe_core* core = core_if_loaded();
    if (core == nullptr) return;
    const OwnAllocations own;
    begin_destruction();
    core->finish();
    core->messages();
}

}  // namespace

const Environment& environment_at_load() {
    if (read) return environment;
    read = true;
    for (char** line = environ; line != nullptr && *line != nullptr && environment.count < Environment::most; ++line) {
        if (::strncmp(*line, "FLAMEPROBE_", 11) != 0) continue;
        if (const char* copy = ::strdup(*line)) environment.lines[environment.count++] = copy;
    }
    return environment;
}

bool Environment::has(const char* line) const {
    for (size_t at = 0; at < count; ++at) {
        if (::strcmp(lines[at], line) == 0) return true;
    }
    return false;
}

bool Environment::has_name(const char* name) const {
    const size_t length = ::strlen(name);
    for (size_t at = 0; at < count; ++at) {
        if (::strncmp(lines[at], name, length) == 0 && lines[at][length] == '=') return true;
    }
    return false;
}

}  // namespace flameprobe
