// PLT entries of linkers that write no unwind tables for them.
#include "unwind/known_code.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <string_view>

using namespace flameprobe;
using namespace std::string_view_literals;

namespace {

/// CFA - SP at each byte of `code`; 0 where it is not known.
std::string offsets(std::string_view code) {
    const std::string bytes = std::string(32, '\x90') + std::string(code) + std::string(32, '\x90');
    std::string out;
    for (std::size_t i = 0; i < code.size(); ++i) {
        UnwindRule rule;
        const bool known = known_code_rule(reinterpret_cast<std::uint64_t>(bytes.data()) + 32 + i, rule);
        out += known ? std::to_string(rule.cfa_offset) : std::string("-");
    }
    return out;
}

}  // namespace

TEST_CASE("PLT entries of mold and lld are known by their bytes") {
    CHECK(offsets("\xf3\x0f\x1e\xfa\x41\xbb\x01\x00\x00\x00\xff\x25\x10\x20\x00\x00"sv) == "8---8-----8-----");
    CHECK(offsets("\xf3\x0f\x1e\xfa\x41\x53\xff\x35\x01\x00\x00\x00\xff\x25\x10\x20\x00\x00"sv) ==
          "8---8-16-----24-----");
    CHECK(offsets("\xf3\x0f\x1e\xfa\xff\x25\x10\x20\x00\x00"sv) == "8---8-----");
    CHECK(offsets("\xff\x25\x10\x20\x00\x00\x68\x01\x00\x00\x00\xe9\x10\x20\x00\x00"sv) == "8-----8----16----");
    CHECK(offsets("\xff\x35\x10\x20\x00\x00\xff\x25\x10\x20\x00\x00"sv) == "16-----24-----");
    CHECK(offsets("\x53\xff\x25\x10\x20\x00\x00\xc3"sv) == "--------");  // another's jump through memory
}

TEST_CASE("a PLT entry at the beginning of the first readable page is known") {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* const pages = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pages != MAP_FAILED);
    char* const code = static_cast<char*>(pages) + page;
    std::memcpy(code, "\xf3\x0f\x1e\xfa\xff\x25", 6);
    REQUIRE(mprotect(pages, page, PROT_NONE) == 0);
    UnwindRule rule;
    CHECK(known_code_rule(reinterpret_cast<std::uint64_t>(code), rule));
    CHECK(rule.cfa_offset == 8);
    CHECK_FALSE(known_code_rule(reinterpret_cast<std::uint64_t>(pages), rule));
    munmap(pages, 2 * page);
}
