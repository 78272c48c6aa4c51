// Call instructions of this very program, on whatever CPU it is built for.
#include "unwind/call_bytes.hpp"

#include <doctest/doctest.h>

#include "live_map.hpp"

using namespace flameprobe;
using namespace flameprobe::testing;

namespace {

const void* volatile seen = nullptr;

[[gnu::noinline]] void callee() { seen = __builtin_return_address(0); }
[[gnu::noinline]] void call_directly() {
    callee();
    seen = seen;
}
[[gnu::noinline]] void call_indirectly(void (*target)()) {
    void (*volatile function)() = target;
    function();
    seen = seen;
}

std::uint64_t return_address() { return reinterpret_cast<std::uint64_t>(seen); }

}  // namespace

TEST_CASE("this CPU's direct and indirect calls are read from memory") {
    CodeMap map;
    add_own_mappings(map);
    call_directly();
    const CallSite direct = read_call_site(return_address(), map);
    CHECK(direct.kind == CallSite::Kind::direct);
    CHECK(follow_stubs(direct.target) == reinterpret_cast<std::uint64_t>(&callee));
    call_indirectly(callee);
    CHECK(read_call_site(return_address(), map).kind == CallSite::Kind::indirect);
    CHECK(read_call_site(return_address() + 1, map).kind == CallSite::Kind::none);
    CHECK(read_call_site(reinterpret_cast<std::uint64_t>(&callee), CodeMap()).kind == CallSite::Kind::none);
    CHECK(read_call_site(0x10, map).kind == CallSite::Kind::none);
}
