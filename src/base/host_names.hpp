// Names that the host gives by address, each known by the slot that it was given at its first use. No lock; a name is
// never forgotten. Async-signal-safe.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <atomic>

namespace flameprobe {

/// `most`: how many slots there are, 256 at most; the last one is for all names beyond.
template <unsigned most>
struct Names {
    static constexpr unsigned beyond = most - 1;
    static constexpr size_t most_bytes = 64;
    static constexpr const char* too_many = "(too many names)";

    std::atomic<const char*> address[most];
    std::atomic<bool> complete[most];  // the text may be read
    char text[most][most_bytes];

    /// The slot of a name that was met before; another slot's name is there where it was not.
    static unsigned likely_slot(const char* name) {
        return static_cast<unsigned>((reinterpret_cast<uintptr_t>(name) * 0x9e3779b97f4a7c15u) >> 56) % most;
    }
    unsigned slot(const char* name) {
        const unsigned likely = likely_slot(name);
        return address[likely].load(std::memory_order_relaxed) == name ? likely : claim(name);
    }
    /// Claims a slot for the name, or finds the one that another thread, or a signal handler, has claimed.
    unsigned claim(const char* name) {
        unsigned slot = likely_slot(name);
        for (unsigned tries = 0; tries < most; ++tries, slot = (slot + 1) % most) {
            if (slot == beyond) continue;
            const char* known = nullptr;
            if (address[slot].compare_exchange_strong(known, name)) {
                for (size_t at = 0; at + 1 < most_bytes && name[at] != '\0'; ++at) text[slot][at] = name[at];
                complete[slot].store(true, std::memory_order_release);
                return slot;
            }
            if (known == name) return slot;
        }
        return beyond;
    }
    /// Null: no such name is complete.
    const char* name_of(unsigned slot) const {
        if (slot == beyond) return too_many;
        return complete[slot].load(std::memory_order_acquire) ? text[slot] : nullptr;
    }
};

}  // namespace flameprobe
