// Reads call instructions of this test program, for the CPU that it is built for.
#include <doctest/doctest.h>

#include "live_map.hpp"
#include "unwind/code_bytes.hpp"

using namespace flameprobe;
using namespace flameprobe::testing;

namespace {

const void* volatile returned_to = nullptr;

[[gnu::noinline]] void called() { returned_to = __builtin_return_address(0); }
[[gnu::noinline]] void direct_call() {
    called();
    returned_to = returned_to;
}
[[gnu::noinline]] void indirect_call(void (*target)()) {
    void (*volatile function)() = target;
    function();
    returned_to = returned_to;
}

std::uint64_t return_address() { return reinterpret_cast<std::uint64_t>(returned_to); }

}  // namespace

TEST_CASE("this CPU's direct and indirect calls are read from memory") {
    CodeMap map;
    add_own_mappings(map);
    direct_call();
    const CallSite direct = read_call_site(return_address(), map);
    CHECK(direct.kind == CallSite::Kind::direct);
    CHECK(follow_stubs(direct.target) == reinterpret_cast<std::uint64_t>(&called));
    indirect_call(called);
    CHECK(read_call_site(return_address(), map).kind == CallSite::Kind::indirect);
    CHECK(read_call_site(return_address() + 1, map).kind == CallSite::Kind::none);
    CHECK(read_call_site(reinterpret_cast<std::uint64_t>(&called), CodeMap()).kind == CallSite::Kind::none);
    CHECK(read_call_site(0x10, map).kind == CallSite::Kind::none);
}
