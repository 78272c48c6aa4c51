// Intel SDM volume 2: PUSH, MOV, LEA, XOR, RET, SYSCALL, ENDBR64.
#include "unwind/code_bytes.hpp"

#include <array>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "arch/x86_64/byte_pattern.hpp"
#include "base/self_memory.hpp"

namespace flameprobe {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view endbr64 = "\xf3\x0f\x1e\xfa"sv;
constexpr std::string_view push_rbp = "\x55"sv;
constexpr std::string_view mov_rsp_rbp = "\x48\x89\xe5"sv;
constexpr std::string_view mov_rsp_rbp_load_form = "\x48\x8b\xec"sv;  // the other encoding of the same
constexpr std::string_view lea_rsp_rbp = "\x48\x8d\x6c\x24"sv;
constexpr std::string_view ret = "\xc3"sv, ret_n = "\xc2"sv, repz_ret = "\xf3\xc3"sv, bnd_ret = "\xf2\xc3"sv;
constexpr std::string_view syscall_instruction = "\x0f\x05"sv;

// Reads instructions that wrappers put between the constant and `syscall`: moves between registers, from memory and of
// constants, and XOR, none of them into rax. Gives the size, 0 for anything else.
std::size_t argument_set_up(std::string_view code) {
    const auto byte = [&](std::size_t at) { return at < code.size() ? static_cast<unsigned char>(code[at]) : 0u; };
    const unsigned rex = (byte(0) & 0xf0) == 0x40 ? byte(0) : 0;
    const std::size_t at = rex != 0 ? 1 : 0;
    const unsigned opcode = byte(at), modrm = byte(at + 1), mode = modrm >> 6;
    const unsigned reg = (modrm >> 3 & 7) | (rex & 4) << 1, rm = (modrm & 7) | (rex & 1) << 3;
    constexpr unsigned rax = 0;
    if (opcode >= 0xb8 && opcode <= 0xbf) {
        const bool into_rax = ((opcode & 7) | (rex & 1) << 3) == rax;
        return into_rax || (rex & 8) != 0 ? 0 : at + 5;
    }
    if (opcode == 0x89 || opcode == 0x31) return mode == 3 && rm != rax ? at + 2 : 0;
    if (opcode != 0x8b && opcode != 0x8d) return 0;
    if (reg == rax) return 0;
    if (mode == 3) return opcode == 0x8b ? at + 2 : 0;
    const std::size_t sib = (modrm & 7) == 4 ? 1 : 0;
    if (mode == 0) return (modrm & 7) == 5 ? at + 6 : sib != 0 && (byte(at + 2) & 7) == 5 ? 0 : at + 2 + sib;
    return at + 2 + sib + (mode == 1 ? 1 : 4);
}

/// The constant that the instruction at the front moves into rax, and its size; size 0 if it does not.
struct RaxConstant {
    std::size_t size = 0;
    std::uint32_t value = 0;
};
RaxConstant rax_constant(std::string_view code) {
    constexpr std::string_view mov_eax = "\xb8"sv, mov_rax = "\x48\xc7\xc0"sv, xor_eax = "\x31\xc0"sv;
    if (code.starts_with(xor_eax)) return {xor_eax.size(), 0};
    for (const std::string_view mov : {mov_eax, mov_rax}) {
        if (!code.starts_with(mov) || code.size() < mov.size() + 4) continue;
        std::uint32_t value = 0;
        std::memcpy(&value, code.data() + mov.size(), sizeof value);
        return {mov.size() + 4, value};
    }
    return {};
}

/// HotSpot's methods begin with a store far below the stack pointer, before `push %rbp`, and look for a safepoint
/// between `pop %rbp` and `ret`: cmp disp32(%r15), %rsp; ja; ret.
bool begins_or_ends_method(std::string_view code) {
    constexpr std::string_view store = "\x89\x84\x24????"sv, poll = "\x49\x3b\xa7????\x0f\x87????\xc3"sv;
    constexpr std::size_t jump = 7;
    if (matches(code, store)) return (code[store.size() - 1] & 0x80) != 0;
    return matches(code, poll) || matches(code, poll.substr(jump));
}

/// Behind `pop %rbp` V8's optimized functions ask whether they were given more arguments than they declare:
/// cmp $N, %rcx; jg to `pop %r10`, which is the return address; ret $M.
bool drops_arguments(std::string_view code) {
    constexpr std::string_view compare = "\x48\x83\xf9?\x7f\x03\xc2"sv, pop = "\x41\x5a\x48\x8d\x24\xcc\x41\x52\xc3"sv;
    constexpr std::size_t jump = 4;
    return matches(code, compare) || matches(code, compare.substr(jump)) || matches(code, pop);
}

/// V8's functions check whether they were deoptimized before they push the frame pointer. No byte on the way may be
/// `ret`, `pop %rbp` or `leave`, behind which another function might begin.
bool pushes_soon(std::string_view code) {
    constexpr std::string_view set_up = "\x55\x48\x89\xe5"sv, ends = "\xc3\x5d\xc9"sv;
    const auto at = code.find(set_up);
    return at != code.npos && code.substr(0, at).find_first_of(ends) == code.npos;
}

/// Nothing but set-up of arguments?
bool only_arguments(std::string_view code) {
    while (!code.empty()) {
        const std::size_t size = argument_set_up(code);
        if (size == 0 || size > code.size()) return false;
        code.remove_prefix(size);
    }
    return true;
}

constexpr std::uint32_t most_calls = 1024;

/// At most 40 bytes of code before an address: pages before may not be mapped.
struct CodeBefore {
    explicit CodeBefore(std::uint64_t end) {
        std::size_t size = read.size();
        while (size != 0 && read_self(end - size, std::as_writable_bytes(std::span(read).first(size))) != size) --size;
        bytes = {read.data(), size};
    }
    std::array<char, 40> read{};
    std::string_view bytes;
};

}  // namespace

RecordState record_state(std::uint64_t address) {
    std::array<char, 32> bytes{};
    const std::size_t size = read_self(address, std::as_writable_bytes(std::span(bytes)));
    std::string_view here(bytes.data(), size);
    if (here.starts_with(mov_rsp_rbp) || here.starts_with(mov_rsp_rbp_load_form)) {
        char before = 0;
        const bool pushed = read_self(address - 1, std::as_writable_bytes(std::span(&before, 1))) == 1;
        return pushed && before == push_rbp[0] ? RecordState::half : RecordState::made;
    }
    if (here.starts_with(endbr64)) here.remove_prefix(endbr64.size());
    for (const std::string_view start : {push_rbp, ret, ret_n, repz_ret, bnd_ret})
        if (here.starts_with(start)) return RecordState::before;
    if (begins_or_ends_method(here) || drops_arguments(here) || pushes_soon(here)) return RecordState::before;
    return RecordState::made;
}

std::int32_t frame_before_record(std::uint64_t /*address*/) { return 0; }

bool after_syscall(std::uint64_t address) {
    std::array<char, 2> bytes{};
    return read_self(address - bytes.size(), std::as_writable_bytes(std::span(bytes))) == bytes.size() &&
           std::string_view(bytes.data(), bytes.size()) == syscall_instruction;
}

std::optional<unsigned> system_call_number(std::uint64_t address) {
    if (!after_syscall(address)) address += syscall_instruction.size();
    if (!after_syscall(address)) return std::nullopt;
    const CodeBefore code(address - syscall_instruction.size());
    for (std::size_t at = code.bytes.size(); at-- > 1;) {
        const RaxConstant constant = rax_constant(code.bytes.substr(at));
        if (constant.size == 0 || constant.value >= most_calls) continue;
        // A prefix would make it another register's or another size.
        const auto before = static_cast<unsigned char>(code.bytes[at - 1]);
        if ((before & 0xf0) == 0x40 || before == 0x66) continue;
        if (only_arguments(code.bytes.substr(at + constant.size))) return constant.value;
    }
    return std::nullopt;
}

// It loads its seventh argument from the stack right before the call, or moves all of its arguments down by one.
bool takes_call_number(std::uint64_t address) {
    constexpr std::string_view by_sp = "\x48\x8b\x44\x24?"sv, by_fp = "\x48\x8b\x45?"sv;
    constexpr std::string_view moved = "\x48\x89\xf0\x48\x89\xd7"sv;  // mov %rsi, %rax; mov %rdx, %rdi
    if (!after_syscall(address)) address += syscall_instruction.size();
    if (!after_syscall(address)) return false;
    const CodeBefore code(address - syscall_instruction.size());
    for (const std::string_view load : {by_sp, by_fp}) {
        if (code.bytes.size() >= load.size() && matches(code.bytes.substr(code.bytes.size() - load.size()), load))
            return true;
    }
    return code.bytes.find(moved) != code.bytes.npos;
}

std::optional<unsigned> given_call_number(std::uint64_t return_address) {
    constexpr std::string_view call = "\xe8????"sv;
    constexpr char push_byte = 0x6a, push_word = 0x68;
    const CodeBefore before(return_address);
    if (before.bytes.size() < call.size()) return std::nullopt;
    const std::string_view code = before.bytes.substr(0, before.bytes.size() - call.size());
    if (!matches(before.bytes.substr(code.size()), call)) return std::nullopt;
    for (std::size_t at = code.size(); at-- > 0;) {
        const std::size_t size = code[at] == push_byte ? 1 : code[at] == push_word ? 4 : 0;
        if (size == 0 || at + 1 + size > code.size() || !only_arguments(code.substr(at + 1 + size))) continue;
        std::uint32_t value = 0;
        std::memcpy(&value, code.data() + at + 1, size);
        if (value < most_calls) return value;
    }
    return std::nullopt;
}

std::uint64_t last_record_set_up(std::uint64_t from, std::uint64_t to) {
    constexpr std::size_t apart = 24;  // pushes of other registers and a `sub` may stand between
    if (from >= to) return 0;
    std::vector<char> bytes(to - from);
    bytes.resize(read_self(from, std::as_writable_bytes(std::span(bytes))));
    const std::string_view code(bytes.data(), bytes.size());
    for (std::size_t i = code.size(); i-- > 0;) {
        if (code[i] != mov_rsp_rbp[0]) continue;  // REX.W, with which all three begin
        const std::string_view here = code.substr(i);
        if (!here.starts_with(mov_rsp_rbp) && !here.starts_with(mov_rsp_rbp_load_form) &&
            !here.starts_with(lea_rsp_rbp))
            continue;
        const std::size_t push = code.substr(0, i).rfind(push_rbp);
        if (push != std::string_view::npos && i - push <= apart) return from + push;
    }
    return 0;
}

}  // namespace flameprobe
