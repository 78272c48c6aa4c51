// What the environment says, before anything of ours but this library runs.
#pragma once

#include <stdint.h>

namespace flameprobe::alloc {

struct Wanted {
    bool on = true;              // FLAMEPROBE_EVENT has alloc or heap, and FLAMEPROBE_START is not 0
    bool tracks_frees = false;   // FLAMEPROBE_EVENT has heap
    uint64_t mean = 512 * 1024;  // FLAMEPROBE_ALLOC_BYTES
    uint32_t stack_bytes = 60 * 1024;
};

/// Not before the C library has begun, as a sanitizer does.
bool has_environment() noexcept;
Wanted read_environment() noexcept;

}  // namespace flameprobe::alloc
