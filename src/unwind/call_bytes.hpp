// Reading call and jump instructions; one file per CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/call_check.hpp"

namespace flameprobe {

/// The call that ends at `return_address`, its target as written there (a PLT stub is not followed).
CallSite read_call_site(std::uint64_t return_address, const CodeMap& map);
/// Follows PLT stubs and jump thunks from a call's target to the function itself, as far as their words can be read.
std::uint64_t follow_stubs(std::uint64_t target);

/// Whether `code`, copied from `address`, jumps to `target` as a tail call does: directly, through a stub, or through a
/// pointer in an object (virtual functions).
bool may_jump_to(std::span<const std::byte> code, std::uint64_t address, std::uint64_t target);

}  // namespace flameprobe
