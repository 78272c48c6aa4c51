#include "arch/aarch64/instruction.hpp"
#include "unwind/code_bytes.hpp"

namespace flameprobe {
namespace {

/// PLT entries: adrp x16; ldr x17; add x16; br x17, with BTI or signed pointers an instruction more before or between.
/// The first entry pushes x16 and x30 before these (the AArch64 back end of GNU ld).
bool plt_rule(std::uint64_t address, UnwindRule& rule) {
    constexpr std::uint32_t stp_x16_x30 = 0xa9bf7bf0;
    for (std::int64_t back = -4; back <= 16; back += 4) {
        const std::uint64_t start = address - static_cast<std::uint64_t>(back);
        if (!a64::is_adrp_x16(a64::at(start)) || !a64::loads_x17(a64::at(start + 4)) ||
            !a64::adds_x16(a64::at(start + 8)))
            continue;
        std::uint64_t last = start + 12;
        if (a64::at(last) == a64::autia1716) last += 4;
        const bool at_guard = back < 0 && a64::at(address) != a64::bti_c && a64::at(address) != stp_x16_x30;
        if (a64::at(last) != a64::br_x17 || address > last || at_guard) continue;
        const bool pushed = back >= 0 && a64::at(start - 4) == stp_x16_x30;
        rule.kind = RuleKind::step;
        pushed ? rule.set_frame_above_sp(16, -8) : rule.set_frame_above_sp(0, UnwindRule::same);
        return true;
    }
    return false;
}

/// `mov x8, #139; svc #0`: there the kernel's frame is on the stack (arch/arm64/kernel/signal.c): siginfo_t,
/// ucontext_t.
bool signal_return_rule(std::uint64_t address, UnwindRule& rule) {
    constexpr std::uint32_t mov_x8_139 = 0xd2801168;
    if (a64::at(address) == a64::svc_0) address -= 4;
    if (a64::at(address) != mov_x8_139 || a64::at(address + 4) != a64::svc_0) return false;
    constexpr std::int32_t siginfo = 128, before_machine_context = 176, fault_address = 8;
    constexpr std::int32_t registers = siginfo + before_machine_context + fault_address;
    rule.kind = RuleKind::step;
    rule.signal_frame = true;
    rule.base = RuleBase::sp;
    rule.cfa_is_loaded = true;
    rule.cfa_offset = registers + 31 * 8;
    rule.ra_origin = rule.fp_origin = rule.third_origin = SlotOrigin::sp;
    rule.ra_slot = registers + 32 * 8;
    rule.fp_slot = registers + 29 * 8;
    rule.third_slot = registers + 30 * 8;
    return true;
}

/// The guard before `stp x8, x9, [sp, #-208]!; stp x6, x7, [sp, #16]` (glibc's sysdeps/aarch64/dl-trampoline.S).
bool begins_resolver(std::uint64_t address) {
    constexpr std::uint32_t push_x8_x9 = 0xa9b327e8, store_x6_x7 = 0xa9011fe6;
    return address % 4 == 0 && a64::is_guard(a64::at(address)) && a64::at(address + 4) == push_x8_x9 &&
           a64::at(address + 8) == store_x6_x7;
}

}  // namespace

// A handler's return address is the trampoline's first instruction, and looked up by the byte before it.
bool known_code_rule(std::uint64_t address, UnwindRule& rule) {
    if (signal_return_rule((address + 3) & ~std::uint64_t{3}, rule)) return true;
    return address % 4 == 0 && plt_rule(address, rule);
}

bool known_stack_start(std::uint64_t return_address) {
    // glibc's __startcontext: mov x0, x19; cbnz x0. make_fcontext's "finish": mov x0, #0 (or w0); bl _exit, after
    // `ret`.
    constexpr std::uint32_t mov_x0_x19 = 0xaa1303e0, cbnz_x0 = 0xb5000000, cbnz_mask = 0xff00001f;
    constexpr std::uint32_t clear_x0 = 0xd2800000, clear_w0 = 0x52800000, bl = 0x94000000, bl_mask = 0xfc000000;
    if (return_address % 4 != 0) return false;
    const std::uint32_t first = a64::at(return_address), second = a64::at(return_address + 4);
    if (first == mov_x0_x19) return (second & cbnz_mask) == cbnz_x0;
    const bool clears = first == clear_x0 || first == clear_w0;
    return clears && (second & bl_mask) == bl && a64::is_return(a64::at(return_address - 4));
}

// There musl's _start jumps to the function that calls main.
bool is_first_call(std::uint64_t) { return false; }

bool is_trap(std::uint64_t address) {
    constexpr std::uint32_t brk = 0xd4200000, brk_mask = 0xffe0001f;
    return address % 4 == 0 && (a64::at(address) & brk_mask) == brk;
}

bool never_returns(std::uint64_t address) {
    constexpr std::uint64_t most = 16;  // instructions
    for (std::uint64_t at = address; at != address + 4 * most; at += 4) {
        if (is_trap(at)) return true;
        const std::uint32_t code = a64::at(at);
        const bool call = (code & 0xfc000000) == 0x94000000, moves = (code & 0xffe0ffe0) == 0xaa0003e0;
        const bool constant = (code & 0xff800000) == 0xd2800000, system_call = code == 0xd4000001;
        if (!call && !moves && !constant && !system_call) return false;
    }
    return false;
}

bool returns_from_signal(std::uint64_t address) {
    constexpr std::uint32_t mov_x8_139 = 0xd2801168;
    return address % 4 == 0 && a64::at(address) == mov_x8_139;
}

// The tables of glibc's _dl_runtime_resolve do not count what the PLT's first entry has pushed: they have x30 at CFA +
// 8, and no such rule yet for the nop or BTI with which it begins.
void mend_table_rule(UnwindRule& rule) {
    constexpr std::int32_t pushed = 16;
    const bool may_be_entry = rule.base == RuleBase::sp && rule.cfa_offset == 0 && rule.ra_slot == UnwindRule::same;
    if (may_be_entry && begins_resolver(rule.address)) {
        rule.cfa_offset = pushed;
        rule.ra_slot = -8;
        return;
    }
    if (rule.ra_origin != SlotOrigin::cfa || rule.ra_slot != 8) return;
    rule.cfa_offset += pushed;
    for (std::int32_t* slot : {&rule.ra_slot, &rule.fp_slot, &rule.third_slot})
        if (*slot != UnwindRule::same) *slot -= pushed;
}

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
