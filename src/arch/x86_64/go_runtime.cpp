#include <algorithm>
#include <array>
#include <span>

#include "base/self_memory.hpp"
#include "unwind/code_bytes.hpp"

namespace flameprobe {
namespace {

constexpr std::size_t window_before = 48, window_after = 64;

/// nop; call runtime.goexit1; nop: a goroutine's first function returns to behind the first nop, where no call is
/// (runtime/asm_amd64.s).
bool is_goroutine_start(std::span<const std::uint8_t> code) {
    return code.size() > 6 && code[0] == 0x90 && code[1] == 0xe8 && code[6] == 0x90;
}

/// runtime.mcall: push %rax; mov (%rdx), %r12; call *%r12, and behind the call pop %rax; jmp runtime.badmcall2. What it
/// calls is the first on the scheduler's stack, and never returns. `here`: the call's last byte.
bool is_scheduler_start(std::span<const std::uint8_t> code, std::size_t here) {
    constexpr std::array<std::uint8_t, 7> call{0x50, 0x4c, 0x8b, 0x22, 0x41, 0xff, 0xd4};
    if (here + 1 < call.size() || here + 4 > code.size()) return false;
    const std::size_t after = here + (code[here + 1] == 0x90 ? 2 : 1);
    return std::equal(call.begin(), call.end(), code.begin() + static_cast<std::ptrdiff_t>(here + 1 - call.size())) &&
           code[after] == 0x58 && code[after + 1] == 0xe9;
}

/// mov %reg, %rsp or mov memory, %rsp: Go's compiler makes none, only the runtime's assembly has them.
bool sets_stack_pointer(std::span<const std::uint8_t> code) {
    constexpr int wide = 0x48, to_register_4 = 0x20;
    for (std::size_t i = 0; i + 2 < code.size(); ++i) {
        const int prefix = code[i], operation = code[i + 1], operands = code[i + 2];
        const bool from_register = (prefix == wide || prefix == 0x4c) && operation == 0x89 && (operands & 0xc7) == 0xc4;
        const bool from_memory = (prefix == wide || prefix == 0x49) && operation == 0x8b && operands < 0xc0 &&
                                 (operands & 0x38) == to_register_4;
        if (from_register || from_memory) return true;
    }
    return false;
}

}  // namespace

bool go_runtime_rule(std::uint64_t address, UnwindRule& rule) {
    std::array<std::uint8_t, window_before + window_after> bytes{};
    const auto read = [&](std::uint64_t at) { return read_self(at, std::as_writable_bytes(std::span(bytes))); };
    const std::size_t size = read(address - window_before);
    const std::size_t here = size != 0 ? window_before : 0;
    const std::span code(bytes.data(), size != 0 ? size : read(address));  // the code begins with a page
    if (here > code.size()) return false;
    const bool start = is_goroutine_start(code.subspan(here)), scheduler = is_scheduler_start(code, here);
    if (!start && !scheduler && !sets_stack_pointer(code)) return false;
    rule.kind = start || scheduler ? RuleKind::root : RuleKind::no_cfi;
    rule.starts_stack = start ? StackStart::by_bytes : StackStart::no;
    return true;
}

}  // namespace flameprobe
