#include "arch/aarch64/instruction.hpp"
#include "unwind/code_bytes.hpp"

namespace flameprobe {
namespace {

/// mov x0, x0; bl runtime.goexit1: a goroutine's first function returns to the second, where no call is before it
/// (runtime/asm_arm64.s).
bool is_goroutine_start(std::uint64_t address) {
    constexpr std::uint32_t mov_x0_x0 = 0xaa0003e0, bl = 0x94000000, bl_mask = 0xfc000000;
    return a64::at(address) == mov_x0_x0 && (a64::at(address + 4) & bl_mask) == bl;
}

/// mov sp, xN: of Go's compiler only from x20 (a large frame) and x29, from others in the runtime's assembly.
bool sets_stack_pointer(std::uint64_t address) {
    constexpr std::uint32_t mov_sp = 0x9100001f, source = 0x1f << 5;
    const std::uint32_t code = a64::at(address), from = (code & source) >> 5;
    return (code & ~source) == mov_sp && from != 20 && from != 29 && from != 31;
}

}  // namespace

bool go_runtime_rule(std::uint64_t address, UnwindRule& rule) {
    constexpr std::uint64_t before = 48, after = 64;
    address &= ~std::uint64_t{3};  // a caller is looked up by the byte before its return address
    const bool start = is_goroutine_start(address);
    rule.kind = start ? RuleKind::root : RuleKind::no_cfi;
    rule.starts_stack = start ? StackStart::by_bytes : StackStart::no;
    if (start) return true;
    for (std::uint64_t at = address - before; at < address + after; at += 4)
        if (sets_stack_pointer(at)) return true;
    return false;
}

}  // namespace flameprobe
