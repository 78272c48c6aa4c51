#include "symbolize/plt_format.hpp"

#include <elf.h>

#include <cstring>

#include "arch/aarch64/instruction.hpp"

namespace flameprobe {
namespace {

std::uint32_t instruction_at(Bytes code, std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, code.data() + at, sizeof value);
    return value;
}

/// The first entry has 32 bytes. Every other has adrp, ldr, add, br, and, where the object wants BTI or signed
/// pointers, an instruction before or between and padding to 24 (the AArch64 back end of GNU ld).
PltShape aarch64_shape(std::string_view, Bytes code) {
    constexpr std::size_t first = 32, plain = 16, guarded = 24;
    if (code.size() < first + plain) return {};
    if (instruction_at(code, first) == a64::bti_c) return {first, guarded};
    const bool next_is_stub = code.size() == first + plain || (code.size() >= first + plain + 4 &&
                                                               a64::is_adrp_x16(instruction_at(code, first + plain)));
    return {first, next_is_stub ? plain : guarded};
}

/// adrp x16, page; ldr x17, [x16, #offset]
PltTarget aarch64_target(Bytes stub, std::uint64_t address) {
    for (std::size_t at = 0; at + 8 <= stub.size(); at += 4) {
        const std::uint32_t adrp = instruction_at(stub, at), load = instruction_at(stub, at + 4);
        if (a64::is_adrp_x16(adrp) && a64::loads_x17(load)) return {.slot = a64::plt_slot(address + at, adrp, load)};
    }
    return {};
}

}  // namespace

const PltFormat plt_format_aarch64{EM_AARCH64, R_AARCH64_GLOB_DAT, R_AARCH64_IRELATIVE,
                                   {".plt"},   aarch64_shape,      aarch64_target};

}  // namespace flameprobe
