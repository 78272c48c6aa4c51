// How much memory reading a profile may take: a small file can stand for much, by mistake or by intent.
#pragma once

#include <cstdint>
#include <string>

namespace flameprobe {

/// 4 GiB, and at most half of the machine's memory, and what this process's cgroups leave.
std::uint64_t default_memory_budget();
/// From now on allocations that go beyond it fail, as std::bad_alloc, rather than take what other programs need. Mapped
/// files do not count. Programs that this one starts have the same budget, so it is not for commands that run a host.
void set_memory_budget(std::uint64_t bytes);
/// What to say where memory ran out; names the budget, if one was set.
std::string memory_message();

}  // namespace flameprobe
