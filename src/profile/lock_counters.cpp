#include "profile/lock_counters.hpp"

#include <cinttypes>
#include <cstdio>

namespace flameprobe {

std::string lock_address(std::uint64_t address) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%" PRIx64, address);
    return text;
}

void set_lock(Counters& counters, const std::string& lock, std::uint64_t waits, std::uint64_t longest_ns) {
    if (waits != 0) counters[lock_counter::of(lock, lock_counter::waits)] = waits;
    if (longest_ns != 0) counters[lock_counter::of(lock, lock_counter::longest)] = longest_ns;
}

}  // namespace flameprobe
