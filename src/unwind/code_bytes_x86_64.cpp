// Intel SDM volume 2: PUSH, MOV, LEA, RET, SYSCALL, ENDBR64.
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

constexpr std::string_view endbr64 = "\xf3\x0f\x1e\xfa"sv;
constexpr std::string_view push_rbp = "\x55"sv;
constexpr std::string_view mov_rsp_rbp = "\x48\x89\xe5"sv;
constexpr std::string_view mov_rsp_rbp_load_form = "\x48\x8b\xec"sv;  // the other encoding of the same
constexpr std::string_view lea_rsp_rbp = "\x48\x8d\x6c\x24"sv;
constexpr std::string_view ret = "\xc3"sv, ret_n = "\xc2"sv, repz_ret = "\xf3\xc3"sv, bnd_ret = "\xf2\xc3"sv;
constexpr std::string_view syscall_instruction = "\x0f\x05"sv;

}  // namespace

RecordState record_state(std::uint64_t address) {
    std::array<char, 8> bytes{};
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
    return RecordState::made;
}

bool after_syscall(std::uint64_t address) {
    std::array<char, 2> bytes{};
    return read_self(address - bytes.size(), std::as_writable_bytes(std::span(bytes))) == bytes.size() &&
           std::string_view(bytes.data(), bytes.size()) == syscall_instruction;
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
