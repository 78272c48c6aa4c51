// Against libunwind and Boost.Stacktrace (which asks libgcc), frame by frame.
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

/// What the others call a frame: the pc of the interrupted one, return addresses of its callers.
std::vector<std::uint64_t> as_pcs(const Walk& walk) {
    std::vector<std::uint64_t> out;
    for (const CodeFrame& frame : walk.frames) out.push_back(frame.address + (out.empty() ? 0 : 1));
    return out;
}

void compare(const Opinions& opinions, std::size_t at_least) {
    CodeMap map;
    add_own_mappings(map);
    Walk walk;
    const auto unwinder = make_dwarf_unwinder(map);
    const Registers& registers = opinions.snapshot.registers;
    unwinder->walk(registers, {registers.sp(), opinions.snapshot.stack}, nullptr, walk);
    CHECK(walk.end == WalkEnd::root);
    const auto ours = as_pcs(walk);
    CHECK(ours.size() >= at_least);
    CHECK(ours == opinions.libunwind);

    // Boost sees the handler's frames first and gives return addresses, like us from the second frame on; whether it
    // gives the frame that has no caller is libgcc's choice.
    const auto second = std::find(opinions.boost.begin(), opinions.boost.end(), ours.at(1));
    REQUIRE(second != opinions.boost.end());
    const std::vector<std::uint64_t> theirs(second, opinions.boost.end());
    CHECK(theirs.size() + 2 >= ours.size());
    for (std::size_t i = 0; i < std::min(theirs.size(), ours.size() - 1); ++i) CHECK(theirs[i] == ours[i + 1]);
}

Opinions* pending = nullptr;
int compare_and_ask(const void* a, const void* b) {
    if (pending != nullptr) ask_everybody(*std::exchange(pending, nullptr));
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

[[gnu::noinline]] int recurse(int depth, Opinions& out) {
    volatile int kept = depth;
    if (depth == 0) {
        ask_everybody(out);
    } else {
        recurse(depth - 1, out);
    }
    return kept;
}

}  // namespace

TEST_CASE("opinions agree on a plain stack") {
    Opinions opinions;
    ask_everybody(opinions);
    compare(opinions, 6);
}

TEST_CASE("opinions agree inside qsort") {
    Opinions opinions;
    pending = &opinions;
    std::array<int, 16> numbers{};
    std::qsort(numbers.data(), numbers.size(), sizeof(int), compare_and_ask);
    compare(opinions, 10);
}

TEST_CASE("opinions agree on a recursion") {
    Opinions opinions;
    recurse(200, opinions);  // an unoptimised frame with ASan has 256 bytes: all fit into the copy
    compare(opinions, 205);
}

TEST_CASE("opinions agree in a thread, through std::function") {
    Opinions opinions;
    const std::function<void()> ask = [&] { recurse(3, opinions); };
    std::thread([&] { ask(); }).join();
    compare(opinions, 8);
}
