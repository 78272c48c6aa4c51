#include "symbolize/plt_format.hpp"

#include <elf.h>

#include <cstring>

namespace flameprobe {
namespace {

constexpr std::uint32_t endbr64 = 0xfa1e0ff3;

std::uint32_t word_at(Bytes code, std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, code.data() + at, sizeof value);
    return value;
}

/// Stubs of .plt.got have 8 bytes without IBT, 16 with it (the x86-64 back end of GNU ld).
PltShape x86_64_shape(std::string_view section, Bytes code) {
    if (section == ".plt.got") return {0, code.size() >= 4 && word_at(code, 0) == endbr64 ? 16u : 8u};
    return {section == ".plt" ? 16u : 0u, 16};
}

/// `jmp *slot(%rip)` (ff 25), or, where .plt.sec has the jump, `endbr64; push index` (68) in .plt.
PltTarget x86_64_target(Bytes stub, std::uint64_t address) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned>(stub[at]); };
    for (std::size_t at = 0; at + 6 <= stub.size(); ++at) {
        if (byte(at) != 0xff || byte(at + 1) != 0x25) continue;
        const auto distance = static_cast<std::int32_t>(word_at(stub, at + 2));
        return {.slot = address + at + 6 + static_cast<std::uint64_t>(std::int64_t{distance})};
    }
    constexpr std::size_t push_at = 4;  // behind endbr64
    if (stub.size() >= push_at + 5 && word_at(stub, 0) == endbr64 && byte(push_at) == 0x68)
        return {.index = word_at(stub, push_at + 1)};
    return {};
}

}  // namespace

const PltFormat plt_format_x86_64{EM_X86_64,    R_X86_64_GLOB_DAT, R_X86_64_IRELATIVE, {".plt", ".plt.sec", ".plt.got"},
                                  x86_64_shape, x86_64_target};

}  // namespace flameprobe
