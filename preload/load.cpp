// The beginning and the end of a process.

#include "core.hpp"
#include "own_allocations.hpp"
#include "parts.hpp"
#include "settings.hpp"

namespace flameprobe {
namespace {

// Early among constructors, so that those of the libraries are sampled too.
__attribute__((constructor(101))) void begin() {
    const Settings& settings = settings_at_load();
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

// After the host's atexit functions and static destructors.
__attribute__((destructor(101))) void end() {
    const flameprobe_core* core = core_if_loaded();
    if (core == nullptr) return;
    const OwnAllocations own;
    begin_destruction();
    core->release_host_resources();
    core->finish();
    core->messages();
}

}  // namespace
}  // namespace flameprobe
