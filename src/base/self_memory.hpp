// Reading the host's memory, usually our own, where nothing guarantees that it is still mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace flameprobe {

/// Copies from `address`; gives the number of bytes copied from the front, 0 if nothing is mapped there. A plain
/// dereference could fault, because a concurrent dlclose may unmap any library at any moment; process_vm_readv gives
/// EFAULT instead, and reads execute-only and PROT_NONE neighbours no further than it may. Of a process that is watched
/// (base/host_process.hpp) it reads that one's. Signal-safe.
std::size_t read_self(std::uint64_t address, std::span<std::byte> out) noexcept;

/// Opens, in the calling thread's descriptor table, what read_self needs where a filter comes to refuse
/// everything but read and write. The collector calls it when it begins; without it such reads give 0.
void prepare_read_self() noexcept;

}  // namespace flameprobe
