// What the bytes of the code itself show; src/arch has it for each CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "unwind/call_check.hpp"
#include "unwind/unwind_rule.hpp"

namespace flameprobe {

/// How much of its frame record a function has made when execution stands at `address`. Reads this process's memory
/// safely.
RecordState record_state(std::uint64_t address);
/// For CPUs whose calls leave the return address in a register: bytes from the stack pointer of a thread at `address`
/// up to its caller's. 0 unless the code shows that the return address is still in the register: in a prologue, or in a
/// function that never saves it. Reads memory safely.
std::int32_t frame_before_record(std::uint64_t address);
/// Whether `address` comes right after a `syscall` instruction, where a thread in the kernel stands.
bool after_syscall(std::uint64_t address);
/// The number of the system call that a thread at `address` made, or makes again from there, where the code before it
/// says so: a constant that nothing changes on the way to the instruction, as in libc's wrappers.
std::optional<unsigned> system_call_number(std::uint64_t address);
/// Whether the code before `address` takes that number from its caller: since glibc 2.41 one function makes each call
/// at which a thread can be cancelled (__syscall_cancel).
bool takes_call_number(std::uint64_t address);
/// The number that a caller of it gives, which goes on at `return_address`: a constant, as in libc's wrappers.
std::optional<unsigned> given_call_number(std::uint64_t return_address);

/// Bytes by which the frame pointer lies above the stack pointer once the function's prologue is over; nullopt if it
/// sets up no frame record. Found by comparing bytes, not by decoding instructions: the stack must confirm it.
std::optional<std::uint64_t> frame_pointer_above_sp(std::uint64_t function_start);

/// Whether the code from `address` on leads straight to its function's return, by nothing but pushes, pops, calls and
/// changes of the stack pointer by a constant, or is the prologue of a method of HotSpot's that calls nothing: then
/// sets `rule`. A call on the way may not return, so the caller to which the rule leads must be checked. Where there is
/// no call, moves may be on the way, and a jump to what a register has: so ends a switch of coroutines.
bool epilogue_rule(std::uint64_t address, UnwindRule& rule);

/// Whether the last function that begins in [from, address) pushes registers and takes stack once, by a constant, as a
/// compiler at run time that keeps no frame pointer makes it (sljit, and so PCRE2): then sets `rule`. Nothing shows
/// that the function still goes on at `address`, so the caller to which the rule leads must be checked.
bool fixed_frame_rule(std::uint64_t from, std::uint64_t address, UnwindRule& rule);

/// Whether the code that begins at `start` makes such a frame and then jumps to code made at run time, which runs in it
/// (QEMU's translated blocks): then sets `rule` for that code. The caller must be checked too.
bool entry_frame_rule(std::uint64_t start, UnwindRule& rule);

/// The last address in [from, to) where a function seems to set up a frame record (`push %rbp`, then `mov %rsp, %rbp`
/// or, as .NET does, `lea N(%rsp), %rbp`); 0 if there is none.
std::uint64_t last_record_set_up(std::uint64_t from, std::uint64_t to);

/// Whether the code around `return_address` loads the stack pointer right before the call that returns there, and again
/// right behind it: a function that calls another on a new stack (psm's on_stack), and so is a frame of two stacks.
/// Reads memory safely.
bool calls_on_new_stack(std::uint64_t return_address);

/// Whether the code from `address` on leads straight to a trap, on the stack that it begins on: by calls and moves.
/// Reads memory safely.
bool never_returns(std::uint64_t address);

/// The call that ends at `return_address`, its target as written there (a PLT stub is not followed).
CallSite read_call_site(std::uint64_t return_address, const CodeMap& map);
/// Follows PLT stubs and jump thunks from a call's target to the function itself, as far as their words can be read.
std::uint64_t follow_stubs(std::uint64_t target);

/// Whether `code`, copied from `address`, jumps to `target` as a tail call does: directly, through a stub, or through a
/// pointer in an object (virtual functions).
bool may_jump_to(std::span<const std::byte> code, std::uint64_t address, std::uint64_t target);
/// Where `code` jumps to outside of itself, through stubs; some are none, as bytes are not told from instructions.
std::vector<std::uint64_t> jumps_out(std::span<const std::byte> code, std::uint64_t address);
/// Whether it does so directly.
bool jumps_to(std::span<const std::byte> code, std::uint64_t address, std::uint64_t target);

// Code of linkers, libc and the kernel that is met in every program and whose unwind tables are missing or wrong.

/// If the bytes at `address`, for which no table has a rule, are such code: sets `rule`. Reads memory safely.
bool known_code_rule(std::uint64_t address, UnwindRule& rule);

/// Whether the bytes at `return_address` are where glibc's makecontext, or Boost's make_fcontext, lets a coroutine's
/// first function return to. The caller checks that no call stands before. Reads memory safely.
bool known_stack_start(std::uint64_t return_address);
/// Whether the call that returns there is the first of a process or a thread, made by musl: its start code and the end
/// of its clone, which have no tables. Reads memory safely.
bool is_first_call(std::uint64_t return_address);
/// Whether a trap stands there, which no call returns to. Reads memory safely.
bool is_trap(std::uint64_t address);

/// Whether the system call stands there by which a signal's handler returns. Reads memory safely.
bool returns_from_signal(std::uint64_t address);

/// In a module that Go's linker made: sets a `rule` that ends the walk where the tables do not, or are wrong. They do
/// not say where a goroutine begins (runtime.goexit), nor the scheduler (mcall, on x86-64). They are wrong where the
/// runtime has left its caller's stack for another (asmcgocall, systemstack). Reads memory safely.
bool go_runtime_rule(std::uint64_t address, UnwindRule& rule);

/// Corrects a rule that comes from a table which is known to be wrong.
void mend_table_rule(UnwindRule& rule);

}  // namespace flameprobe
