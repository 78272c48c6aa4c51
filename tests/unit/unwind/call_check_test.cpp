#include "unwind/call_check.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>

#include <cstdlib>

#include "live_map.hpp"
#include "machine_code.hpp"
#include "unwind/code_bytes.hpp"

using namespace flameprobe;
using namespace flameprobe::testing;
using Kind = CallSite::Kind;
using Verdict = CallCheck::Verdict;

namespace {

volatile int sink = 0;
const void* volatile seen = nullptr;

[[gnu::noinline]] void callee() {
    seen = __builtin_return_address(0);
    sink = sink + 1;
}
[[gnu::noinline]] void other() { sink = sink + 2; }
[[gnu::noinline]] void call_directly() {
    callee();
    sink = sink + 3;
}
[[gnu::noinline]] void call_getenv() {
    seen = ::getenv("HOME");
    sink = sink + 5;
}
[[gnu::noinline]] void call_indirectly(void (*target)()) {
    void (*volatile function)() = target;
    function();
    sink = sink + 4;
}

int comparisons(const void*, const void*) {
    seen = __builtin_return_address(0);
    return 0;
}

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }
std::uint64_t address_of(void (*function)()) { return reinterpret_cast<std::uint64_t>(function); }

}  // namespace

TEST_CASE("a direct call names its target") {
    CodeMap map;
    add_own_mappings(map);
    ModuleTable modules;
    CallCheck check(map, modules);
    call_directly();
    const std::uint64_t back = address_of(seen);
    CHECK(check.site(back).kind == Kind::direct);
    CHECK(check.site(back).target == address_of(callee));
    CHECK(check.judge(back, address_of(callee)) == Verdict::certain);
    CHECK(check.judge(back, address_of(callee) + 4) == Verdict::certain);
    CHECK(check.follows_call(back, address_of(callee)));
    CHECK_FALSE(check.follows_call(back, address_of(other)));
    CHECK_FALSE(check.follows_call(back, address_of(call_directly)));
}

TEST_CASE("an indirect call can have called anything") {
    CodeMap map;
    add_own_mappings(map);
    ModuleTable modules;
    CallCheck check(map, modules);
    call_indirectly(callee);
    const std::uint64_t back = address_of(seen);
    CHECK(check.site(back).kind == Kind::indirect);
    CHECK(check.judge(back, address_of(callee)) == Verdict::possible);
    CHECK(check.follows_call(back, address_of(other)));
    int numbers[2] = {1, 2};
    std::qsort(numbers, 2, sizeof(int), comparisons);
    CHECK(check.site(address_of(seen)).kind == Kind::indirect);
}

namespace {

volatile int chosen = 1;
[[gnu::noinline]] void jumps_on() {
    sink = sink + chosen;
    callee();
}
[[gnu::noinline]] void call_jumper() {
    jumps_on();
    sink = sink + 5;
}
[[gnu::noinline]] void jumps_to_one_that_jumps_on() {
    sink = sink + 2 * chosen;
    jumps_on();
}
[[gnu::noinline]] void call_first_of_two() {
    jumps_to_one_that_jumps_on();
    sink = sink + 6;
}

}  // namespace

TEST_CASE("a function can have been entered by a tail call in the one that was called") {
    CodeMap map;
    add_own_mappings(map);
    ModuleTable modules;
    CallCheck check(map, modules);
    call_jumper();
    const std::uint64_t back = address_of(seen);
    REQUIRE(check.site(back).kind == Kind::direct);
    if (check.site(back).target == address_of(jumps_on)) {  // else the compiler made it a plain call
        CHECK(check.judge(back, address_of(callee)) == Verdict::tail_call);
    }
    CHECK(check.judge(back, address_of(other)) == Verdict::no);
    CHECK(check.judge(back, address_of(call_directly)) == Verdict::no);
    call_first_of_two();
    const std::uint64_t further_back = address_of(seen);
    if (check.site(further_back).target == address_of(jumps_to_one_that_jumps_on))
        CHECK(check.judge(further_back, address_of(callee)) == Verdict::tail_call);
    CHECK(check.judge(further_back, address_of(other)) == Verdict::no);
}

TEST_CASE("code without tables is entered through stubs that lie anywhere") {
    constexpr std::size_t size = 0x3000;
    // Near enough to this program for a direct call.
    const std::uint64_t near = (address_of(other) & ~std::uint64_t{0xffff}) - (std::uint64_t{16} << 20);
    auto* const memory = static_cast<std::uint8_t*>(
        ::mmap(reinterpret_cast<void*>(near), size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(memory != MAP_FAILED);
    const std::uint64_t base = address_of(memory);
    REQUIRE(address_of(other) - base < (std::uint64_t{100} << 20));
    const std::uint64_t to_stub = write_call(memory + 0x100, base + 0x2800);
    const std::uint64_t to_function = write_call(memory + 0x200, address_of(other));
    CodeMap map;
    add_own_mappings(map);
    CodeRegion code;
    code.start = base;
    code.end = base + size;
    map.add(code);
    code.start = base + 0x1000;  // cut, as by a change of permissions
    code.end = base + 0x2000;
    map.add(code);
    ModuleTable modules;
    CallCheck check(map, modules);
    CHECK(check.judge(to_stub, base + 0x2840) == Verdict::possible);
    CHECK(check.judge(to_stub, base + 0x1040) == Verdict::possible);  // another piece, and below the stub
    CHECK(check.judge(to_function, base + 0x1040) == Verdict::no);  // the function called has tables, so it is no stub
    ::munmap(memory, size);
}

TEST_CASE("addresses inside an instruction, of data and of no memory follow no call") {
    CodeMap map;
    add_own_mappings(map);
    ModuleTable modules;
    CallCheck check(map, modules);
    call_directly();
    CHECK(check.site(address_of(seen) - 1).kind == Kind::none);
    CHECK(check.site(0).kind == Kind::none);
    CHECK(check.site(1).kind == Kind::none);
    CHECK(check.site(~std::uint64_t{0}).kind == Kind::none);
    CHECK(check.site(reinterpret_cast<std::uint64_t>(&sink)).kind == Kind::none);
    CHECK_FALSE(check.follows_call(address_of(seen), 0x10));
}

TEST_CASE("a call through the procedure linkage table reaches the function behind it") {
    CodeMap map;
    add_own_mappings(map);
    ModuleTable modules;
    CallCheck check(map, modules);
    call_getenv();
    char* (*const function)(const char*) = ::getenv;
    const auto wanted = reinterpret_cast<std::uint64_t>(function);
    constexpr std::uint64_t most_bytes = 256;  // of call_getenv(), with what sanitizers add
    std::size_t found = 0;
    for (std::uint64_t at = address_of(call_getenv), end = at + most_bytes; at < end; ++at)
        found += check.site(at).target == wanted;
    CHECK(found == 1);
}
