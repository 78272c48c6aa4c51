// Arm Architecture Reference Manual for A-profile, C6.2: STP, MOV, RET, SVC.
#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "base/self_memory.hpp"
#include "unwind/code_bytes.hpp"

namespace flameprobe {
namespace {

constexpr std::uint32_t instruction_ret = 0xd65f03c0, instruction_svc_0 = 0xd4000001, instruction_bti_c = 0xd503245f,
                        instruction_paciasp = 0xd503233f;

/// stp x29, x30, [sp, #-N]!
bool pushes_record(std::uint32_t instruction) { return (instruction & 0xffc07fff) == 0xa9807bfd; }
bool prepares_call(std::uint32_t instruction) {
    return instruction == instruction_bti_c || instruction == instruction_paciasp;
}

std::uint32_t instruction_at(std::uint64_t address) {
    std::uint32_t instruction = 0;
    read_self(address, std::as_writable_bytes(std::span(&instruction, 1)));
    return instruction;
}

}  // namespace

RecordState record_state(std::uint64_t address) {
    std::uint32_t instruction = instruction_at(address);
    for (int i = 0; i < 2 && prepares_call(instruction); ++i) instruction = instruction_at(address += 4);
    return pushes_record(instruction) || instruction == instruction_ret ? RecordState::before : RecordState::made;
}

bool after_syscall(std::uint64_t address) { return instruction_at(address - 4) == instruction_svc_0; }

std::optional<unsigned> system_call_number(std::uint64_t) { return std::nullopt; }

// Where the return address is in a register, a leaf is known by that, and everything else keeps records.
bool epilogue_rule(std::uint64_t, UnwindRule&) { return false; }

std::uint64_t last_record_set_up(std::uint64_t from, std::uint64_t to) {
    if (from >= to) return 0;
    std::vector<std::uint32_t> code((to - from) / 4);
    code.resize(read_self(from, std::as_writable_bytes(std::span(code))) / 4);
    for (std::size_t i = code.size(); i-- > 0;)
        if (pushes_record(code[i])) return from + i * 4;
    return 0;
}

// Frame records lie anywhere in the frame here, so a prologue does not say where.
std::optional<std::uint64_t> frame_pointer_above_sp(std::uint64_t /*function_start*/) { return std::nullopt; }

}  // namespace flameprobe
