#include "unwind/code_bytes.hpp"

#include <vector>

#include "arch/aarch64/instruction.hpp"
#include "arch/aarch64/walk_facts.hpp"

namespace flameprobe {

// Until x29 points at the new record, and from the moment it no longer does, the return address is in x30.
RecordState record_state(std::uint64_t address) {
    constexpr int most = 4;
    for (int i = 0; i < most; ++i, address += 4) {
        const std::uint32_t instruction = a64::at(address);
        if (a64::pushes_record(instruction) || a64::stores_record(instruction) || a64::is_return(instruction))
            return RecordState::before;
        if (a64::sets_frame_pointer(instruction)) return i == 0 ? RecordState::half : RecordState::before;
        if (!a64::is_guard(instruction) && a64::moved_sp(instruction) == 0) break;
    }
    return RecordState::made;
}

bool after_syscall(std::uint64_t address) { return a64::at(address - 4) == a64::svc_0; }

std::optional<unsigned> system_call_number(std::uint64_t address) {
    constexpr unsigned far = 10, most = 1024, number_register = 8;
    if (!after_syscall(address)) address += 4;
    if (!after_syscall(address)) return std::nullopt;
    for (unsigned i = 2; i < far; ++i) {
        const std::uint32_t instruction = a64::at(address - i * 4);
        const bool is_constant = (instruction & 0x7fe0001f) == (0x52800000 | number_register);  // movz w8 or x8
        const unsigned value = instruction >> 5 & 0xffff;
        if (is_constant) return value < most ? std::optional(value) : std::nullopt;
        const bool may_branch = (instruction & 0x1c000000) == 0x14000000;
        const bool loads_pair = (instruction & 0x3a400000) == 0x28400000;
        const bool changes =
            (instruction & 31) == number_register || (loads_pair && (instruction >> 10 & 31) == number_register);
        if (instruction == 0 || may_branch || changes) return std::nullopt;
    }
    return std::nullopt;
}

// There the number is not on the stack, but in a register that the code in between may have changed.
bool takes_call_number(std::uint64_t) { return false; }
std::optional<unsigned> given_call_number(std::uint64_t) { return std::nullopt; }

std::uint64_t last_record_set_up(std::uint64_t from, std::uint64_t to) {
    if (from >= to) return 0;
    from = (from + 3) & ~std::uint64_t{3};
    std::vector<std::uint32_t> code((to - from) / 4);
    code.resize(read_self(from, std::as_writable_bytes(std::span(code))) / 4);
    for (std::size_t i = code.size(); i-- > 0;)
        if (a64::pushes_record(code[i]) || a64::stores_record(code[i])) return from + i * 4;
    return 0;
}

bool entry_frame_rule(std::uint64_t /*start*/, UnwindRule& /*rule*/) { return false; }

bool fixed_frame_rule(std::uint64_t /*from*/, std::uint64_t /*address*/, UnwindRule& /*rule*/) { return false; }

// Frame records lie anywhere in the frame here, so a prologue does not say where.
std::optional<std::uint64_t> frame_pointer_above_sp(std::uint64_t /*function_start*/) { return std::nullopt; }

// xpaclri (Arm ARM, C6.2) takes the signature out of x30 and is a hint, so that CPUs without signatures leave all bits
// as they are. Of all bits below bit 55, which tells user from kernel addresses, those that are left are an address's.
void ArchAarch64::learn_address_bits() {
    register std::uint64_t x30 asm("x30") = (std::uint64_t{1} << 55) - 1;
    asm volatile("hint #7" : "+r"(x30));
    address_mask = x30;
}

}  // namespace flameprobe
