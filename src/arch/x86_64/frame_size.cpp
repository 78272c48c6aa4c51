// Intel SDM volume 2: PUSH, MOV, SUB, CALL.
#include <array>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "base/self_memory.hpp"
#include "unwind/code_bytes.hpp"

namespace flameprobe {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view mov_into_rbp = "\x48\x89\xe5"sv;
constexpr std::string_view add_rsp_32 = "\x48\x81\xc4"sv;
constexpr std::string_view sub_rsp_8 = "\x48\x83\xec"sv, sub_rsp_32 = "\x48\x81\xec"sv;
constexpr std::size_t farthest_mov = 40;

/// Bytes of a push of one of rax, rbx and r12 to r15, which compilers put between; 0 for anything else.
std::size_t push_size(std::string_view code) {
    if (code.starts_with('\x53') || code.starts_with('\x50')) return 1;
    return code.size() > 1 && code[0] == '\x41' && code[1] >= '\x54' && code[1] <= '\x57' ? 2 : 0;
}

/// push %rbx, %rbp or %r12 to %r15, two at least; moves between registers; sub $N, %rsp or add $-N, %rsp.
struct FixedFrame {
    std::size_t end = 0;  // of the last instruction; 0: there is none here
    std::int32_t pushes = 0, size = 0;
    std::int32_t rbx = 0, rbp = 0;  // which push, from 1 on; 0: not pushed
};

FixedFrame fixed_frame(std::string_view code) {
    constexpr std::int32_t largest = 4096;  // larger ones are probed page by page
    constexpr int most_moves = 8;
    FixedFrame frame;
    std::size_t at = 0;
    for (;;) {
        const std::string_view here = code.substr(at);
        const bool rbp = here.starts_with('\x55'), rbx = here.starts_with('\x53');
        const std::size_t length = rbp ? 1 : here.starts_with('\x50') ? 0 : push_size(here);
        if (length == 0) break;
        ++frame.pushes;
        if (rbp) frame.rbp = frame.pushes;
        if (rbx) frame.rbx = frame.pushes;
        at += length;
    }
    const auto is_move = [&] {  // mov %reg, %reg, eight bytes wide
        const std::string_view here = code.substr(at, 3);
        return here.size() == 3 && (here[0] & '\xf8') == '\x48' && (here[1] == '\x89' || here[1] == '\x8b') &&
               (here[2] & '\xc0') == '\xc0';
    };
    for (int moves = 0; moves < most_moves && is_move(); ++moves) at += 3;
    const std::string_view sub = code.substr(at);
    if (sub.starts_with(sub_rsp_8) && sub.size() > sub_rsp_8.size()) {
        frame.size = static_cast<signed char>(sub[3]);
        frame.end = at + 4;
    } else if (sub.starts_with(sub_rsp_32) && sub.size() >= sub_rsp_32.size() + 4) {
        std::memcpy(&frame.size, sub.data() + sub_rsp_32.size(), sizeof frame.size);
        frame.end = at + 7;
    } else if (sub.starts_with(add_rsp_32) && sub.size() >= add_rsp_32.size() + 4) {
        std::int32_t added = 0;
        std::memcpy(&added, sub.data() + add_rsp_32.size(), sizeof added);
        frame.size = added > -largest ? -added : -1;
        frame.end = at + 7;
    }
    if (frame.pushes < 2 || frame.size < 0 || frame.size > largest) frame.end = 0;
    return frame;
}

}  // namespace

// Other bytes are skipped one by one: a frame pointer from a misread prologue leads to no return address.
std::optional<std::uint64_t> frame_pointer_above_sp(std::uint64_t function_start) {
    std::array<char, 96> bytes{};
    const std::size_t size = read_self(function_start, std::as_writable_bytes(std::span(bytes)));
    std::string_view code(bytes.data(), size);
    const std::size_t mov = code.find(mov_into_rbp);
    if (mov == code.npos || mov > farthest_mov) return std::nullopt;
    code.remove_prefix(mov + mov_into_rbp.size());
    constexpr char call = '\xe8';
    std::uint64_t below = 0;
    while (!code.empty() && code.front() != call) {
        if (const std::size_t push = push_size(code); push != 0) {
            below += 8;
            code.remove_prefix(push);
        } else if (code.starts_with(sub_rsp_8) && code.size() > sub_rsp_8.size()) {
            return below + static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<signed char>(code[3])));
        } else if (code.starts_with(sub_rsp_32) && code.size() >= sub_rsp_32.size() + 4) {
            std::int32_t more = 0;
            std::memcpy(&more, code.data() + sub_rsp_32.size(), sizeof more);
            return below + static_cast<std::uint64_t>(static_cast<std::int64_t>(more));
        } else {
            code.remove_prefix(1);
        }
    }
    return below;
}

namespace {

void set_rule(const FixedFrame& frame, UnwindRule& rule) {
    const auto slot = [](int push) { return push == 0 ? UnwindRule::same : -8 * (push + 1); };
    rule.set_frame_above_sp(frame.size + 8 * (frame.pushes + 1), -8, slot(frame.rbp), slot(frame.rbx));
}

}  // namespace

bool entry_frame_rule(std::uint64_t start, UnwindRule& rule) {
    std::array<char, 64> bytes{};
    const std::size_t size = read_self(start, std::as_writable_bytes(std::span(bytes)));
    const std::string_view code(bytes.data(), size);
    const FixedFrame frame = fixed_frame(code);
    const std::string_view jump = code.substr(frame.end);
    if (frame.end == 0 || jump.size() < 2 || jump[0] != '\xff' || (jump[1] & '\xf8') != '\xe0') return false;
    set_rule(frame, rule);
    return true;
}

bool fixed_frame_rule(std::uint64_t from, std::uint64_t address, UnwindRule& rule) {
    constexpr std::size_t longest = 48;  // bytes of the instructions that make the frame
    if (from >= address) return false;
    std::vector<char> bytes(address - from);
    bytes.resize(read_self(from, std::as_writable_bytes(std::span(bytes))));
    const std::string_view code(bytes.data(), bytes.size());
    FixedFrame frame;
    for (std::size_t size = code.size(); frame.end == 0;) {
        // The search for one byte is fast, and `sub` has it where no other instruction of the frame does.
        const void* const found = ::memrchr(code.data(), sub_rsp_8.back(), size);
        if (found == nullptr) return false;
        size = static_cast<std::size_t>(static_cast<const char*>(found) - code.data());
        const std::size_t sub = size - 2;
        for (std::size_t i = size < longest ? 0 : size - longest; size >= 2 && i < sub && frame.end == 0; ++i) {
            const FixedFrame here = fixed_frame(code.substr(i));
            if (here.end > sub - i && here.end <= sub - i + sub_rsp_32.size() + 4) frame = here;
        }
    }
    set_rule(frame, rule);
    return true;
}

}  // namespace flameprobe
