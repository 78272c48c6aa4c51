// Code of linkers, libc and the kernel that is met in every program and whose unwind tables are missing or wrong.
#pragma once

#include <cstdint>

#include "unwind/unwind_rule.hpp"

namespace flameprobe {

/// If the bytes at `address`, for which no table has a rule, are such code: sets `rule`. Reads memory safely.
bool known_code_rule(std::uint64_t address, UnwindRule& rule);

/// Whether the bytes at `return_address` are where glibc's makecontext, or Boost's make_fcontext, lets a coroutine's
/// first function return to. The caller checks that no call stands before. Reads memory safely.
bool known_stack_start(std::uint64_t return_address);
/// Whether a trap stands there, which no call returns to. Reads memory safely.
bool is_trap(std::uint64_t address);

/// In a module that Go's linker made: sets a `rule` that ends the walk where the tables do not, or are wrong. They do
/// not say where a goroutine begins (runtime.goexit), nor the scheduler (mcall, on x86-64). They are wrong where the
/// runtime has left its caller's stack for another (asmcgocall, systemstack). Reads memory safely.
bool go_runtime_rule(std::uint64_t address, UnwindRule& rule);

/// Corrects a rule that comes from a table which is known to be wrong.
void mend_table_rule(UnwindRule& rule);

}  // namespace flameprobe
