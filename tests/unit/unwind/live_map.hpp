// A CodeMap of this very process, and reading its memory and a child's.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "base/registers.hpp"
#include "unwind/code_map.hpp"

namespace flameprobe::testing {

/// The executable mappings of /proc/self/maps.
void add_own_mappings(CodeMap& map);

/// A thread, stopped.
struct Snapshot {
    Registers registers;
    std::vector<std::byte> stack;  // from the stack pointer up
};

/// Up to `size` bytes at `address` of another process, fewer where the mapping ends.
std::vector<std::byte> read_process(pid_t process, std::uint64_t address, std::size_t size);

}  // namespace flameprobe::testing
