#include <doctest/doctest.h>

#include "profile_of.hpp"
#include "render/call_tree.hpp"

using namespace flameprobe;
using test::ProfileOf;

namespace {

std::vector<std::string> recursion(int depth, const std::string& leaf) {
    std::vector<std::string> frames{"main"};
    for (int i = 0; i < depth; ++i) frames.push_back("f" + std::to_string(i % 2));
    frames.push_back(leaf);
    return frames;
}

}  // namespace

TEST_CASE("stacks that fit are left alone") {
    ProfileOf made;
    made.stack(recursion(8, "leaf"), 3);
    CHECK(!shorten_deep_stacks(made.profile, 10).shortened);
    CHECK(shorten_deep_stacks(made.profile, 9).shortened);
}

TEST_CASE("of a deep stack both ends are drawn, and the tree's depth is bounded") {
    ProfileOf made;
    made.stack(recursion(10'000, "leaf"), 3).stack(recursion(9'000, "leaf"), 4).stack({"main", "shallow"}, 5);
    const auto tree = build_call_tree(made.profile, {});
    REQUIRE(tree);
    CHECK(tree->depth <= 257);
    CHECK(tree->deepest_stack == 10'002);
    std::uint64_t leaf = 0, omitted = 0, shallow = 0;
    for (const Box& box : tree->boxes) {
        if (box.kind == BoxKind::omitted) omitted += box.total;
        if (box.kind != BoxKind::function) continue;
        const std::string_view name = made.profile.strings.view(made.profile.functions[box.function].name);
        if (name == "leaf") leaf += box.self;
        if (name == "shallow") shallow += box.self;
    }
    CHECK(leaf == 7);
    CHECK(omitted == 7);
    CHECK(shallow == 5);
}

TEST_CASE("a stack of exactly the most frames is whole beside a deeper one") {
    ProfileOf made;
    made.stack(recursion(8, "leaf"), 1).stack(recursion(30, "leaf"), 1);
    const auto tree = build_call_tree(made.profile, {.min_width = 0, .most_frames = 10});
    REQUIRE(tree);
    std::uint64_t omitted = 0;
    for (const Box& box : tree->boxes) omitted += box.kind == BoxKind::omitted ? box.total : 0;
    CHECK(omitted == 1);
    CHECK(tree->depth == 10);
}

TEST_CASE("the depth of a reversed tree is bounded for a recursion of 100,000 frames") {
    ProfileOf made;
    made.stack(recursion(100'000, "leaf"), 3);
    const auto tree = build_call_tree(made.profile, {.reverse = true});
    REQUIRE(tree);
    CHECK(tree->depth <= 257);
}
