// Our walk compared with libunwind's and Boost.Stacktrace's (libgcc's), frame by frame.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <thread>
#include <utility>

#include "other_unwinders.hpp"
#include "unwind/unwinder.hpp"

using namespace flameprobe;
using namespace flameprobe::testing;

namespace {

/// Frames as the others give them: the pc of the interrupted one, return addresses of its callers.
std::vector<std::uint64_t> as_pcs(const Walk& walk) {
    std::vector<std::uint64_t> out;
    for (const CodeFrame& frame : walk.frames) out.push_back(frame.address + (out.empty() ? 0 : 1));
    return out;
}

void compare(const OtherWalks& others, std::size_t at_least) {
    CodeMap map;
    add_own_mappings(map);
    Walk walk;
    const auto unwinder = make_dwarf_unwinder(map);
    const Registers& registers = others.snapshot.registers;
    unwinder->walk(registers, {registers.sp(), others.snapshot.stack}, nullptr, walk);
    CHECK(walk.end == WalkEnd::root);
    const auto ours = as_pcs(walk);
    CHECK(ours.size() >= at_least);
    CHECK(ours == others.libunwind);

    // Boost sees the handler's frames first and gives return addresses, like us from the second frame on; whether it
    // gives the frame that has no caller is libgcc's choice.
    const auto second = std::find(others.boost.begin(), others.boost.end(), ours.at(1));
    REQUIRE(second != others.boost.end());
    const std::vector<std::uint64_t> theirs(second, others.boost.end());
    CHECK(theirs.size() + 2 >= ours.size());
    for (std::size_t i = 0; i < std::min(theirs.size(), ours.size() - 1); ++i) CHECK(theirs[i] == ours[i + 1]);
}

OtherWalks* pending = nullptr;
int compare_and_walk(const void* a, const void* b) {
    if (pending != nullptr) walk_with_others(*std::exchange(pending, nullptr));
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

[[gnu::noinline]] int recurse(int depth, OtherWalks& out) {
    volatile int kept = depth;
    if (depth == 0) {
        walk_with_others(out);
    } else {
        recurse(depth - 1, out);
    }
    return kept;
}

}  // namespace

TEST_CASE("the unwinders agree on a plain stack") {
    OtherWalks others;
    walk_with_others(others);
    compare(others, 6);
}

TEST_CASE("the unwinders agree inside qsort") {
    OtherWalks others;
    pending = &others;
    std::array<int, 16> numbers{};
    std::qsort(numbers.data(), numbers.size(), sizeof(int), compare_and_walk);
    compare(others, 10);
}

TEST_CASE("the unwinders agree on a recursion") {
    OtherWalks others;
    recurse(200, others);  // an unoptimised frame with ASan has 256 bytes: all fit into the copy
    compare(others, 205);
}

TEST_CASE("the unwinders agree in a thread, through std::function") {
    OtherWalks others;
    const std::function<void()> ask = [&] { recurse(3, others); };
    std::thread([&] { ask(); }).join();
    compare(others, 8);
}
