// Stubs as linkers write them, for every CPU on every CPU: a profile may come from another.
#include "symbolize/plt_format.hpp"

#include <doctest/doctest.h>

#include <span>
#include <vector>

using namespace flameprobe;

namespace {

/// As a file has it: little-endian words.
std::vector<std::uint8_t> bytes_of(std::initializer_list<std::uint32_t> words) {
    std::vector<std::uint8_t> out;
    for (const std::uint32_t word : words)
        for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<std::uint8_t>(word >> shift));
    return out;
}

Bytes view(const std::vector<std::uint8_t>& bytes) { return std::as_bytes(std::span(bytes)); }

constexpr std::uint32_t nop = 0xd503201f, bti_c = 0xd503245f, adrp = 0xb0000090, load = 0xf9400a11, add = 0x91004210,
                        br = 0xd61f0220;

}  // namespace

TEST_CASE("aarch64: stubs after the first entry, plain and guarded") {
    const PltFormat& format = plt_format_aarch64;
    std::vector<std::uint8_t> plain = bytes_of({0xa9bf7bf0, adrp, load, add, br, nop, nop, nop});  // the first
    const auto stub = bytes_of({adrp, load, add, br});
    for (int i = 0; i < 2; ++i) plain.insert(plain.end(), stub.begin(), stub.end());
    CHECK(format.shape(".plt", view(plain)).first == 32);
    CHECK(format.shape(".plt", view(plain)).stub == 16);
    const auto guarded = bytes_of({bti_c, 0xa9bf7bf0, adrp, load, add, br,  nop,   nop,  //
                                   bti_c, adrp,       load, add,  br,  nop, bti_c, adrp, load, add, br, nop});
    CHECK(format.shape(".plt", view(guarded)).stub == 24);
    CHECK(format.shape(".plt", view(plain).first(32)).stub == 0);
    // adrp x16, 17 pages on; ldr x17, [x16, #16]
    CHECK(format.target(view(stub), 0x1000'0540).slot == 0x1000'0000 + 0x11 * 4096 + 16);
    CHECK(format.target(view(guarded).subspan(32), 0x1000'0540).slot == 0x1000'0000 + 0x11 * 4096 + 16);
    CHECK_FALSE(format.target(view(bytes_of({nop, nop, nop, nop})), 0x1000).slot);
}

TEST_CASE("x86-64: a stub jumps through a slot or pushes its index") {
    const PltFormat& format = plt_format_x86_64;
    const std::vector<std::uint8_t> jump{0xff, 0x25, 0x10, 0, 0, 0, 0x66, 0x90},
        lazy{0xf3, 0x0f, 0x1e, 0xfa, 0x68, 3, 0, 0, 0, 0xe9, 0, 0, 0, 0, 0x66, 0x90};
    CHECK(format.target(view(jump), 0x1000).slot == 0x1016);
    CHECK(format.target(view(lazy), 0x1000).index == 3);
    CHECK(format.shape(".plt", {}).first == 16);
    CHECK(format.shape(".plt.got", view(jump)).stub == 8);
    CHECK(format.shape(".plt.got", view(lazy)).stub == 16);
}
