// What this library and the core allocate in the host's threads does not count as the host's.
#pragma once

#include "capture/alloc/state.hpp"

namespace flameprobe {

/// To be called at load, since dlsym takes a lock.
void find_alloc_table() noexcept;
/// What libflameprobe-alloc.so exports; null where it is not loaded.
const alloc::Table* alloc_table() noexcept;

struct OwnAllocations : alloc::Exempted {
    OwnAllocations() noexcept : Exempted(alloc_table()) {}
};

}  // namespace flameprobe
