// PLT entries of linkers that write no unwind tables for them.
#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <string_view>

#include "unwind/code_bytes.hpp"

using namespace flameprobe;
using namespace std::string_literals;
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

TEST_CASE("where glibc and Boost let a coroutine return to is known by its bytes") {
    const auto known = [](std::string_view code) {
        return known_stack_start(reinterpret_cast<std::uint64_t>(code.data()));
    };
    CHECK(known("\x48\x89\xdc\x48\x8b\x3c\x24\x48\x85\xff\x74\x08\xe8\x0f\xf6\xfe\xff"sv));
    CHECK(known("\x48\x31\xff\xe8\x49\xfe\xff\xff\xf4\x0f\x1f\x84\x00\x00"sv));
    CHECK(!known("\x48\x31\xff\xe8\x49\xfe\xff\xff\xc3\x0f\x1f\x84\x00\x00"sv));  // goes on to return
    CHECK(!known("\x48\x89\xdc\x48\x8b\x3c\x24\x48\x85\xff\xc3\x08\xe8\x0f\xf6"sv));
}

TEST_CASE("musl's first calls of processes and threads are known by their bytes") {
    const std::string process = "\x48\x31\xed\x48\x89\xe7\x48\x8d\x35\xc8\xef\xbf\xff\x48\x83\xe4\xf0\xe8\x0f\0\0\0"s;
    const std::string thread = "\x31\xed\x5f\x41\xff\xd1\x89\xc7\x31\xc0\xb0\x3c\x0f\x05\xf4"s;
    const auto known = [](const std::string& code, std::size_t call_ends) {
        const std::string bytes = std::string(32, '\x90') + code + std::string(32, '\x90');
        return is_first_call(reinterpret_cast<std::uint64_t>(bytes.data()) + 32 + call_ends);
    };
    CHECK(known(process, process.size()));
    CHECK(known(thread, 6));
    CHECK_FALSE(known(process, process.size() - 1));
    CHECK_FALSE(known(thread, 5));
    CHECK_FALSE(known(thread.substr(0, thread.size() - 1), 6));
}

TEST_CASE("traps are what no call returns to") {
    const auto trap = [](std::string_view code) { return is_trap(reinterpret_cast<std::uint64_t>(code.data())); };
    CHECK(trap("\xcc\x90"sv));
    CHECK(trap("\xf4\x90"sv));
    CHECK(trap("\x0f\x0b"sv));
    CHECK(!trap("\x0f\x1f"sv));
    CHECK(!trap("\x90\xcc"sv));
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
