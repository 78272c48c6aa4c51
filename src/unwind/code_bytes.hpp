// What can be told from the bytes of the code itself.
#pragma once

#include <cstdint>
#include <optional>

#include "unwind/unwind_rule.hpp"

namespace flameprobe {

/// Where the instruction at `address` stands in the making of a frame record. Reads this process's memory safely.
RecordState record_state(std::uint64_t address);
/// How far above the stack pointer of a thread at `address` that of its caller is, as far as the code tells, where
/// calls leave the return address in a register and it is still there: in a prologue, or in a function that never saves
/// it. 0 where it does not tell. Reads memory safely.
std::int32_t frame_before_record(std::uint64_t address);
/// Whether `address` comes right after a `syscall` instruction: there a thread stands that is in the kernel.
bool after_syscall(std::uint64_t address);
/// The number of the system call that a thread at `address` made, or makes again from there, where the code before it
/// says so: a constant that nothing changes on the way to the instruction, as in libc's wrappers.
std::optional<unsigned> system_call_number(std::uint64_t address);

/// How far above the stack pointer, once the prologue is over, the frame pointer of the function lies that begins
/// there. Nothing where it sets up no frame record. A reading of bytes, not of instructions: to be confirmed by what it
/// leads to.
std::optional<std::uint64_t> frame_pointer_above_sp(std::uint64_t function_start);

/// Whether the code from `address` on leads straight to its function's return, by nothing but pushes, pops, calls and
/// changes of the stack pointer by a constant, or is the prologue of a method of HotSpot's that calls nothing: then
/// `rule` gets the rule for it. A call may still not come back, so what the rule leads to must be looked at.
bool epilogue_rule(std::uint64_t address, UnwindRule& rule);

/// The last address in [from, to) where a function seems to set up a frame record (`push %rbp`, then `mov %rsp, %rbp`
/// or, as .NET does, `lea N(%rsp), %rbp`); 0 if there is none.
std::uint64_t last_record_set_up(std::uint64_t from, std::uint64_t to);

}  // namespace flameprobe
