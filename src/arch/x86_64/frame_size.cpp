// Intel SDM volume 2: PUSH, MOV, SUB, CALL.
#include <array>
#include <cstring>
#include <span>
#include <string_view>

#include "base/self_memory.hpp"
#include "unwind/code_bytes.hpp"

namespace flameprobe {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view mov_into_rbp = "\x48\x89\xe5"sv;
constexpr std::string_view sub_rsp_8 = "\x48\x83\xec"sv, sub_rsp_32 = "\x48\x81\xec"sv;
constexpr std::size_t farthest_mov = 40;

/// Bytes of a push of one of rax, rbx and r12 to r15, which compilers put between; 0 for anything else.
std::size_t push_size(std::string_view code) {
    if (code.starts_with('\x53') || code.starts_with('\x50')) return 1;
    return code.size() > 1 && code[0] == '\x41' && code[1] >= '\x54' && code[1] <= '\x57' ? 2 : 0;
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

}  // namespace flameprobe
