#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "arch/x86_64/byte_pattern.hpp"
#include "base/self_memory.hpp"
#include "unwind/code_bytes.hpp"

namespace flameprobe {
namespace {

using namespace std::string_view_literals;

/// An instruction of a PLT entry: where it begins, and how far the stack pointer is from the CFA there.
struct Place {
    int offset = 0;
    std::int32_t cfa = 0;
};

/// An entry, '?' being any byte. GNU ld's have tables; those of mold and lld have none.
struct Entry {
    std::string_view bytes;
    std::array<Place, 4> places;  // unused ones repeat the first
};
constexpr std::array entries{
    // mold: endbr64; mov $index, %r11d; jmp *slot(%rip)
    Entry{"\xf3\x0f\x1e\xfa\x41\xbb????\xff\x25"sv, {{{0, 8}, {4, 8}, {10, 8}, {0, 8}}}},
    // mold's .plt.got: endbr64; jmp *slot(%rip)
    Entry{"\xf3\x0f\x1e\xfa\xff\x25"sv, {{{0, 8}, {4, 8}, {0, 8}, {0, 8}}}},
    // mold's first one: endbr64; push %r11; push GOT+8(%rip); jmp *GOT+16(%rip)
    Entry{"\xf3\x0f\x1e\xfa\x41\x53\xff\x35????\xff\x25"sv, {{{0, 8}, {4, 8}, {6, 16}, {12, 24}}}},
    // lld: jmp *slot(%rip); push $index; jmp first
    Entry{"\xff\x25????\x68????\xe9"sv, {{{0, 8}, {6, 8}, {11, 16}, {0, 8}}}},
    // lld's first one: push GOT+8(%rip); jmp *GOT+16(%rip)
    Entry{"\xff\x35????\xff\x25"sv, {{{0, 16}, {6, 24}, {0, 16}, {0, 16}}}},
};

constexpr int farthest_place = 12;
constexpr std::size_t longest_entry = 16;

}  // namespace

// _dl_runtime_resolve and __restore_rt have tables, and these are right.
bool known_code_rule(std::uint64_t address, UnwindRule& rule) {
    std::array<char, farthest_place + longest_entry> bytes{};
    int before = farthest_place;
    std::size_t size = read_self(address - farthest_place, std::as_writable_bytes(std::span(bytes)));
    if (size == 0) {  // the code begins with a page
        before = 0;
        size = read_self(address, std::as_writable_bytes(std::span(bytes)));
    }
    const std::string_view code(bytes.data(), size);
    for (const Entry& entry : entries) {
        for (const Place& place : entry.places) {
            const int begin = before - place.offset;
            if (begin < 0 || static_cast<std::size_t>(begin) > size) continue;
            if (!matches(code.substr(static_cast<std::size_t>(begin)), entry.bytes)) continue;
            rule.kind = RuleKind::step;
            rule.set_frame_above_sp(place.cfa, -8);
            return true;
        }
    }
    return false;
}

bool known_stack_start(std::uint64_t return_address) {
    // glibc's __start_context: mov %rbx, %rsp; mov (%rsp), %rdi; test %rdi, %rdi; je; call __setcontext
    constexpr std::string_view start_context = "\x48\x89\xdc\x48\x8b\x3c\x24\x48\x85\xff\x74?\xe8"sv;
    // make_fcontext's "finish": xor %rdi, %rdi; call _exit; hlt
    constexpr std::string_view finish = "\x48\x31\xff\xe8????\xf4"sv;
    std::array<char, start_context.size()> bytes{};
    const std::size_t size = read_self(return_address, std::as_writable_bytes(std::span(bytes)));
    const std::string_view code(bytes.data(), size);
    return matches(code, start_context) || matches(code, finish);
}

bool is_first_call(std::uint64_t return_address) {
    // _start: xor %rbp, %rbp; mov %rsp, %rdi; lea _DYNAMIC(%rip), %rsi; and $-16, %rsp; call _start_c
    constexpr std::string_view process = "\x48\x31\xed\x48\x89\xe7\x48\x8d\x35????\x48\x83\xe4\xf0\xe8????"sv;
    // __clone: xor %ebp, %ebp; pop %rdi; call *%r9; mov %eax, %edi; xor %eax, %eax; mov $60, %al; syscall; hlt
    constexpr std::string_view thread = "\x31\xed\x5f\x41\xff\xd1\x89\xc7\x31\xc0\xb0\x3c\x0f\x05\xf4"sv;
    constexpr std::size_t thread_call = 6;
    std::array<char, process.size()> bytes{};
    const auto code_at = [&](std::uint64_t address) {
        return std::string_view(bytes.data(), read_self(address, std::as_writable_bytes(std::span(bytes))));
    };
    return matches(code_at(return_address - process.size()), process) ||
           matches(code_at(return_address - thread_call), thread);
}

bool is_trap(std::uint64_t address) {
    std::array<char, 2> bytes{};
    const std::size_t size = read_self(address, std::as_writable_bytes(std::span(bytes)));
    const std::string_view code(bytes.data(), size);
    return code.starts_with('\xcc') || code.starts_with('\xf4') || code.starts_with("\x0f\x0b"sv);  // int3, hlt, ud2
}

bool returns_from_signal(std::uint64_t address) {
    constexpr std::string_view wide = "\x48\xc7\xc0\x0f\0\0\0\x0f\x05"sv, narrow = "\xb8\x0f\0\0\0\x0f\x05"sv;
    std::array<char, wide.size()> bytes{};
    const std::size_t size = read_self(address, std::as_writable_bytes(std::span(bytes)));
    const std::string_view code(bytes.data(), size);
    return code.starts_with(wide) || code.starts_with(narrow);
}

void mend_table_rule(UnwindRule&) {}

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
